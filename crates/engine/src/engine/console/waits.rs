//! What a command waits for, and how it is answered then.
//!
//!     SHOW ──► Gather ──► every worker's Report ──► the table
//!     an act ──► Announced ──► the answer, or Gather ──► every Report: all have heard it ──►
//!         PAUSE: no server is left · SUSPEND: everything has left · WAIT_CLOSE: none is marked
//!     RELOAD, SET ──► the program's answer
//!
//! A command keeps its ticket over all its steps. Whoever leaves meanwhile is missed by nobody.

use std::borrow::Cow;
use std::sync::Arc;

use super::{AT_REST, NO_ANSWER};
use crate::act::{Act, Rest};
use crate::admin::answer::Answer as Reply;
use crate::admin::grammar::Show;
use crate::admin::report::{Census, Part, Socket, Table};
use crate::admin::show::Source;
use crate::admin::{Phase, answer};
use crate::client::{Client, Stage};
use crate::command::{Answer, Command, Order, Ticket};
use crate::engine::{Engine, Pending, Work};
use crate::ids::{Id, WorkerId};
use crate::mail::{Mail, PoolKey};
use crate::pool::route::{self, CONSOLE};
use crate::reason::sqlstate_of_ours;
use crate::time::{MILLISECOND, Time};
use wire::sqlstate;

/// What a console command waits for.
pub(in crate::engine) enum Waiting {
    /// The parts of a table.
    Gathering { by: Asker, parts: Box<Parts>, missing: u8 },
    /// The program's answer to an order.
    Ordered { client: Id<Client>, then: Then },
    /// Something that comes true by itself.
    Watching { client: Id<Client>, watch: Watch },
}

/// Who wants a table, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Asker {
    /// Somebody who wants to see it.
    Client(Id<Client>, Show),
    /// Somebody who has said KILL: the databases that have pools.
    Kill(Id<Client>),
    /// Somebody who has said KILL_CLIENT: whether there is one.
    KillClient(Id<Client>, u64),
    /// The log.
    Log,
}

/// What comes after the program's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Then {
    /// The end of the command, with this tag.
    Answer(Cow<'static, str>),
    /// A wait.
    Watch(Until),
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Until {
    /// PAUSE: no server is left, of one database or of all.
    Paused(Option<Arc<str>>),
    /// SUSPEND: all that was buffered has left.
    Suspended,
    /// WAIT_CLOSE: no server is left, of one database or of all, that is to be closed.
    Closed(Option<Arc<str>>),
}

/// A wait that is not over.
pub(in crate::engine) struct Watch {
    until: Until,
    /// The pools that it is about, as far as they are known.
    pools: Vec<PoolKey>,
    /// The workers that have not reported.
    missing: u8,
}

/// What has come of a table.
#[derive(Default)]
pub(in crate::engine) struct Parts {
    census: Census,
    sockets: Vec<Socket>,
    has_client: bool,
}

impl Engine {
    /// SHOW: from what is known here, or from what all workers say.
    pub(super) fn console_shows(&mut self, id: Id<Client>, show: Show, now: Time) {
        match show.source() {
            Source::Here => {
                let table = self.facts(now).show(show);
                self.console_tells(id, &table);
            }
            Source::Gathered(table) => {
                self.console_gathers(id, Asker::Client(id, show), table, now);
            }
        }
    }

    /// A client waits for the parts of a table from now on.
    pub(super) fn console_gathers(&mut self, id: Id<Client>, by: Asker, table: Table, now: Time) {
        let (parts, missing) = (Box::<Parts>::default(), self.workers);
        let ticket = self.console_waits(id, Waiting::Gathering { by, parts, missing }, now);
        self.ask_all(ticket, table, now);
    }

    /// The log wants a table.
    pub(super) fn log_gathers(&mut self, table: Table, now: Time) {
        let (parts, missing) = (Box::<Parts>::default(), self.workers);
        let waiting = Waiting::Gathering { by: Asker::Log, parts, missing };
        let ticket = self.ticket(Pending::Console(waiting));
        self.ask_all(ticket, table, now);
    }

    /// A client waits for the program's answer from now on.
    pub(super) fn console_orders(&mut self, id: Id<Client>, order: Order, then: Then, now: Time) {
        let ticket = self.console_waits(id, Waiting::Ordered { client: id, then }, now);
        self.commands.push_back(Command::Order { ticket, order });
    }

    /// A client waits from now on for something that needs no order.
    pub(super) fn console_watches_until(&mut self, id: Id<Client>, until: Until, now: Time) {
        let watch = Watch::new(until, self.workers);
        let table = watch.until.table();
        let ticket = self.console_waits(id, Waiting::Watching { client: id, watch }, now);
        self.ask_all(ticket, table, now);
    }

    fn console_waits(&mut self, id: Id<Client>, waiting: Waiting, now: Time) -> Ticket {
        let ticket = self.ticket(Pending::Console(waiting));
        self.console_phase(id, Phase::Waiting { ticket, since: now });
        ticket
    }

    /// Asks all workers for their parts of a table, this one included.
    fn ask_all(&mut self, ticket: Ticket, table: Table, now: Time) {
        self.post_to_others(&Mail::Gather { by: self.me, ticket, table });
        self.gather_for(self.me, ticket, table, now);
    }

    /// A worker has asked for this one's part of a table.
    pub(in crate::engine) fn gather_for(
        &mut self,
        by: WorkerId,
        ticket: Ticket,
        table: Table,
        now: Time,
    ) {
        if table == Table::Flushed {
            return self.flush(by, ticket, now);
        }
        let part = self.report(table, now);
        self.report_to(by, ticket, part, now);
    }

    /// A worker's part has come.
    pub(in crate::engine) fn console_reported(&mut self, ticket: Ticket, part: Part, now: Time) {
        match self.pending.get_mut(&ticket) {
            Some(Pending::Console(Waiting::Gathering { parts, missing, .. })) => {
                parts.add(part);
                *missing = missing.saturating_sub(1);
                if *missing == 0 {
                    self.console_gathered(ticket, now);
                }
            }
            Some(Pending::Console(Waiting::Watching { watch, .. })) => {
                watch.reported(part);
                self.console_watches(now);
            }
            _ => {}
        }
    }

    /// All parts of a table are there.
    fn console_gathered(&mut self, ticket: Ticket, now: Time) {
        let waiting = self.pending.remove(&ticket);
        let Some(Pending::Console(Waiting::Gathering { by, parts, .. })) = waiting else { return };
        match by {
            Asker::Log => self.log_statistics(&parts.census, now),
            Asker::Client(client, show) => {
                let facts = self.facts(now);
                let table = match show {
                    Show::ActiveSockets | Show::Clients | Show::Servers | Show::Sockets => {
                        facts.show_sockets(show, &parts.sockets)
                    }
                    _ => facts.show_census(show, parts.census),
                };
                self.console_answers(client, ticket, &table, now);
            }
            Asker::Kill(client) => {
                let act = Act::Kill(self.databases_with_pools(&parts.census));
                self.console_goes_on(client, ticket, act, "KILL");
            }
            Asker::KillClient(client, number) if parts.has_client => {
                self.console_goes_on(client, ticket, Act::KillClient(number), "KILL_CLIENT");
            }
            Asker::KillClient(client, _) => {
                let refusal = answer::refusal("client not found");
                self.console_answers(client, ticket, &refusal, now);
            }
        }
    }

    fn databases_with_pools(&self, census: &Census) -> Vec<Arc<str>> {
        let names = census.pools.keys().map(|key| &key.database);
        let mut names: Vec<_> = names
            .filter(|name| ***name != *CONSOLE && route::entry(&self.setup, name).is_some())
            .map(Arc::clone)
            .collect();
        // Keys are in order.
        names.dedup();
        names
    }

    /// The next step of a command whose client still waits is an act.
    fn console_goes_on(&mut self, client: Id<Client>, ticket: Ticket, act: Act, tag: &'static str) {
        if self.waits_since(client, ticket).is_some() {
            let then = Then::Answer(tag.into());
            self.pending.insert(ticket, Pending::Console(Waiting::Ordered { client, then }));
            self.commands.push_back(Command::Order { ticket, order: Order::Act(act) });
        }
    }

    /// The program has answered an order.
    pub(in crate::engine) fn console_answered(
        &mut self,
        ticket: Ticket,
        waiting: Waiting,
        answer: Answer,
        now: Time,
    ) {
        let Waiting::Ordered { client, then } = waiting else { return };
        let reply = match (answer, then) {
            (Answer::Announced, Then::Watch(until)) => {
                let watch = Watch::new(until, self.workers);
                let table = watch.until.table();
                let waiting = Waiting::Watching { client, watch };
                self.pending.insert(ticket, Pending::Console(waiting));
                return self.ask_all(ticket, table, now);
            }
            (Answer::Reloaded(Err(why)), _) => {
                let text = "RELOAD failed, see logs for additional details";
                answer::error(sqlstate::CONFIG_FILE_ERROR, text, Some(&why))
            }
            (Answer::Set(Err(why)), _) => answer::set_failed(&why),
            (_, Then::Answer(tag)) => answer::done(&tag),
            (_, Then::Watch(_)) => return,
        };
        self.console_answers(client, ticket, &reply, now);
    }

    /// Looks at everything that is waited for: it has come true, it never will, it is of no
    /// interest any more, or the wait goes on.
    pub(in crate::engine) fn console_watches(&mut self, now: Time) {
        let tickets: Vec<Ticket> = self.pending.keys().copied().collect();
        for ticket in tickets {
            if let Some(Pending::Console(Waiting::Watching { client, watch })) =
                self.pending.get(&ticket)
            {
                let client = *client;
                let outcome = match self.waits_since(client, ticket) {
                    Some(_) => self.outcome(watch),
                    None => Some(answer::nothing()),
                };
                match outcome {
                    Some(reply) => {
                        self.pending.remove(&ticket);
                        self.console_answers(client, ticket, &reply, now);
                    }
                    None => self.upkeep.due_by(now + CHECK),
                }
            }
        }
    }

    /// The answer to a wait, when it is over.
    fn outcome(&self, watch: &Watch) -> Option<Reply> {
        let sum = |count: &dyn Fn(&PoolKey) -> u32| watch.pools.iter().map(count).sum::<u32>();
        let is_left = match &watch.until {
            Until::Paused(None) => self.ledger.servers() > 0,
            Until::Paused(Some(_)) => sum(&|pool| self.ledger.open(pool)) > 0,
            // A worker has reported when everything has left.
            Until::Suspended => false,
            Until::Closed(_) => sum(&|pool| self.ledger.doomed(pool)) > 0,
        };
        let tag = watch.until.tag();
        let in_vain = match (&watch.until, self.mode.rest) {
            (Until::Paused(None), Rest::Paused) | (Until::Suspended, Rest::Suspended) => None,
            (Until::Paused(None) | Until::Suspended, Rest::Working) => {
                Some(self.cancelled(&format!("{tag} was revoked by RESUME")))
            }
            // Two have crossed.
            (Until::Paused(None) | Until::Suspended, _) => Some(answer::refusal(AT_REST)),
            (Until::Paused(Some(database)), _) if !self.mode.paused.contains(database) => {
                Some(self.cancelled(&format!("{tag} was revoked by RESUME")))
            }
            _ => None,
        };
        in_vain.or_else(|| (watch.missing == 0 && !is_left).then(|| answer::done(tag)))
    }

    /// A cancel request for a session: PgBouncer resumes what the session rests for.
    pub(in crate::engine) fn console_canceled(&mut self, id: Id<Client>, now: Time) {
        let found = self.pending.iter().find_map(|(ticket, pending)| match pending {
            Pending::Console(Waiting::Watching { client, watch }) if *client == id => {
                Some((*ticket, watch.until.clone()))
            }
            _ => None,
        });
        let act = match found {
            Some((_, Until::Paused(database))) => Act::Resume(database),
            Some((_, Until::Suspended)) => Act::Resume(None),
            Some((ticket, Until::Closed(_))) => {
                self.pending.remove(&ticket);
                let reply = self.cancelled("canceling statement due to user request");
                return self.console_answers(id, ticket, &reply, now);
            }
            None => return,
        };
        if self.mode.shutdown.is_none() {
            self.commands.push_back(Command::Order { ticket: NO_ANSWER, order: Order::Act(act) });
        }
    }

    /// The answer to a wait that has been ended before its time.
    fn cancelled(&self, text: &str) -> Reply {
        let legacy = self.setup.config.pgbouncer.legacy_sqlstate;
        answer::error(sqlstate_of_ours(sqlstate::QUERY_CANCELED, legacy), text, None)
    }

    /// A command that had to wait is answered, if its client is still there for it.
    fn console_answers(&mut self, id: Id<Client>, ticket: Ticket, answer: &Reply, now: Time) {
        let Some(since) = self.waits_since(id, ticket) else { return };
        self.desk.counters.query_time += now.since(since);
        self.desk.counters.transaction_time += now.since(since);
        self.console_phase(id, Phase::Ready);
        self.console_tells(id, answer);
        self.work.push_back(Work::Resume(id));
    }

    /// Since when a session waits for the answer with this ticket, if it does.
    fn waits_since(&self, id: Id<Client>, ticket: Ticket) -> Option<Time> {
        match &self.clients.find(id)?.stage {
            Stage::Console(console) => match console.phase {
                Phase::Waiting { ticket: mine, since } if mine == ticket => Some(since),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Parts {
    fn add(&mut self, part: Part) {
        match part {
            Part::Pools(census) => self.census.add(census),
            Part::Sockets(sockets) => self.sockets.extend(sockets),
            Part::Client(is_here) => self.has_client |= is_here,
            Part::Flushed => {}
        }
    }
}

impl Until {
    /// What tells that all workers have heard of it.
    fn table(&self) -> Table {
        match self {
            Self::Paused(_) | Self::Closed(_) => Table::Pools,
            Self::Suspended => Table::Flushed,
        }
    }

    fn tag(&self) -> &'static str {
        match self {
            Self::Paused(_) => "PAUSE",
            Self::Suspended => "SUSPEND",
            Self::Closed(_) => "WAIT_CLOSE",
        }
    }

    fn is_about(&self, pool: &PoolKey) -> bool {
        match self {
            Self::Paused(database) | Self::Closed(database) => {
                database.as_ref().is_none_or(|database| *database == pool.database)
            }
            Self::Suspended => false,
        }
    }
}

impl Watch {
    fn new(until: Until, workers: u8) -> Self {
        Self { until, pools: Vec::new(), missing: workers }
    }

    /// A worker has heard of it.
    fn reported(&mut self, part: Part) {
        self.missing = self.missing.saturating_sub(1);
        if let Part::Pools(census) = part {
            for pool in census.pools.into_keys().filter(|pool| self.until.is_about(pool)) {
                // Workers share their pools, and each counts once.
                if !self.pools.contains(&pool) {
                    self.pools.push(pool);
                }
            }
        }
    }
}

/// How often to look whether a wait is over.
const CHECK: u64 = 20 * MILLISECOND;
