//! Limits and timeouts, as they look from outside.
//!
//! ```text
//! Connect   how many servers may there be now? is anybody waiting, and for how long?
//! Close     how many clients were there besides the one that is parted from?
//! a look    does a query, a transaction or a silence last for too long? does one pool starve
//!           while others of its database or user are served?
//! ```
//!
//! A pool *starves* as long as somebody waits in it who may have another server as far as the pool
//! goes, and nothing has gone wrong: then only its database or its user can be full.

use config::PoolMode;

use super::{Phase, Process, World};
use crate::app::Stage;
use crate::net::{Far, Parted, Place, Wire, WireId};
use crate::oracle::fairness::{Idler, Pool, Waiter};
use crate::oracle::spans::Most;

/// What is over is noticed within this time: the engines look around three times a second, and
/// workers stand still.
const SLACK: u64 = 1_000_000;
/// For so long a pool may starve while younger clients of others are served, in microseconds.
const STARVING: u64 = 2_000_000;
/// For so long something that has gone wrong may keep servers from being opened.
const TROUBLE: u64 = 5_000_000;

impl World {
    /// The most servers that a worker may have when it opens one for this database now.
    pub(crate) fn most_servers(&self, worker: usize, database: usize) -> Most {
        let plan = &self.workers[worker].pools[database];
        let (mut of_pool, mut unasked) = ([plan.size; 2], [false; 2]);
        for user in 0..of_pool.len() {
            if !self.wires.iter().any(|wire| self.is_asking(wire, (database, user))) {
                unasked[user] = true;
                of_pool[user] = plan.size.min(plan.minimum);
            } else if self.is_reserve_due(worker, (database, user)) {
                of_pool[user] += plan.reserve;
            }
        }
        Most {
            of_pool,
            of_database: plan.most_servers,
            of_user: self.plan.bounds.user_servers,
            size: plan.size,
            unasked,
        }
    }

    /// Whether a client of this pool wants something, or may want something.
    fn is_asking(&self, wire: &Wire, pool: Pool) -> bool {
        if wire.pool != Some(pool) || wire.place == Place::Gone {
            return false;
        }
        let Far::App(place) = wire.far else { return true };
        let app = &self.apps[place];
        let is_done = app.stage == Stage::Working && app.conversation.is_answered();
        !is_done || app.conversation.copy_has_failed
    }

    fn is_reserve_due(&self, worker: usize, pool: Pool) -> bool {
        let (now, timeout) = (self.flow + self.jumped, self.plan.bounds.spans.reserve);
        let has_waited = |wire: &&Wire| {
            let Far::App(place) = wire.far else { return true };
            let app = &self.apps[place];
            app.is_sticky() || now >= app.busy_since + timeout
        };
        let here = |wire: &&Wire| matches!(wire.place, Place::At(at, _) if at == worker);
        let mut asking = self.wires.iter().filter(here).filter(|wire| self.is_asking(wire, pool));
        timeout > 0 && asking.any(|wire| has_waited(&wire))
    }

    /// The pooler parts from a client: how many others has it?
    pub(crate) fn note_parting(&mut self, id: WireId) {
        let Some((database, _)) = self.wires[id.0].pool else { return };
        let user = self.wires[id.0].user;
        let mut crowd = (0, 0);
        for wire in self.wires.iter().filter(|wire| wire.place != Place::Gone && wire.up.taken > 0)
        {
            let Some((other, _)) = wire.pool else { continue };
            crowd.0 += u32::from(other == database);
            crowd.1 += u32::from(wire.user == user);
        }
        let at = self.flow + self.jumped;
        self.wires[id.0].parted = Some(Parted { at, crowd });
    }

    /// A client has been welcomed: there must have been room for it.
    pub(crate) fn check_welcome(&mut self, place: usize) {
        let traits = &self.apps[place].traits;
        let (database, user) = (traits.database, traits.user);
        let inside = self.apps.iter().filter(|app| {
            let is_there = app.wire.is_some_and(|id| self.wires[id.0].place != Place::Gone);
            is_there && app.stage == Stage::Working
        });
        let of_database = inside.clone().filter(|app| app.traits.database == database).count();
        let of_user = inside.filter(|app| app.traits.user == user).count();
        let most_of_database = self.plan.pools[database].most_clients as usize;
        let most_of_user = self.plan.bounds.user_clients[crate::plan::user_place(user)] as usize;
        for (what, count, most) in
            [("database", of_database, most_of_database), ("user", of_user, most_of_user)]
        {
            if most > 0 && count > most {
                self.oracle.fail(format!("{count} clients of a {what} of {most}"));
            }
            self.tally.full_of_clients += u64::from(most > 0 && count == most);
        }
    }

    /// Looks whether anything lasts for longer than it may.
    pub(super) fn look_at_spans(&mut self) {
        let spans = self.plan.bounds.spans;
        let slack = SLACK + self.plan.patience();
        let is_over = |limit: u64, since: u64| limit > 0 && since + limit + slack < self.flow;
        let mut late = None;
        for (place, process) in self.processes.iter().enumerate() {
            let wire = &self.wires[process.wire.0];
            let has_client = wire.owner.is_some() && !process.ending;
            if !matches!(wire.place, Place::At(..)) || !has_client {
                continue;
            }
            let is_silent = process.backend.is_at_rest()
                && process.unsent.is_empty()
                && wire.up.len() == 0
                && wire.down.len() == 0
                && wire.reading;
            if process.napping && is_over(spans.query, process.nap_since) {
                late = Some(format!("a query of server {place} lasts for too long"));
            }
            let Some(since) = process.open_since else { continue };
            if is_over(spans.transaction, since) {
                late = Some(format!("a transaction of server {place} lasts for too long"));
            } else if is_silent && is_over(spans.idle_transaction, wire.touched) {
                late = Some(format!("server {place} idles in a transaction for too long"));
            }
        }
        for (place, app) in self.apps.iter().enumerate() {
            let Some(wire) = app.wire.map(|id| &self.wires[id.0]) else { continue };
            let is_idle = app.is_at_rest()
                && app.conversation.status == b'I'
                && (app.traits.mode != PoolMode::Session || !app.has_asked && !app.traits.eager)
                && !app.is_sticky()
                && matches!(wire.place, Place::At(..))
                && wire.down.len() == 0
                && !wire.down.blocked;
            if is_idle && is_over(spans.client_idle, wire.touched) {
                late = Some(format!("client {place} is idle for too long"));
            }
        }
        if let Some(late) = late {
            self.oracle.fail(late);
        }
    }

    /// Whoever waits for some time is told so.
    pub(super) fn look_at_notices(&mut self, waiting: &[Waiter]) {
        let limit = u64::from(self.plan.bounds.spans.notify) * 1_000_000;
        let slack = SLACK + self.plan.patience();
        for waiter in waiting.iter().filter(|_| limit > 0) {
            let app = &self.apps[waiter.place];
            let Some(wire) = app.wire.map(|id| &self.wires[id.0]) else { continue };
            let is_quiet = wire.down.len() == 0 && !wire.down.blocked;
            if is_quiet && !app.was_notified && waiter.since.0 + limit + slack < self.flow {
                let place = waiter.place;
                self.oracle.fail(format!("client {place} waits and was not told that it does"));
            }
        }
    }

    /// Since when whose pool starves, among those that wait; and does a server idle meanwhile that
    /// could be closed for it?
    pub(super) fn look_at_starving(&mut self, waiting: &[Waiter], idle: &[Idler]) {
        let flow = self.flow;
        let troubled = self.oracle.was_troubled_since(flow.saturating_sub(TROUBLE));
        let waiting = waiting.iter().filter(|waiter| !troubled && self.may_starve(waiter));
        let waiting: Vec<_> = waiting.map(|waiter| (waiter.place, waiter.since)).collect();
        self.starving.retain(|key, _| waiting.contains(key));
        for key in waiting {
            if self.starving.insert(key, self.starving.get(&key).copied().unwrap_or(flow)).is_none()
            {
                self.tally.starving += 1;
            }
        }
        for ((place, _), since) in &self.starving {
            let Some(pool) = self.pool_of(*place) else { continue };
            let idles = |idler: &&Idler| {
                self.competes(pool, idler.pool) && idler.since.max(*since) + STARVING < flow
            };
            if let Some(idler) = idle.iter().find(idles) {
                let server = idler.process;
                return self
                    .oracle
                    .fail(format!("server {server} idles and client {place} starves"));
            }
        }
    }

    fn may_starve(&self, waiter: &Waiter) -> bool {
        let sizes = self.workers.iter().map(|worker| worker.pools[waiter.pool.0].size);
        self.oracle.spans.of_pool(waiter.pool) < sizes.min().unwrap_or_default()
    }

    /// Whether what one pool has of a limit the other one can not have; where there is a limit for
    /// both, of database and of user, a server of the one may be no use to the other.
    fn competes(&self, (database, user): Pool, other: Pool) -> bool {
        let of_database = self.plan.pools[database].most_servers > 0;
        let of_user = self.plan.bounds.user_servers[user] > 0;
        let shares = match (of_database, of_user) {
            (true, false) => other.0 == database,
            (false, true) => other.1 == user,
            _ => false,
        };
        shares && other != (database, user)
    }

    /// A waiting request of a pool is given to a server: does nobody starve meanwhile?
    pub(super) fn check_nobody_starves(&mut self, served: &Waiter) {
        for ((place, _), since) in &self.starving {
            let Some(pool) = self.pool_of(*place) else { continue };
            if self.competes(pool, served.pool) && since + STARVING < served.since.0 {
                return self.oracle.fail(format!(
                    "client {} of {:?} is served while client {place} of {pool:?} starves since \
                     {:.3} ms",
                    served.place,
                    served.pool,
                    *since as f64 / 1000.0
                ));
            }
        }
    }

    /// A server that was free is closed while a pool starves that it competes with.
    pub(super) fn note_eviction(&mut self, process: usize) {
        let Some((pool, _)) = self.server_at(process) else { return };
        let Process { backend, wire, napping, ending, .. } = &self.processes[process];
        let wire = &self.wires[wire.0];
        let is_free = backend.is_at_rest() && wire.owner.is_none() && wire.up.len() == 0;
        if *napping || *ending || !is_free || self.phase == Phase::Ending {
            return;
        }
        let starves = |((place, _), _): (&(usize, (u64, u64)), &u64)| {
            self.pool_of(*place).is_some_and(|starving| self.competes(starving, pool))
        };
        self.tally.evictions += u64::from(self.starving.iter().any(starves));
    }
}
