//! A world: a clock, a heap of events, several engines, and everybody they talk to.
//!
//! ```text
//! busy ──► faults stop, quiet ──► clients finish and leave ──► shutdown ──► nothing may be left
//! ```
//!
//! Time is counted twice: *flow* never jumps and orders the events; the clock that the engines are
//! shown runs ahead of it by as much as it has jumped. All chance comes from the seed, so the same
//! plan is the same run, to the last byte.

mod bounds;
mod finale;
pub(crate) mod mail;
mod peers;
mod servers;
pub(crate) mod shell;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Answer, Engine, Init, Ledger, Ticket, Time, WorkerId};

use crate::app::{App, Flaw, Traits};
use crate::net::{Wire, WireId};
use crate::operator::Operator;
use crate::oracle::Oracle;
use crate::oracle::fairness::Fronts;
use crate::plan::{DATABASES, Plan, accounts, user_place};
use crate::postgres::{Account, Backend, Mood};
use crate::random::Random;
use crate::story::Story;
use crate::tally::Tally;
use shell::Worker;

/// Something that happens to somebody.
pub(crate) enum Event {
    /// A worker may find something to read.
    Readable(WireId),
    /// A worker may write again.
    Writable(WireId),
    /// A write has found nobody at the other end.
    Broken(WireId),
    /// An attempt to connect has come to its end.
    Connected(WireId),
    /// The next letter from one worker to another has arrived.
    Mail { to: usize, from: usize },
    /// A slow question of a worker has been answered.
    Answer(usize, Ticket, Box<Answer>),
    /// An engine wants to look at the time.
    Tick(usize),
    /// A peer may find something to read.
    Arrival(WireId),
    /// A client has thought.
    Wake(usize),
    /// A client wants its query cancelled, if the session is still this one.
    Cancel(usize, u32),
    /// A slow statement is done, if it still is the one with this number.
    Done(usize, u64),
    /// A server gets round to the cancel request that this process has read.
    Signal(usize, Vec<u8>),
    /// A peer closes its end.
    HangUp(WireId),
    /// The operator or fate does something.
    Operate,
    /// The oracle looks around.
    Look,
}

/// How far a run has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Busy,
    /// Faults have stopped; clients finish what they are at, and then say nothing.
    Quiet,
    /// Clients finish and leave.
    Leaving,
    /// The engines have been told to shut down.
    Ending,
}

/// A server process, and what the world needs to run it.
pub(crate) struct Process {
    pub(crate) backend: Backend,
    pub(crate) wire: WireId,
    /// What it has said that the pipe has no room for.
    pub(crate) unsent: Vec<u8>,
    /// Counts its slow statements.
    pub(crate) naps: u64,
    pub(crate) napping: bool,
    /// Since when it is at the slow one, and since when a transaction is open, in flow.
    pub(crate) nap_since: u64,
    pub(crate) open_since: Option<u64>,
    /// It will close when all is sent.
    pub(crate) ending: bool,
}

/// A world.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) flow: u64,
    /// How far the clock has jumped ahead of the flow.
    pub(crate) jumped: u64,
    pub(crate) phase: Phase,
    pub(crate) random: Random,
    pub(crate) workers: Vec<Worker>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) apps: Vec<App>,
    pub(crate) processes: Vec<Process>,
    pub(crate) accounts: Vec<Account>,
    /// What servers do to those who connect.
    pub(crate) mood: Mood,
    /// Whether servers refuse connections.
    pub(crate) refuses_connects: bool,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) operator: Operator,
    pub(crate) oracle: Oracle,
    pub(crate) fronts: Fronts,
    /// Since when somebody waits, by place and begin, whose database or user is full.
    pub(crate) starving: BTreeMap<(usize, (u64, u64)), u64>,
    pub(crate) tally: Tally,
    pub(crate) story: Story,
    /// The number of the last session.
    pub(crate) sessions: u32,
    /// A sum of everything that has happened, to tell runs apart.
    pub(crate) digest: u64,
    events: BTreeMap<(u64, u64), Event>,
    sequence: u64,
}

/// So many events are more than any run needs.
const EVENTS_MAX: u64 = 5_000_000;
/// How long clients may take to finish once nothing goes wrong any more, in microseconds of flow.
const LEAVING_MAX: u64 = 300_000_000;
/// How long engines may take to end, in microseconds of flow.
const ENDING_MAX: u64 = 60_000_000;
/// How often the oracle looks around, in microseconds.
const LOOK: u64 = 5_000;

impl World {
    /// A world at its beginning; with a story when somebody listens.
    pub(crate) fn new(plan: Plan, told: bool) -> Self {
        let mut random = Random::new(plan.seed);
        let accounts = accounts(plan.seed);
        let ledger = Arc::new(Ledger::new(plan.workers));
        let setup = plan.setup(&plan.pools, &accounts);
        let secret = random.bytes();
        let workers = (0..plan.workers).map(|worker| {
            let engine = Engine::new(Init {
                worker: WorkerId(worker),
                workers: plan.workers,
                ledger: Arc::clone(&ledger),
                setup: Arc::clone(&setup),
                entropy: random.bytes(),
                process_secret: secret,
                wall: 0,
                now: Time::ZERO,
            });
            Worker::new(engine, usize::from(plan.workers) + 1, plan.pools.clone())
        });
        let workers: Vec<_> = workers.collect();
        let apps = (0..plan.apps).map(|_| App::new(traits(&plan, &accounts, &mut random), 0));
        let mut apps: Vec<_> = apps.collect();
        for app in &mut apps {
            app.rounds_left = plan.rounds;
        }
        Self {
            operator: Operator::new(plan.pools.clone()),
            oracle: Oracle::default(),
            fronts: Fronts::default(),
            starving: BTreeMap::new(),
            plan,
            flow: 0,
            jumped: 0,
            phase: Phase::Busy,
            random,
            workers,
            wires: Vec::new(),
            apps,
            processes: Vec::new(),
            accounts,
            mood: Mood::Open,
            refuses_connects: false,
            ledger,
            tally: Tally::default(),
            story: Story::new(told),
            sessions: 0,
            digest: 0,
            events: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Lets everything happen; the error is the promise that was broken.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        for app in 0..self.apps.len() {
            let delay = self.random.below(30_000);
            self.after(delay, Event::Wake(app));
        }
        self.after(10_000, Event::Operate);
        self.after(LOOK, Event::Look);
        self.live(|world| world.is_busy())?;
        self.faults_stop();
        self.be_quiet()?;
        self.leave();
        let until = self.flow + LEAVING_MAX;
        self.live(|world| !world.all_have_left() && world.flow < until)?;
        if !self.all_have_left() {
            return Err(self.who_is_left());
        }
        self.settle()?;
        self.phase = Phase::Ending;
        if self.operator.shutdown.is_none() {
            self.shut_down(self.plan.end);
        }
        let until = self.flow + ENDING_MAX;
        self.live(|world| world.workers.iter().any(|w| !w.exited) && world.flow < until)?;
        self.check_empty()
    }

    /// The clock that the engines are shown.
    pub(crate) fn now(&self) -> Time {
        Time(self.flow + self.jumped)
    }

    /// Lets an event happen after so many microseconds of flow.
    pub(crate) fn after(&mut self, delay: u64, event: Event) {
        let at = (self.flow + delay).next_multiple_of(self.plan.grid);
        self.sequence += 1;
        self.events.insert((at, self.sequence), event);
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.story.is_told() {
            let text = line(self);
            self.story.line(self.flow, &text);
        }
    }

    fn live(&mut self, goes_on: impl Fn(&Self) -> bool) -> Result<(), String> {
        while goes_on(self) {
            let Some(((at, _), event)) = self.events.pop_first() else { return Ok(()) };
            self.flow = self.flow.max(at);
            self.happen(event);
            if let Some(failure) = self.oracle.failure.take() {
                return Err(failure);
            }
            if self.sequence > EVENTS_MAX {
                return Err("the world does not come to rest".into());
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Readable(wire) => self.worker_reads(wire),
            Event::Writable(wire) => self.worker_writes_on(wire),
            Event::Broken(wire) => self.worker_loses(wire),
            Event::Connected(wire) => self.worker_connected(wire),
            Event::Mail { to, from } => self.worker_gets_mail(to, from),
            Event::Answer(worker, ticket, answer) => self.worker_answered(worker, ticket, *answer),
            Event::Tick(worker) => self.worker_ticks(worker),
            Event::Arrival(wire) => self.peer_reads(wire),
            Event::Wake(app) => self.app_wakes(app),
            Event::Cancel(app, session) => self.app_cancels(app, session),
            Event::Done(process, nap) => self.process_wakes(process, nap),
            Event::Signal(process, key) => self.process_cancels(process, &key),
            Event::HangUp(wire) => self.peer_closes(wire),
            Event::Operate => self.operate(),
            Event::Look => {
                self.look();
                self.after(LOOK, Event::Look);
            }
        }
        self.digest = (self.digest ^ self.flow ^ self.sequence << 32)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(7);
    }

    fn is_busy(&self) -> bool {
        let working = self.apps.iter().filter(|app| app.stage != crate::app::Stage::Over).count();
        // Where pools have a minimum, some clients are to be left that want nothing.
        let has_minimum = self.plan.pools.iter().any(|pool| pool.minimum > 0);
        let few = if has_minimum { self.plan.apps.min(4) } else { 0 };
        working > few
            && self.flow < BUSY_MAX
            && self.operator.shutdown.is_none_or(|at| self.flow < at)
    }
}

/// No run is busy for longer, in microseconds of flow.
const BUSY_MAX: u64 = 60_000_000;

fn traits(plan: &Plan, accounts: &[Account], random: &mut Random) -> Traits {
    let account = &accounts[usize::from(!plan.one_user && random.chance(300))];
    let database = random.weighted(&[5, 5, 2]);
    let flaw = match random.below(40) {
        0 if plan.auth_type != config::AuthType::Trust => Flaw::Password,
        1 => Flaw::Parameter,
        _ => Flaw::None,
    };
    let slow = random.chance(plan.net.slow_readers);
    Traits {
        database,
        database_name: DATABASES[database],
        mode: plan.pools[database].mode,
        user: account.name,
        server_user: user_place(plan.pools[database].forced.unwrap_or(account.name)),
        password: account.password,
        slow: slow.then(|| (random.range(20, 4000), random.range(100, 5_000))),
        flaw,
        eager: plan.auth_type == config::AuthType::Trust
            && flaw == Flaw::None
            && random.chance(150),
        asks_for_tls: random.chance(200),
    }
}
