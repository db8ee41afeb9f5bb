//! The simulated shell: it carries out what an engine wants, as the real one does.
//!
//! ```text
//! an event ──► one input ──► obey until there is no command ──► reclaim ──► obey ──► tick ──► obey
//! ```
//!
//! Writes are cut short and go on by themselves, reads come in pieces, mail takes its time, and a
//! worker may stand still.

use std::collections::{BTreeMap, VecDeque};

use engine::{
    Address, Answer, Command, ConnId, Engine, Local, PARTS_MAX, Question, Refused, Ticket, Time,
};

use super::mail::Letter;
use super::{Event, Process, World};
use crate::net::{End, Far, Place, Wire, WireId};
use crate::plan::{PoolPlan, derive};
use crate::postgres::{Backend, Mood};

/// One worker.
pub(crate) struct Worker {
    pub(crate) engine: Engine,
    pub(super) conns: BTreeMap<ConnId, WireId>,
    /// Letters under way, by sender; the last sender is the operator.
    pub(super) mail: Vec<VecDeque<Letter>>,
    /// When an event will tick its engine.
    tick_at: u64,
    pub(crate) busy_until: u64,
    pub(crate) exited: bool,
    /// The configuration that its engine has.
    pub(crate) pools: Vec<PoolPlan>,
    /// What its engine takes to be paused, and when it was told last.
    pub(crate) paused: Paused,
    /// How often it has heard of a RECONNECT of each database, and when last.
    pub(crate) reconnects: [(usize, u64); crate::plan::DATABASES.len()],
    /// Connections that were under way to it when it had ended.
    pub(crate) lost_parcels: u32,
}

/// What is paused on a worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paused {
    pub(crate) all: bool,
    /// Nothing is timed either.
    pub(crate) suspended: bool,
    pub(crate) databases: Vec<String>,
    pub(crate) changed: u64,
}

impl Paused {
    pub(crate) fn holds(&self, database: &str) -> bool {
        self.all || self.databases.iter().any(|paused| paused == database)
    }
}

/// The size of the buffer that a worker receives into.
const BUFFER: usize = 16 * 1024;

impl Worker {
    pub(crate) fn new(engine: Engine, senders: usize, pools: Vec<PoolPlan>) -> Self {
        Self {
            engine,
            conns: BTreeMap::new(),
            mail: (0..senders).map(|_| VecDeque::new()).collect(),
            tick_at: u64::MAX,
            busy_until: 0,
            exited: false,
            pools,
            paused: Paused::default(),
            reconnects: Default::default(),
            lost_parcels: 0,
        }
    }
}

impl World {
    /// Whether a worker cannot be reached now; then the event comes again, or never.
    pub(super) fn is_away(&mut self, worker: usize, event: Event) -> Option<Event> {
        let until = self.workers[worker].busy_until;
        if self.workers[worker].exited {
            return None;
        }
        if self.flow < until {
            self.after(until - self.flow, event);
            return None;
        }
        Some(event)
    }

    pub(crate) fn worker_reads(&mut self, id: WireId) {
        let wire = &mut self.wires[id.0];
        wire.up.due = false;
        let Place::At(worker, conn) = wire.place else { return };
        if !wire.reading || !wire.up.has_news() {
            return;
        }
        if self.flow < wire.stalled {
            wire.up.due = true;
            let delay = wire.stalled - self.flow;
            return self.after(delay, Event::Readable(id));
        }
        if self.is_away(worker, Event::Readable(id)).is_none() {
            self.wires[id.0].up.due = true;
            return;
        }
        let now = self.now();
        let wire = &mut self.wires[id.0];
        if wire.up.len() == 0 {
            let reset = wire.up.end == End::Reset;
            wire.up.end = End::Told;
            self.tell(|_| format!("worker {worker}: end of wire {} (reset: {reset})", id.0));
            match reset {
                true => self.workers[worker].engine.broken(conn, "reset", now),
                false => self.workers[worker].engine.received(conn, &[], now),
            }
            return self.obey(worker, &[]);
        }
        let most = wire.up.len().min(BUFFER);
        let split = most > 1 && self.random.chance(self.plan.net.split);
        let count = if split { self.random.range(1, 9.min(most as u64)) as usize } else { most };
        self.tally.split_reads += u64::from(split);
        let wire = &mut self.wires[id.0];
        let chunk = wire.up.take(count);
        wire.touched = self.flow;
        if !wire.own_words {
            wire.heard = self.flow;
        }
        let more = wire.up.has_news();
        self.tell(|_| format!("worker {worker}: reads {count} bytes of wire {}", id.0));
        self.request_delivered(id);
        self.workers[worker].engine.received(conn, &chunk, now);
        self.obey(worker, &chunk);
        let before = self.workers[worker].engine.blocks_out();
        self.workers[worker].engine.reclaim(&chunk, now);
        self.tally.held += u64::from(before > 0);
        let after = self.workers[worker].engine.blocks_out();
        self.tally.reclaimed += u64::from(after > before);
        self.obey(worker, &[]);
        if more {
            self.readable(id, 1);
        }
        self.peer_may_write(id);
        self.turn_ends(worker);
    }

    /// Lets the pooler read soon, if there is something to read.
    pub(crate) fn readable(&mut self, id: WireId, delay: u64) {
        let wire = &mut self.wires[id.0];
        if wire.up.has_news() && !wire.up.due && wire.place != Place::Gone {
            wire.up.due = true;
            self.after(delay, Event::Readable(id));
        }
    }

    pub(crate) fn worker_writes_on(&mut self, id: WireId) {
        let Place::At(worker, conn) = self.wires[id.0].place else { return };
        if self.is_away(worker, Event::Writable(id)).is_none() {
            return;
        }
        self.wires[id.0].down.blocked = false;
        self.write(worker, conn, &[]);
        self.obey(worker, &[]);
    }

    pub(crate) fn worker_loses(&mut self, id: WireId) {
        let Place::At(worker, conn) = self.wires[id.0].place else { return };
        let wire = &self.wires[id.0];
        // What the peer had said before it closed is read first, if anybody wants to read it.
        let will_read = wire.reading && wire.up.has_news() && wire.up.end != End::Reset;
        if will_read || self.is_away(worker, Event::Broken(id)).is_none() {
            return;
        }
        self.wires[id.0].up.end = End::Told;
        self.tell(|_| format!("worker {worker}: wire {} is broken", id.0));
        let now = self.now();
        self.workers[worker].engine.broken(conn, "connection reset by peer", now);
        self.obey(worker, &[]);
    }

    pub(crate) fn worker_connected(&mut self, id: WireId) {
        let Place::Opening(worker, conn) = self.wires[id.0].place else { return };
        if self.is_away(worker, Event::Connected(id)).is_none() {
            return;
        }
        let now = self.now();
        if self.refuses_connects {
            self.tally.connects_refused += 1;
            self.oracle.refusal(self.flow);
            self.wires[id.0].place = Place::Gone;
            self.workers[worker].conns.remove(&conn);
            self.oracle.spans.closed(id, self.flow);
            let refused = Err(Refused("connection refused".into()));
            self.workers[worker].engine.connected(conn, refused, now);
            return self.obey(worker, &[]);
        }
        let pid = self.processes.len() as u32 + 100;
        let entropy = self.random.bytes();
        let backend = Backend::new(pid, self.plan.method, self.mood, entropy);
        self.wires[id.0].far = Far::Backend(self.processes.len());
        self.wires[id.0].place = Place::At(worker, conn);
        self.processes.push(Process {
            backend,
            wire: id,
            unsent: Vec::new(),
            naps: 0,
            napping: false,
            nap_since: 0,
            open_since: None,
            ending: false,
        });
        self.oracle.process_started();
        self.workers[worker].engine.connected(conn, Ok(Local { tcp: None }), now);
        self.obey(worker, &[]);
    }

    pub(crate) fn worker_answered(&mut self, worker: usize, ticket: Ticket, answer: Answer) {
        if self.workers[worker].exited {
            return;
        }
        self.tally.derivations += 1;
        let now = self.now();
        self.workers[worker].engine.answered(ticket, answer, now);
        self.obey(worker, &[]);
    }

    pub(crate) fn worker_ticks(&mut self, worker: usize) {
        if self.workers[worker].exited {
            return;
        }
        self.workers[worker].tick_at = u64::MAX;
        let until = self.workers[worker].busy_until;
        if self.flow < until {
            self.workers[worker].tick_at = until;
            return self.after(until - self.flow, Event::Tick(worker));
        }
        self.obey(worker, &[]);
    }

    /// Now and then a worker has so much to do that everything else waits.
    pub(super) fn turn_ends(&mut self, worker: usize) {
        if self.plan.turn_max > 0 && self.random.chance(5) {
            self.tally.worker_stalls += 1;
            let stall = self.random.below(self.plan.turn_max);
            self.workers[worker].busy_until = self.flow + stall;
        }
    }

    /// Carries out what an engine wants, lets it look at the time, and carries out the rest.
    pub(crate) fn obey(&mut self, worker: usize, chunk: &[u8]) {
        self.carry_out(worker, chunk);
        if chunk.is_empty() && !self.workers[worker].exited {
            let now = self.now();
            self.workers[worker].engine.tick(now);
            self.carry_out(worker, &[]);
            if self.workers[worker].engine.next_tick() <= now {
                self.oracle.fail(format!("worker {worker} wants to look at the time all the time"));
            }
            self.plan_tick(worker);
        }
    }

    /// Sees to it that an engine is ticked when it wants to be.
    pub(crate) fn plan_tick(&mut self, worker: usize) {
        let next = self.workers[worker].engine.next_tick();
        if next == Time::NEVER || self.workers[worker].exited {
            return;
        }
        let at = next.0.saturating_sub(self.jumped).max(self.flow + 1);
        if at < self.workers[worker].tick_at {
            self.workers[worker].tick_at = at;
            self.after(at - self.flow, Event::Tick(worker));
        }
    }

    fn carry_out(&mut self, worker: usize, chunk: &[u8]) {
        while !self.workers[worker].exited {
            let Some(command) = self.workers[worker].engine.next_command() else { return };
            match command {
                Command::Connect { conn, to } => self.connect(worker, conn, &to),
                Command::Write { conn } => self.write(worker, conn, chunk),
                Command::Read { conn, on } => self.want(worker, conn, on),
                Command::Close { conn } => self.close(worker, conn, chunk),
                Command::Ask { ticket, question } => self.ask(worker, ticket, &question),
                Command::Post { to, mail } => self.post(worker, to, mail),
                Command::Ship { conn, to, parcel } => self.ship(worker, conn, to, parcel),
                Command::Order { .. } => {}
                Command::Status { .. } => {}
                Command::Exit => self.exit(worker),
            }
        }
    }

    fn connect(&mut self, worker: usize, conn: ConnId, to: &Address) {
        let Address::Tcp { port, .. } = to else {
            return self.oracle.fail(format!("connects to {to:?}"));
        };
        let id = self.new_wire(Far::Nobody, Place::Opening(worker, conn));
        self.wires[id.0].port = Some(*port);
        self.wires[id.0].opened = self.flow;
        self.workers[worker].conns.insert(conn, id);
        let database = crate::plan::database_at(*port);
        let most = self.most_servers(worker, database);
        self.oracle.spans.opened(id, database, most, self.flow);
        self.tell(|_| format!("worker {worker}: connects wire {} to port {port}", id.0));
        let delay = self.wires[id.0].latency * 2;
        if self.mood == Mood::Silent && self.random.chance(300) {
            return;
        }
        self.after(delay, Event::Connected(id));
    }

    /// A new wire, as fast and as roomy as chance will have it.
    pub(crate) fn new_wire(&mut self, far: Far, place: Place) -> WireId {
        let latency = self.random.range(1, self.plan.net.latency_max);
        self.wires.push(Wire::new(far, place, self.plan.net.room, latency));
        WireId(self.wires.len() - 1)
    }

    /// A connection that a client has opened to a worker.
    pub(crate) fn accept(&mut self, far: Far) -> Option<WireId> {
        let worker = self.random.below(self.workers.len() as u64) as usize;
        if self.workers[worker].exited {
            return None;
        }
        let peer = engine::Peer::Unix { pid: 1, uid: 1, port: 6432 };
        let now = self.now();
        let conn = self.workers[worker].engine.accepted(peer, now);
        let id = self.new_wire(far, Place::At(worker, conn));
        self.workers[worker].conns.insert(conn, id);
        self.obey(worker, &[]);
        Some(id)
    }

    fn write(&mut self, worker: usize, conn: ConnId, chunk: &[u8]) {
        let Some(&id) = self.workers[worker].conns.get(&conn) else { return };
        loop {
            let wire = &mut self.wires[id.0];
            if wire.down.blocked || matches!(wire.place, Place::Opening(..)) {
                return;
            }
            let mut parts: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
            let count = self.workers[worker].engine.gather(conn, chunk, &mut parts);
            let total: usize = parts[..count].iter().map(|part| part.len()).sum();
            if total == 0 {
                wire.behind_since = None;
                return;
            }
            if wire.far == Far::Nobody {
                let delay = wire.latency;
                wire.down.blocked = true;
                return self.after(delay, Event::Broken(id));
            }
            let room = wire.down.room().min(total);
            let cut = room > 0 && self.random.chance(self.plan.net.short);
            let most = if cut { self.random.range(0, room as u64) as usize } else { room };
            let mut left = most;
            let mut tokens = Vec::new();
            for part in &parts[..count] {
                let step = part.len().min(left);
                left -= step;
                wire.down.push(&part[..step]);
                if wire.port.is_some() {
                    wire.tokens.scan(&part[..step], &mut tokens);
                }
            }
            wire.touched = self.flow;
            wire.own_words = tokens.is_empty();
            if most < total {
                wire.down.blocked = true;
                wire.behind_since.get_or_insert(self.flow);
                self.tally.short_writes += 1;
            }
            let (latency, waits_for_room) = (wire.latency, most == room && room < total);
            if most > 0 {
                let now = self.now();
                self.tell(|_| {
                    format!("worker {worker}: writes {most} of {total} to wire {}", id.0)
                });
                self.workers[worker].engine.sent(conn, most, now);
                self.written(id, worker, &tokens);
                self.arrival(id, latency);
            }
            if most < total {
                if !waits_for_room {
                    let delay = self.random.range(1, 2_000);
                    self.after(delay, Event::Writable(id));
                }
                return;
            }
        }
    }

    fn want(&mut self, worker: usize, conn: ConnId, on: bool) {
        let Some(&id) = self.workers[worker].conns.get(&conn) else { return };
        self.tally.reads_stopped += u64::from(!on);
        self.wires[id.0].reading = on;
        self.wires[id.0].touched = self.flow;
        if on {
            self.readable(id, 0);
        }
    }

    fn close(&mut self, worker: usize, conn: ConnId, chunk: &[u8]) {
        let farewell = self.workers[worker].engine.farewell(conn, chunk);
        // A connection that was refused has no wire any more.
        let Some(id) = self.workers[worker].conns.remove(&conn) else { return };
        self.tell(|_| {
            format!("worker {worker}: closes wire {}, {} bytes left", id.0, farewell.bytes.len())
        });
        self.note_close(id);
        self.note_parting(id);
        let wire = &mut self.wires[id.0];
        wire.place = Place::Gone;
        wire.down.push(&farewell.bytes);
        wire.down.close();
        let latency = wire.latency;
        if wire.port.is_some() {
            self.oracle.spans.closed(id, self.flow);
        }
        self.arrival(id, latency);
    }

    fn ask(&mut self, worker: usize, ticket: Ticket, question: &Question) {
        let Question::Derive { password, salt, iterations } = question;
        let keys = Answer::Keys(derive(password, salt, *iterations));
        let delay = self.random.range(100, 5_000);
        self.after(delay, Event::Answer(worker, ticket, Box::new(keys)));
    }

    /// The thread ends, and the kernel closes what it had.
    fn exit(&mut self, worker: usize) {
        self.tell(|_| format!("worker {worker}: exits"));
        self.workers[worker].exited = true;
        let out = self.workers[worker].engine.blocks_out();
        if out > 0 {
            self.oracle.fail(format!("worker {worker} exits with {out} blocks of bytes"));
        }
        for (_, wire) in std::mem::take(&mut self.workers[worker].conns) {
            self.abandon(wire);
        }
        for from in 0..self.workers[worker].mail.len() {
            while let Some(letter) = self.workers[worker].mail[from].pop_front() {
                if let Letter::Parcel(_, wire) = letter {
                    self.workers[worker].lost_parcels += 1;
                    self.abandon(wire);
                }
            }
        }
    }

    pub(super) fn abandon(&mut self, id: WireId) {
        self.wires[id.0].place = Place::Gone;
        self.wires[id.0].down.close();
        self.oracle.spans.closed(id, self.flow);
        self.arrival(id, 10);
    }
}
