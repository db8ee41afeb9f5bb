//! What time does: timeouts, lifetimes, retries, asking other workers, and the end of a shutdown.
//!
//! Everything here is looked at three times a second, as in PgBouncer; only the question to other
//! workers is timed exactly. An engine without connections sleeps, until the log wants its line.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::CheckQuery;

use super::Engine;
use super::assign::SURPLUS;
use super::cancel::CANCEL_WAIT_TIMEOUT;
use crate::client::{Client, Stage as ClientStage};
use crate::command::{Command, Shutdown};
use crate::ids::Id;
use crate::link::{Link, Phase};
use crate::pool::{Door, Failure, Pool, PoolId};
use crate::reason::Reason;
use crate::server::{Server, Stage};
use crate::time::{MILLISECOND, Time};

/// Between two rounds of upkeep.
const PERIOD: u64 = 333 * MILLISECOND;

/// What is due when.
pub(super) struct Upkeep {
    next: Time,
    /// When to ask other workers again, and for which pools.
    ask: Time,
    asking: Vec<PoolId>,
    /// When a server of a pool was last closed for its age.
    expired: BTreeMap<PoolId, Time>,
}

impl Upkeep {
    pub(super) fn new(now: Time) -> Self {
        Self { next: now, ask: Time::NEVER, asking: Vec::new(), expired: BTreeMap::new() }
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

    /// Whether one more server of a pool may be closed for its age: the closings of a whole pool
    /// are spread over a lifetime, so that it never loses all its servers at once.
    pub(super) fn may_expire(&self, id: PoolId, pool: &Pool, now: Time) -> bool {
        // Without a limit there is no share of a lifetime either (PgBouncer).
        let size = u64::from(pool.target.size);
        let spread = pool.target.server_lifetime.checked_div(size).unwrap_or(0);
        self.expired.get(&id).is_none_or(|last| now >= *last + spread)
    }

    pub(super) fn expired(&mut self, id: PoolId, now: Time) {
        self.expired.insert(id, now);
    }
}

impl Engine {
    /// When [`tick`](Self::tick) has something to do, if nothing happens before.
    pub fn next_tick(&self) -> Time {
        if self.mode.exited {
            return Time::NEVER;
        }
        if self.clients.len() == 0 && self.servers.len() == 0 && self.mode.shutdown.is_none() {
            return self.next_statistics();
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
            self.look_at_clients(now);
            self.look_at_servers(now);
            self.look_at_pools(now);
            self.console_tick(now);
            self.look_at_shutdown(now);
        }
    }

    fn look_at_clients(&mut self, now: Time) {
        let mut due: Vec<_> = self
            .clients
            .iter()
            .filter_map(|(id, client)| {
                Some((client.times.waiting, id, self.client_timeout(client, now)?))
            })
            .collect();
        // In the order of their queues, so that each is found at the front of its own.
        due.sort_by_key(|(waiting, ..)| *waiting);
        for (_, id, reason) in due {
            self.close_client(id, &reason, now);
        }
    }

    /// Why a client has to go now, if it has.
    fn client_timeout(&self, client: &Client, now: Time) -> Option<Reason> {
        let login_timeout = self.setup.config.pgbouncer.client_login_timeout;
        let over = |since: Time, limit: u64| limit > 0 && now.since(since) >= limit;
        match client.stage {
            ClientStage::Startup { .. } | ClientStage::Authenticating(_) => {
                over(client.times.connected, login_timeout)
                    .then_some(Reason::ClientLoginTimeout { server_down: false })
            }
            ClientStage::Newcomer => {
                let limit = self.pool(client.pool?).target.query_wait_timeout;
                if over(client.times.waiting, limit) {
                    return Some(Reason::QueryWaitTimeout);
                }
                over(client.times.connected, login_timeout)
                    .then_some(Reason::ClientLoginTimeout { server_down: true })
            }
            ClientStage::Waiting => {
                let limit = self.pool(client.pool?).target.query_wait_timeout;
                over(client.times.waiting, limit).then_some(Reason::QueryWaitTimeout)
            }
            ClientStage::Canceling { .. } => over(client.times.connected, CANCEL_WAIT_TIMEOUT)
                .then_some(Reason::CancelRefused("cancel_wait_timeout")),
            _ => None,
        }
    }

    fn look_at_servers(&mut self, now: Time) {
        let all: Vec<_> = self.servers.iter().map(|(id, _)| id).collect();
        for id in all {
            self.look_at_server(id, now);
        }
    }

    fn look_at_server(&mut self, id: Id<Server>, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let over = |since: Time, limit: u64| limit > 0 && now.since(since) >= limit;
        let Some(server) = self.servers.find(id) else { return };
        let times = server.times;
        match server.stage {
            Stage::Connecting | Stage::Login(_) => {
                if over(times.opened, settings.server_connect_timeout) {
                    self.login_failed(id, Failure::of_network("connect timeout"), now);
                }
            }
            Stage::Errand(_) => {
                if over(times.heard.max(times.assigned), settings.server_connect_timeout) {
                    self.close_server(id, &Reason::ServerMovedOn("test failed"), now);
                }
            }
            Stage::Cancel(_) => {
                if over(times.opened, CANCEL_WAIT_TIMEOUT) {
                    self.close_server(id, &Reason::CancelRefused("cancel_wait_timeout"), now);
                }
            }
            Stage::Linked(Link { phase: Phase::Setting { .. }, .. }) => {
                if over(times.assigned, settings.server_connect_timeout) {
                    self.close_server(id, &Reason::ServerCrashed, now);
                }
            }
            Stage::Idle | Stage::Used => self.look_at_idle(id, now),
            Stage::Linked(_) | Stage::BeingCanceled | Stage::Gone => {}
        }
    }

    fn look_at_idle(&mut self, id: Id<Server>, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let server = &self.servers[id];
        let pool_id = server.pool;
        let idle = now.since(server.times.heard);
        let idle_timeout = settings.server_idle_timeout;
        let stale = idle >= settings.server_check_delay
            && settings.server_check_query != CheckQuery::Never
            && matches!(server.stage, Stage::Idle);
        if idle_timeout > 0 && idle >= idle_timeout {
            self.close_server(id, &Reason::ServerIdleTimeout, now);
        } else if self.is_over_age(id, now) {
            self.close_server(id, &Reason::LifetimeOver, now);
        } else if stale {
            let pool = self.pool_mut(pool_id);
            pool.forget_server(id);
            pool.used.push_back(id);
            self.servers[id].stage = Stage::Used;
        }
    }

    fn look_at_pools(&mut self, now: Time) {
        self.roll_statistics(now);
        for place in 0..self.pools.len() {
            self.trim(PoolId(place as u32), now);
            let pool = &self.pools[place];
            if !pool.waiting.is_empty() || !pool.newcomers.is_empty() {
                self.touch(PoolId(place as u32));
            }
        }
    }

    /// PAUSE: no servers are handed out, idle ones are closed.
    pub(super) fn pause(&mut self, database: Option<Arc<str>>, now: Time) {
        match database {
            None => self.mode.paused_all = true,
            Some(database) if self.mode.paused.contains(&database) => {}
            Some(database) => self.mode.paused.push(database),
        }
        self.apply_pauses();
        for pool in (0..self.pools.len()).map(|place| PoolId(place as u32)) {
            if self.pool(pool).door != Door::Open {
                self.close_idle(pool, now);
            }
        }
    }

    /// RESUME: of one database, or of all that are paused.
    pub(super) fn resume_pools(&mut self, database: Option<&str>) {
        match database {
            None => self.mode.paused_all = false,
            Some(database) => self.mode.paused.retain(|paused| paused.as_ref() != database),
        }
        self.apply_pauses();
    }

    fn apply_pauses(&mut self) {
        for place in 0..self.pools.len() {
            let pool = &mut self.pools[place];
            if pool.door != Door::Removed {
                pool.door = self.mode.door(&pool.key.database);
            }
            self.touch(PoolId(place as u32));
        }
    }

    /// Closes idle servers that are more than the pool may have, after its size was lowered; those
    /// of other workers do the same, each its share.
    fn trim(&mut self, id: PoolId, now: Time) {
        let pool = self.pool(id);
        let size = if pool.target.size == 0 { u32::MAX } else { pool.target.size };
        let surplus = pool.slots.open().saturating_sub(size).div_ceil(u32::from(self.workers));
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
                self.pause(None, now);
                for id in self.waiting_clients() {
                    self.close_client(id, &Reason::ServersShutDown, now);
                }
            }
            Shutdown::Immediate => self.exit(),
        }
    }

    fn waiting_clients(&self) -> Vec<Id<Client>> {
        let waits =
            |client: &Client| matches!(client.stage, ClientStage::Waiting | ClientStage::Newcomer);
        self.clients.iter().filter(|(_, client)| waits(client)).map(|(id, _)| id).collect()
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
