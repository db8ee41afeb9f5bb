//! What time does to pools and to the process: retries, minimum sizes, unused pools, asking other
//! workers, and the end of a shutdown.
//!
//! Everything here is looked at three times a second, as in PgBouncer, and so is what `timeouts`
//! does; only the question to other workers is timed exactly. Of the pools only those are looked at
//! in which something may be due: whoever leaves one so says `watch`. An engine without connections
//! sleeps, until the log wants its line.

use std::sync::Arc;

use super::Engine;
use super::assign::SURPLUS;
use crate::act::Rest;
use crate::client::Client;
use crate::command::{Command, Shutdown};
use crate::ids::Id;
use crate::pool::{Door, PoolId, route};
use crate::reason::Reason;
use crate::time::{MILLISECOND, SECOND, Time};

/// Between two rounds of upkeep.
const PERIOD: u64 = 333 * MILLISECOND;

/// The longest time between two searches for pools that nobody uses.
const SWEEP_PERIOD_MAX: u64 = 60 * SECOND;

/// What is due when.
pub(super) struct Upkeep {
    next: Time,
    /// When to ask other workers again, and for which pools.
    ask: Time,
    asking: Vec<PoolId>,
    /// The pools to be looked at in the next round.
    watched: Vec<PoolId>,
    /// When a period of the statistics is over, and when unused pools are sought.
    roll: Time,
    sweep: Time,
}

impl Upkeep {
    pub(super) fn new(now: Time) -> Self {
        Self {
            next: now,
            ask: Time::NEVER,
            asking: Vec::new(),
            watched: Vec::new(),
            roll: now,
            sweep: now,
        }
    }

    /// Sees to it that a pool is served again when it has to ask other workers.
    pub(super) fn ask_at(&mut self, id: PoolId, at: Time) {
        if at != Time::NEVER {
            self.ask = self.ask.min(at);
            if !self.asking.contains(&id) {
                self.asking.push(id);
            }
        }
    }

    /// Sees to it that everything is looked at again no later than that.
    pub(super) fn due_by(&mut self, at: Time) {
        self.next = self.next.min(at);
    }
}

impl Engine {
    /// When [`tick`](Self::tick) has something to do, if nothing happens before.
    pub fn next_tick(&self) -> Time {
        if self.mode.exited {
            return Time::NEVER;
        }
        let is_quiet = self.clients.len() == 0 && self.servers.len() == 0;
        if is_quiet && self.upkeep.watched.is_empty() && self.mode.shutdown.is_none() {
            // Pools are swept by upkeep, and that not before its time.
            let sweep = self.upkeep.sweep.max(self.upkeep.next);
            let sweep = if self.pools.len() == 0 { Time::NEVER } else { sweep };
            return self.next_statistics().min(sweep);
        }
        self.upkeep.next.min(self.upkeep.ask).min(self.next_statistics())
    }

    pub(super) fn keep_up(&mut self, now: Time) {
        if now >= self.upkeep.ask {
            self.upkeep.ask = Time::NEVER;
            for pool in std::mem::take(&mut self.upkeep.asking) {
                self.touch(pool);
            }
        }
        self.upkeep.due_by(self.next_statistics());
        if now >= self.upkeep.next {
            self.upkeep.next = now + PERIOD;
            if self.mode.rest != Rest::Suspended {
                self.look_at_clients(now);
                self.look_at_servers(now);
            }
            self.look_at_pools(now);
            self.look_at_flush(now);
            self.console_tick(now);
            self.look_at_shutdown(now);
        }
    }

    /// Looks at the pools in which something may be due; most are not looked at.
    fn look_at_pools(&mut self, now: Time) {
        for id in std::mem::take(&mut self.upkeep.watched) {
            if let Some(pool) = self.pools.find_mut(id) {
                pool.is_watched = false;
                self.trim(id, now);
                self.touch(id);
            }
        }
        if now >= self.upkeep.roll {
            let period = self.setup.config.pgbouncer.stats_period.max(1);
            self.upkeep.roll = now - now.0 % period + period;
            self.roll_statistics(now);
        }
        if now >= self.upkeep.sweep {
            self.sweep_pools(now);
        }
    }

    /// Sees to it that a pool is looked at in the next round.
    pub(super) fn watch(&mut self, id: PoolId) {
        let pool = self.pool_mut(id);
        if !std::mem::replace(&mut pool.is_watched, true) {
            self.upkeep.watched.push(id);
        }
    }

    /// Drops the pools that nobody has used for long, on any worker.
    fn sweep_pools(&mut self, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let (idle, automatic) = (settings.pool_idle_timeout, settings.autodb_idle_timeout);
        let limits = [idle, automatic].into_iter().filter(|limit| *limit > 0);
        let shortest = limits.min().unwrap_or(SWEEP_PERIOD_MAX);
        self.upkeep.sweep = now + (shortest / 4).clamp(PERIOD, SWEEP_PERIOD_MAX);
        for id in self.pools.ids() {
            let pool = self.pool(id);
            let Some(since) = pool.slots.vacant_since().filter(|_| pool.is_deserted()) else {
                continue;
            };
            let unused = now.since(since);
            let is_listed = self.setup.config.find_database(&pool.key.database).is_some();
            let over = |limit: u64| limit > 0 && unused >= limit;
            // Where a user is forced, `min_pool_size` wants servers without any client; they may
            // only not be had for now.
            let is_wanted = pool.below_minimum() > 0;
            let is_idle = !is_wanted && (over(idle) || !is_listed && over(automatic));
            if is_idle {
                let (user, database) = (&pool.key.user, &pool.key.database);
                log::info!(
                    "cleaning up idle pool for user {user} on db {database} because: \
                     pool idle timeout"
                );
            }
            if is_idle || pool.door == Door::Removed {
                self.drop_pool(id);
            }
        }
    }

    /// Forgets this worker's part of a pool, and its statistics with it.
    fn drop_pool(&mut self, id: PoolId) {
        self.has_eaten(id);
        let Some(pool) = self.pools.remove(id) else { return };
        self.pool_ids.remove(&pool.key);
        self.ledger.forget(pool.slots);
    }

    /// Pools that `min_pool_size` wants to have servers without a client are there from the start.
    pub(super) fn found_pools(&mut self, now: Time) {
        self.upkeep.sweep = now;
        let setup = Arc::clone(&self.setup);
        for database in &setup.config.databases {
            let (Some(user), Some(entry)) =
                (&database.user, setup.config.find_database(&database.name))
            else {
                continue;
            };
            let minimum = entry.min_pool_size.unwrap_or(setup.config.pgbouncer.min_pool_size);
            let key = route::key(entry, &database.name, &user.as_str().into());
            let size = route::target(&setup, &key).map_or(0, |target| target.size);
            let is_home = self.span(&key, size).next() == Some(self.me);
            if minimum > 0
                && is_home
                && let Some(pool) = self.pool_for(&key)
            {
                self.watch(pool);
            }
        }
        self.upkeep.due_by(now);
    }

    /// Closes idle servers that are more than the pool may have, after its size was lowered; those
    /// of other workers do the same, each its share.
    fn trim(&mut self, id: PoolId, now: Time) {
        let surplus = self.pool(id).surplus().div_ceil(u32::from(self.workers));
        for _ in 0..surplus {
            let pool = self.pool(id);
            let Some(&server) = pool.idle.front().or_else(|| pool.used.front()) else { return };
            let reason = Reason::ServerMovedOn(SURPLUS);
            self.close_server(server, &reason, now);
        }
    }

    /// The process is to end in this way.
    pub(super) fn shut_down(&mut self, how: Shutdown, now: Time) {
        self.mode.shutdown = Some(how);
        self.upkeep.next = now;
        match how {
            Shutdown::WaitForClients => {}
            Shutdown::WaitForServers => {
                self.pause_everything(now);
                for id in self.waiting_clients() {
                    self.close_client(id, &Reason::ServersShutDown, now);
                }
            }
            Shutdown::Immediate => self.exit(),
        }
    }

    fn waiting_clients(&self) -> Vec<Id<Client>> {
        self.clients.iter().filter(|(_, client)| client.waits()).map(|(id, _)| id).collect()
    }

    fn look_at_shutdown(&mut self, now: Time) {
        match self.mode.shutdown {
            Some(Shutdown::WaitForClients) if self.ledger.clients() == 0 => self.exit(),
            Some(Shutdown::WaitForServers) => {
                for id in self.waiting_clients() {
                    self.close_client(id, &Reason::ServersShutDown, now);
                }
                if self.ledger.servers() == 0 {
                    self.exit();
                }
            }
            _ => {}
        }
    }

    /// The thread may end: says goodbye to the servers that are left.
    fn exit(&mut self) {
        if std::mem::replace(&mut self.mode.exited, true) {
            return;
        }
        let now = self.upkeep.next;
        let clients: Vec<_> = self.clients.iter().map(|(id, _)| id).collect();
        for id in clients {
            self.close_client(id, &Reason::ShuttingDown, now);
        }
        let servers: Vec<_> = self.servers.iter().map(|(id, _)| id).collect();
        for id in servers {
            self.close_server(id, &Reason::ShuttingDown, now);
        }
        self.commands.push_back(Command::Exit);
    }
}
