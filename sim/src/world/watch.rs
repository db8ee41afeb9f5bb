//! What a world shows to the oracle: facts as they happen, and now and then a look around.
//!
//! Who waits and who idles is told from bytes alone: a request waits when the pooler has its token
//! and has not written it to a server; a server idles when it has answered everything and nothing
//! is under way on its wire.

use std::collections::BTreeSet;

use config::PoolMode;
use engine::{Act, Mail};

use super::World;
use crate::app::{Request, Stage};
use crate::net::{Far, Place, WireId};
use crate::oracle::fairness::{self, Idler, Pool, Waiter};
use crate::plan::Spans;
use crate::postgres::{Fact, Mood, Own};
use crate::statement::Token;

/// Where nothing else happens, an engine looks around so often, in microseconds.
const UPKEEP: u64 = 340_000;

impl World {
    /// Something that a server process has let us know.
    pub(crate) fn note_fact(&mut self, place: usize, id: WireId, fact: &Fact) {
        match fact {
            Fact::LoggedIn => {
                self.tally.servers += 1;
                if let Some(pool) = self.pool_of_server(place) {
                    self.oracle.login_refused(pool, false, (0, 0));
                }
            }
            Fact::Refused => {
                self.tally.logins_refused += 1;
                self.oracle.refusal(self.flow);
            }
            Fact::Ran(token, claim) => {
                self.tally.transactions += 1;
                if let Some(pool) = self.pool_of_server(place) {
                    self.oracle.pool_works(pool, self.flow);
                }
                self.oracle.ran(place, *token, *claim);
            }
            Fact::Asked(own) => {
                match own {
                    Own::Set => self.tally.set_errands += 1,
                    Own::Probe => self.tally.probes += 1,
                    Own::Check => self.tally.check_queries += 1,
                    Own::Reset => self.tally.reset_queries += 1,
                }
                self.oracle.asked(place, *own);
            }
            Fact::Settled => {
                let database = self.wires[id.0].port.map_or(0, crate::plan::database_at);
                if self.plan.pools[database].mode != PoolMode::Session {
                    self.oracle.settled(place);
                }
                self.wires[id.0].owner = None;
            }
            Fact::Skipped => self.tally.skipped += 1,
            Fact::Copied { into: true, failed: true } => self.tally.copies_failed += 1,
            Fact::Copied { into: true, .. } => self.tally.copies_in += 1,
            Fact::Copied { .. } => self.tally.copies_out += 1,
            Fact::Suspended => self.tally.suspended += 1,
            Fact::Called(_) => self.tally.function_calls += 1,
            Fact::Nonsense(what) => {
                self.oracle.fail(format!("server {place} was sent nonsense: {what}"));
            }
        }
    }

    /// An order of the operator has reached a worker.
    pub(crate) fn note_orders(&mut self, worker: usize, mail: &Mail) {
        let flow = self.flow;
        let paused = &mut self.workers[worker].paused;
        match mail {
            Mail::Act(Act::Pause(None)) => paused.all = true,
            Mail::Act(Act::Suspend) => {
                paused.suspended |= !paused.all;
                paused.all = true;
            }
            Mail::Act(Act::Pause(Some(name))) => paused.databases.push(name.to_string()),
            Mail::Act(Act::Resume(None)) => (paused.all, paused.suspended) = (false, false),
            Mail::Act(Act::Resume(Some(name))) => {
                paused.databases.retain(|paused| paused.as_str() != name.as_ref());
            }
            Mail::Act(Act::Reconnect(name)) => {
                let heard = self.workers[worker].reconnects.iter_mut().zip(crate::plan::DATABASES);
                for ((times, last), database) in heard {
                    if name.as_deref().is_none_or(|name| name == database) {
                        (*times, *last) = (*times + 1, flow);
                    }
                }
                return;
            }
            Mail::Setup(setup) => {
                self.oracle.hope();
                let pools = setup.config.databases.iter().zip(&self.plan.pools);
                self.workers[worker].pools =
                    pools.map(|(database, pool)| pool.as_entry_says(database)).collect();
                return;
            }
            _ => return,
        }
        paused.changed = flow;
    }

    /// A waiting request is given to a server: was it its turn?
    pub(crate) fn check_turn(&mut self, place: usize, request: Request, worker: usize, id: WireId) {
        let (Some(since), Some(pool)) = (request.since, self.pool_of(place)) else { return };
        let served = Waiter { place, pool, worker, since };
        self.check_nobody_starves(&served);
        let paused = &self.workers[worker].paused;
        let name = self.plan.pools[pool.0].name;
        if paused.holds(name) && since.0 > paused.changed && self.operator.how.is_none() {
            let what = format!("client {place} gets the server of wire {}", id.0);
            return self.oracle.fail(format!("{what} while {name} is paused"));
        }
        let (times, heard) = self.workers[worker].reconnects[pool.0];
        let told = times.checked_sub(1).map_or(0, |last| self.operator.reconnects[pool.0][last]);
        if self.wires[id.0].opened < told && since.0 > heard {
            let what = format!("client {place} gets the server of wire {}", id.0);
            return self.oracle.fail(format!("{what}, which a RECONNECT has ended"));
        }
        if self.is_exempt(pool) {
            return;
        }
        let waiting = self.look_at_lines();
        let patience = self.plan.patience();
        let is_known = |other: &Waiter| {
            let first = other.worker == worker || !self.is_anybody_unseen(pool, other.worker);
            first && self.fronts.is_known(other, worker, (self.flow, patience))
        };
        let known: Vec<_> = waiting.into_iter().filter(is_known).collect();
        if let Err(why) = fairness::may_go_first(&served, &known, patience) {
            self.oracle.fail(why);
        }
    }

    /// A request goes to a server: its last client must have been sent all of its answers.
    pub(crate) fn check_release(&mut self, id: WireId, token: Token) {
        let last = self.wires[id.0].last_session.replace(token.session);
        let Some(last) = last.filter(|last| *last != token.session) else { return };
        let app = self.oracle.app_of(last).map(|place| &self.apps[place]);
        let wire = app.filter(|app| app.session == last).and_then(|app| app.wire);
        let behind = wire.and_then(|wire| self.wires[wire.0].behind_since);
        if behind.is_some_and(|since| since <= self.wires[id.0].heard) {
            self.oracle.fail(format!(
                "the server of wire {} is given to {token} before session {last} has been sent \
                 everything",
                id.0
            ));
        }
    }

    /// The pooler closes a server's wire: perhaps because its login was refused.
    pub(crate) fn note_close(&mut self, id: WireId) {
        let Some(place) = self.processes.iter().rposition(|process| process.wire == id) else {
            return;
        };
        if let (Mood::Refuses(code), Some(pool)) =
            (self.processes[place].backend.mood, self.pool_of_server(place))
        {
            let for_good = matches!(code, "3D000" | "28P01");
            self.tell(|_| format!("server {place}: was refused with {code}"));
            self.oracle.login_refused(pool, for_good, (self.flow, self.flow + self.jumped));
        }
        self.note_eviction(place);
    }

    /// Looks around: does anybody wait in vain?
    pub(crate) fn look(&mut self) {
        self.look_at_newcomers();
        self.look_at_spans();
        let waiting = self.look_at_lines();
        if waiting.is_empty() || self.operator.how.is_some() {
            return self.starving.clear();
        }
        let patience = self.plan.patience();
        let idle: Vec<_> = self.idle().into_iter().filter(|i| !self.is_exempt(i.pool)).collect();
        let truly: Vec<_> =
            waiting.iter().copied().filter(|waiter| self.has_settled(waiter)).collect();
        if let Err(why) = fairness::nobody_idles(&idle, &truly, (self.flow, patience)) {
            self.oracle.fail(why);
        }
        for waiter in &truly {
            self.look_at_deserted(waiter);
        }
        self.look_at_starving(&truly, &idle);
        self.look_at_notices(&truly);
        let limits = [self.plan.times.query_wait, self.plan.bounds.spans.query];
        let limit = limits.into_iter().filter(|limit| *limit > 0).min().unwrap_or_default();
        let slack = UPKEEP + patience;
        let now = self.flow + self.jumped;
        let late = waiting.iter().find(|waiter| now > waiter.since.1 + limit + slack);
        let is_timed = self
            .workers
            .iter()
            .all(|worker| !worker.paused.suspended && self.flow > worker.paused.changed + slack);
        if let Some(waiter) = late.filter(|_| limit > 0 && is_timed)
            && self.flow > self.operator.jumped_at + slack
        {
            self.oracle.fail(format!(
                "client {} waits since {:.3} ms and is not told of its timeout",
                waiter.place,
                waiter.since.0 as f64 / 1000.0
            ));
        }
    }

    /// Whoever has proved who it is, and whose pool has had a server, is welcomed.
    fn look_at_newcomers(&mut self) {
        // What is known of a pool is forgotten with it.
        let is_kept = |spans: &Spans| spans.pool_idle == 0 && spans.made_idle == 0;
        let is_kept = is_kept(&self.plan.bounds.spans);
        if !self.plan.unattended || !is_kept || self.operator.how.is_some() {
            return;
        }
        let trusted = self.plan.auth_type == config::AuthType::Trust;
        for place in 0..self.apps.len() {
            let app = &self.apps[place];
            let wire = app.wire.map(|id| &self.wires[id.0]).filter(|wire| {
                let quiet = wire.up.len() == 0 && wire.down.len() == 0 && !wire.down.blocked;
                quiet && matches!(wire.place, Place::At(..)) && wire.reading
            });
            let waits = app.stage == Stage::LoggingIn && (app.proved || trusted);
            let since = wire.filter(|_| waits).map(|_| app.newcomer_since.unwrap_or(self.flow));
            self.apps[place].newcomer_since = since;
            let known = self.pool_of(place).and_then(|pool| self.oracle.known_since(pool));
            if let (Some(since), Some(known)) = (since, known)
                && since.max(known) + self.plan.patience() < self.flow
            {
                self.oracle.fail(format!("client {place} has logged in and is not welcomed"));
            }
        }
    }

    /// Whoever waits for a pool without servers gets one, or is told why there is none.
    fn look_at_deserted(&mut self, waiter: &Waiter) {
        // With a limit, what is free may be meant for others.
        let is_limited = self.plan.bounds.user_servers[waiter.pool.1] > 0
            || self.plan.pools[waiter.pool.0].most_servers > 0;
        let Some(since) = self.oracle.spans.deserted_since(waiter.pool.0) else { return };
        let patience = self.plan.patience();
        let changed = self.workers.iter().map(|worker| worker.paused.changed).max();
        let since = since.max(waiter.since.0).max(changed.unwrap_or_default());
        let clock = self.flow + self.jumped;
        let doomed = self.oracle.doomed_since(waiter.pool).is_some_and(|(flow, at)| {
            let late = flow.max(since) + UPKEEP + patience < self.flow;
            late && clock + patience < at + self.plan.times.retry
        });
        if doomed {
            let place = waiter.place;
            self.oracle.fail(format!("client {place} is not told that its login was refused"));
        } else if since + patience < self.flow && !is_limited && !self.oracle.is_troubled(self.flow)
        {
            self.oracle.fail(format!(
                "client {} has waited since {:.3} ms and nobody opens a server",
                waiter.place,
                waiter.since.0 as f64 / 1000.0
            ));
        }
    }

    fn pool_of_server(&self, place: usize) -> Option<Pool> {
        let process = &self.processes[place];
        let (_, user) = process.backend.login.as_ref()?;
        let user = self.accounts.iter().position(|account| account.name == user)?;
        Some((crate::plan::database_at(self.wires[process.wire.0].port?), user))
    }

    /// Whether the pool was not paused or resumed lately anywhere.
    fn is_exempt(&self, pool: Pool) -> bool {
        let name = self.plan.pools[pool.0].name;
        let patience = self.plan.patience();
        self.operator.how.is_some()
            || self.oracle.spans.has_strangers(pool.0)
            || self.workers.iter().any(|worker| {
                worker.paused.holds(name)
                    || worker.paused.changed > 0 && self.flow < worker.paused.changed + patience
            })
    }

    /// Whether a client has waited for longer than since the last PAUSE or RESUME.
    fn has_settled(&self, waiter: &Waiter) -> bool {
        !self.is_exempt(waiter.pool)
    }

    pub(super) fn pool_of(&self, place: usize) -> Option<Pool> {
        let traits = &self.apps.get(place)?.traits;
        Some((traits.database, traits.server_user))
    }

    /// The clients that wait for a server, in the order of age: all that may, and those of whom it
    /// is sure.
    fn waiting(&self) -> (Vec<Waiter>, Vec<Waiter>) {
        let waiters = self.apps.iter().enumerate().filter_map(|(place, app)| {
            let request = app.request.filter(|request| request.waiting)?;
            let Place::At(worker, _) = self.wires[app.wire?.0].place else { return None };
            let pool = self.pool_of(place)?;
            let since = request.since?;
            (app.stage == Stage::Working).then_some(Waiter { place, pool, worker, since })
        });
        let mut all: Vec<_> = waiters.collect();
        all.sort_by_key(|waiter| (waiter.since, waiter.place));
        let mut sure = all.clone();
        if !all.is_empty() {
            fairness::leave_out(&mut sure, &self.preparing());
        }
        (all, sure)
    }

    /// Notes who is first in line everywhere, and names those of whom it is sure that they wait.
    fn look_at_lines(&mut self) -> Vec<Waiter> {
        let (mut in_line, waiting) = self.waiting();
        // Where not everybody in line can be seen, the first one of those that can may not be it.
        let lines: BTreeSet<_> =
            in_line.iter().map(|waiter| (waiter.pool, waiter.worker)).collect();
        for line in lines.into_iter().filter(|line| self.is_anybody_unseen(line.0, line.1)) {
            in_line.retain(|waiter| (waiter.pool, waiter.worker) != line);
        }
        self.fronts.look(&in_line, self.flow);
        waiting
    }

    /// Whether somebody on a worker may stand in line of whom it cannot be told from outside: a
    /// client that has asked again before it was sure to have lost its server.
    fn is_anybody_unseen(&self, pool: Pool, worker: usize) -> bool {
        let served = self.wires.iter().filter(|wire| wire.place != Place::Gone);
        let served: BTreeSet<_> = served.filter_map(|wire| wire.owner).collect();
        self.apps.iter().enumerate().any(|(place, app)| {
            let here = app.wire.is_some_and(
                |id| matches!(self.wires[id.0].place, Place::At(at, _) if at == worker),
            );
            here && self.pool_of(place) == Some(pool)
                && !app.request.is_some_and(|request| request.waiting)
                && !app.conversation.is_answered()
                && !served.contains(&app.session)
        })
    }

    /// The servers that may have been given to somebody whose request has not reached them.
    fn preparing(&self) -> Vec<(Pool, usize)> {
        let servers = (0..self.processes.len()).filter_map(|place| {
            let (pool, worker) = self.server_at(place)?;
            let id = self.processes[place].wire;
            let owned = self.wires[id.0].owner.is_some();
            (!owned && self.idle_since(place).is_none()).then_some((pool, worker))
        });
        servers.collect()
    }

    /// The servers that idle.
    fn idle(&self) -> Vec<Idler> {
        let servers = (0..self.processes.len()).filter_map(|process| {
            let (pool, worker) = self.server_at(process)?;
            let since = self.idle_since(process)?;
            Some(Idler { process, pool, worker, since })
        });
        servers.collect()
    }

    /// The pool of a server that has logged in, and the worker that has it.
    pub(super) fn server_at(&self, place: usize) -> Option<(Pool, usize)> {
        let process = &self.processes[place];
        let wire = &self.wires[process.wire.0];
        let (Place::At(worker, _) | Place::Mailed(worker)) = wire.place else { return None };
        let (_, user) = process.backend.login.as_ref()?;
        let user = self.accounts.iter().position(|account| account.name == user)?;
        process
            .backend
            .has_let_in()
            .then_some(((crate::plan::database_at(wire.port?), user), worker))
    }

    /// Since when nothing happens at a server, and nobody has anything to do with it.
    pub(super) fn idle_since(&self, place: usize) -> Option<u64> {
        let process = &self.processes[place];
        let wire = &self.wires[process.wire.0];
        let (owner, last_owner) = self.oracle.owners(place);
        // The pooler may not know yet that a server has gone.
        let quiet = matches!((wire.far, wire.place), (Far::Backend(_), Place::At(..)))
            && process.backend.is_at_rest()
            && !process.napping
            && !process.ending
            && process.unsent.is_empty()
            && wire.up.len() == 0
            && wire.down.len() == 0
            && !wire.down.blocked
            && wire.reading
            && wire.owner.is_none()
            && owner.is_none();
        if !quiet {
            return None;
        }
        // Its last client may not have taken everything yet.
        let app = last_owner.and_then(|session| {
            let app = &self.apps[self.oracle.app_of(session)?];
            (app.session == session).then_some(app)
        });
        let last = app.and_then(|app| app.wire).map(|id| &self.wires[id.0]);
        match last {
            Some(last) if last.down.blocked || app.is_some_and(|app| app.is_sticky()) => None,
            Some(last) => Some(wire.touched.max(last.touched)),
            None => Some(wire.touched),
        }
    }
}
