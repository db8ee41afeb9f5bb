//! The limits of databases and users, on clients and on servers.
//!
//!     a client names database and user ──► admitted, or told what is full
//!     a pool wants a server, its database or user is full ──► it is hungry
//!     ──► a server of another pool is closed for it: an idle one at once, a busy one when it comes
//!         free and its own clients are younger
//!     the slot is free ──► hungry pools try again
//!
//! What is counted over all workers is in the ledger.

use std::sync::Arc;

use super::Engine;
use crate::admin::Rights;
use crate::client::startup::Request;
use crate::ids::Id;
use crate::mail::{Limit, Mail};
use crate::pool::ledger::Full;
use crate::pool::ledger::tally::Tally;
use crate::pool::{PoolId, route};
use crate::reason::Reason;
use crate::server::Server;
use crate::time::{MILLISECOND, Time};

/// How much longer than the oldest client of a pool one of another pool must have waited to have a
/// server of it closed for its own: a connection costs some milliseconds.
const EVICTION_LAG: u64 = 50 * MILLISECOND;

impl Engine {
    /// Counts a client for the database and the user that it names; admins of the console are
    /// always let in (PgBouncer).
    pub(super) fn admit(
        &mut self,
        id: Id<crate::client::Client>,
        request: &Request,
    ) -> Result<(), Reason> {
        let config = &self.setup.config;
        let settings = &config.pgbouncer;
        let is_console = request.database.as_ref() == route::CONSOLE;
        if is_console && Rights::of(&request.user, settings) == Some(Rights::Admin) {
            return Ok(());
        }
        let entry = route::entry(&self.setup, &request.database);
        let of_database = entry
            .and_then(|entry| entry.max_db_client_connections)
            .unwrap_or(settings.max_db_client_connections);
        let of_user = config
            .user(&request.user)
            .and_then(|user| user.max_user_client_connections)
            .unwrap_or(settings.max_user_client_connections);
        let of_database = if is_console { 0 } else { of_database };
        let admitted =
            self.ledger.admit((&request.database, of_database), (&request.user, of_user));
        match admitted {
            Ok(membership) => {
                self.clients[id].membership = Some(membership);
                Ok(())
            }
            Err(Full::User) => Err(Reason::TooManyClientsOfUser),
            Err(_) => Err(Reason::TooManyClientsOfDatabase),
        }
    }

    /// A client that has proven who it is belongs to a pool from here on.
    pub(super) fn join(&mut self, id: Id<crate::client::Client>, pool: PoolId) {
        self.clients[id].pool = Some(pool);
        self.pools[pool].tenants += 1;
        self.pools[pool].slots.client_joined();
        // Its first client may be what `min_pool_size` waits for.
        self.touch(pool);
    }

    /// A pool could have no server. If others of its database or user have them all, one of those
    /// is closed for it.
    pub(super) fn goes_hungry(&mut self, id: PoolId, full: Full, now: Time) {
        let pool = self.pool(id);
        let key = pool.key.clone();
        let (tally, of) = match full {
            // It has all the servers it may have: nothing is to be kept for it.
            Full::Pool => return self.has_eaten(id),
            Full::Database => (&pool.slots.database, Limit::Database(Arc::clone(&key.database))),
            Full::User => (&pool.slots.user, Limit::User(Arc::clone(&key.user))),
        };
        let since = self.oldest_wait(id).or_else(|| self.oldest_newcomer(id)).unwrap_or(now);
        let is_news = tally.go_hungry(&key, self.me, since, now);
        self.hungry.insert(id);
        if is_news {
            self.post_to_others(&Mail::Hungry { of: of.clone() });
            self.feed(&of, now);
        }
    }

    /// Since when the oldest client waits for the welcome.
    fn oldest_newcomer(&self, id: PoolId) -> Option<Time> {
        let client = self.pool(id).newcomers.first()?;
        self.clients.find(*client).map(|client| client.times.waiting)
    }

    /// A pool has as many servers as it wants.
    pub(super) fn has_eaten(&mut self, id: PoolId) {
        if self.hungry.remove(&id) {
            let pool = self.pool(id);
            pool.slots.database.has_eaten(&pool.key, self.me);
            pool.slots.user.has_eaten(&pool.key, self.me);
        }
    }

    /// Closes an idle server for a hungry pool: of those that nobody waits for, the one that has
    /// been idle longest.
    pub(super) fn feed(&mut self, of: &Limit, now: Time) {
        let is_of = |pool: &crate::pool::Pool| match of {
            Limit::Database(database) => pool.key.database == *database,
            Limit::User(user) => pool.key.user == *user,
            Limit::Pool(_) => false,
        };
        let idle = self.pools.iter().filter(|(_, pool)| pool.waiting.is_empty() && is_of(pool));
        let idle =
            idle.flat_map(|(_, pool)| pool.idle.front().into_iter().chain(pool.used.front()));
        let idlest = idle.copied().min_by_key(|server| self.servers[*server].times.heard);
        let Some(server) = idlest else { return };
        let slots = &self.pool(self.servers[server].pool).slots;
        let tally = if matches!(of, Limit::User(_)) { &slots.user } else { &slots.database };
        if tally.feed(&self.pool(self.servers[server].pool).key, Time::NEVER) {
            self.close_server(server, &EVICTED, now);
        }
    }

    /// Whether a server that has come free is closed for a pool whose client has waited longer
    /// than those of its own pool.
    pub(super) fn is_wanted_elsewhere(&self, id: Id<Server>) -> Option<Reason> {
        let pool_id = self.servers[id].pool;
        let pool = self.pool(pool_id);
        let tallies = [&pool.slots.database, &pool.slots.user];
        if !tallies.iter().any(|tally| tally.is_hungry()) {
            return None;
        }
        let until = self.oldest_wait(pool_id).map_or(Time::NEVER, |since| since - EVICTION_LAG);
        let feeds = |tally: &&Arc<Tally>| tally.feed(&pool.key, until);
        tallies.iter().any(feeds).then_some(EVICTED)
    }

    /// A slot is free that somebody here was refused.
    pub(super) fn slot_freed(&mut self, of: &Limit) {
        match of {
            Limit::Pool(key) => self.with_known_pool(key, Self::touch),
            Limit::Database(_) | Limit::User(_) => {
                for pool in self.hungry.clone() {
                    self.touch(pool);
                }
            }
        }
    }
}

/// PgBouncer's word.
const EVICTED: Reason = Reason::ServerMovedOn("evicted");
