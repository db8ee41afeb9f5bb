//! What SHOW MEM counts on this worker.

use crate::admin::report::{Memory, Stock};
use crate::client::Client;
use crate::engine::{Engine, Keyring};
use crate::link::outstanding::REQUEST_SIZE;
use crate::params::Params;
use crate::pool::Pool;
use crate::server::Server;
use crate::stream::shelf::BLOCK_SIZE;

impl Engine {
    pub(super) fn memory(&self) -> Memory {
        let requests = self.servers.iter().map(|(_, server)| server.outstanding.len()).sum();
        let params = self.clients.len() + self.servers.len();
        Memory {
            clients: stock(size_of::<Client>(), self.clients.len(), self.clients.spare()),
            servers: stock(size_of::<Server>(), self.servers.len(), self.servers.spare()),
            pools: stock(size_of::<Pool>(), self.pools.len(), self.pools.spare()),
            requests: stock(REQUEST_SIZE, requests, 0),
            blocks: stock(BLOCK_SIZE, self.shelf.out(), self.shelf.spare()),
            params: stock(size_of::<Params>(), params, 0),
            credentials: stock(size_of::<Keyring>(), self.keyring.len(), 0),
        }
    }
}

fn stock(size: usize, used: usize, free: usize) -> Stock {
    Stock { size, used: used as u64, free: free as u64 }
}
