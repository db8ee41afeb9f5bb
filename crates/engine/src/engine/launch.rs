//! How many servers a pool opens, and when.
//!
//!     somebody waits ──► one server for each, as far as the limits allow
//!     a client has waited for long ──► the pool's reserve as well
//!     fewer than min_pool_size ──► those that are missing, whoever waits
//!     no server can be had ──► who waits in vain is told
//!
//! At most a few connects of a pool are under way at a time, so that a database that comes back is
//! not stormed.

use std::sync::Arc;

use super::Engine;
use crate::command::{Command, Shutdown};
use crate::ids::Id;
use crate::pool::ledger::{Full, Limits};
use crate::pool::{Failed, PoolId};
use crate::reason::Reason;
use crate::server::{Server, Stage};
use crate::time::Time;

impl Engine {
    /// Opens the servers that are wanted and allowed.
    pub(super) fn launch(&mut self, id: PoolId, now: Time) {
        if self.mode.shutdown == Some(Shutdown::WaitForServers) || self.mode.exited {
            return;
        }
        let retry = self.setup.config.pgbouncer.server_login_retry;
        let wanted = self.pool(id).launches(now, retry);
        for _ in 0..wanted {
            let most = self.most_servers(id, now);
            if let Err(full) = self.open_server(id, most, now) {
                return self.goes_hungry(id, full, now);
            }
        }
        self.has_eaten(id);
        for _ in 0..self.pool(id).missing(now, retry) {
            let most = self.pool(id).target.minimum;
            if self.open_server(id, most, now).is_err() {
                return;
            }
        }
    }

    /// How many servers a pool may have now: its reserve counts when a client has waited for long
    /// enough.
    fn most_servers(&self, id: PoolId, now: Time) -> u32 {
        let target = &self.pool(id).target;
        let timeout = self.setup.config.pgbouncer.reserve_pool_timeout;
        let is_due = |since: Time| timeout > 0 && now.since(since) >= timeout;
        match target.size {
            0 => 0,
            size if target.reserve > 0 && self.oldest_wait(id).is_some_and(is_due) => {
                size.saturating_add(target.reserve)
            }
            size => size,
        }
    }

    /// Opens one server, if the pool has fewer than `most` (0: no limit) and its database and user
    /// fewer than theirs.
    fn open_server(&mut self, id: PoolId, most: u32, now: Time) -> Result<(), Full> {
        let pool = &mut self.pools[id];
        let (database, user) = (pool.target.most_of_database, pool.target.most_of_user);
        self.ledger.reserve(&pool.slots, Limits { pool: most, database, user }, self.me)?;
        let target = Arc::clone(&pool.target);
        if target.size > 0 && pool.slots.open() > target.size {
            log::warn!("taking connection from reserve_pool");
        }
        pool.connecting += 1;
        pool.servers += 1;
        let to = target.address.clone();
        let slot = Some(Arc::clone(&pool.slots));
        let server = self.take_in(Server::new(id, target, slot, Stage::Connecting, now));
        self.commands.push_back(Command::Connect { conn: server.into(), to });
        Ok(())
    }

    /// A place for a server, or for a connection that carries a cancel request.
    pub(super) fn take_in(&mut self, mut server: Server) -> Id<Server> {
        if server.number == 0 {
            // It does not come from another worker.
            (server.number, server.epoch) = (self.number(), self.mode.epoch);
        }
        self.pools[server.pool].tenants += 1;
        self.servers.insert(server)
    }

    /// Tells clients at once when no server will come for them.
    pub(super) fn tell_the_hopeless(&mut self, pool_id: PoolId, now: Time) {
        let retry = self.setup.config.pgbouncer.server_login_retry;
        let pool = self.pool_mut(pool_id);
        if !pool.is_waited_for() {
            return;
        }
        let Some(Failed { failure, at, .. }) = pool.hopeless(now, retry) else { return };
        let waiting = std::mem::take(&mut pool.waiting);
        let newcomers = std::mem::take(&mut pool.newcomers);
        for id in waiting.into_iter().chain(newcomers) {
            let came_later = self.clients.find(id).is_some_and(|client| client.times.waiting > at);
            let failure = Arc::clone(&failure);
            let reason = match came_later {
                true => Reason::ServerLoginFailing(failure),
                false => Reason::LoginFailed(failure),
            };
            self.close_client(id, &reason, now);
        }
    }
}
