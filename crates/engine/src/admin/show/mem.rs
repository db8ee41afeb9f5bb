//! SHOW MEM: how many things of each kind there are, and what they take.
//!
//! The rows are PgBouncer's, which keeps such things in caches of its own; here they are counted
//! where they live, with the size of the thing itself. What it owns elsewhere is not counted.

use super::Facts;
use crate::admin::report::{Census, Stock};
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};
use config::{Database, Peer, User};

impl Facts<'_> {
    pub(super) fn mem(&self, sheet: &mut Sheet, census: &Census) {
        let config = &self.setup.config;
        let memory = &census.memory;
        let many = |count: usize, size: usize| Stock { size, used: count as u64, free: 0 };
        let users = self.user_names(census).len();
        let databases = super::databases::names(self.setup, census).len();
        let rows = [
            ("user_cache", many(users, size_of::<User>())),
            ("credentials_cache", memory.credentials),
            ("db_cache", many(databases, size_of::<Database>())),
            ("peer_cache", many(config.peers.len(), size_of::<Peer>())),
            ("peer_pool_cache", many(0, 0)),
            ("pool_cache", memory.pools),
            ("outstanding_request_cache", memory.requests),
            ("server_cache", memory.servers),
            ("client_cache", memory.clients),
            ("iobuf_cache", memory.blocks),
            ("var_list_cache", memory.params),
            ("server_prepared_statement_cache", many(0, 0)),
        ];
        for (name, stock) in rows {
            let total = (stock.used + stock.free).saturating_mul(stock.size as u64);
            sheet.text(name).number(stock.size as u64);
            sheet.number(stock.used).number(stock.free).number(total).end_row();
        }
    }
}

pub(super) const COLUMNS: &[Column] =
    &[("name", Text), ("size", Int4), ("used", Int4), ("free", Int4), ("memtotal", Int4)];
