//! One thread: its sockets, its engine, and the loop between them.
//!
//! ```text
//! wait ──► events: bytes to the engine ──► obey its commands ──► reclaim
//!   ▲      turns of those that have more to read, mail, tick ──► obey
//!   └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! Decides nothing: what happens is told to the engine, and what it answers is carried out at once
//! and in order. Knows of other workers only their mailboxes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use engine::{Command, ConnId, Engine, Kind, Local, Mail, Order, Refused, Ticket, Time, WorkerId};

use crate::accept::Acceptors;
use crate::conn::{Conns, Family, Input, Output, Stage};
use crate::dial::Dial;
use crate::helpers::Helpers;
use crate::linger::Lingering;
use crate::listen::Listener;
use crate::names::Names;
use crate::post::{Letter, Post};
use crate::reactor::{Events, Interest, Reactor, Ready, Token};
use crate::tcp::Tcp;

mod opening;
mod transfer;

/// One worker.
pub(crate) struct Worker {
    id: WorkerId,
    engine: Engine,
    reactor: Reactor,
    conns: Conns,
    /// Connections that have more to read than one turn allows.
    turns: VecDeque<ConnId>,
    acceptors: Acceptors,
    dials: Dials,
    lingering: Lingering,
    reach: Reach,
    time: Clock,
    /// The time of this turn; the clock is read once in each.
    now: Time,
    life: Life,
}

/// What a worker reaches beyond its own sockets.
#[derive(Clone)]
pub(crate) struct Reach {
    /// The mailboxes of all workers.
    pub(crate) post: Arc<Post>,
    /// Threads for slow work.
    pub(crate) helpers: Arc<Helpers>,
    /// Threads that look up host names.
    pub(crate) names: Names,
    /// The main thread.
    pub(crate) notices: Sender<Notice>,
}

/// What the main thread is told.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A signal has come.
    Signal(i32),
    /// An engine asks for something that concerns all workers.
    Order(WorkerId, Ticket, Order),
    /// A line of statistics that covers all workers.
    Status(String),
    /// A worker has nothing left to do.
    Ended,
}

/// Measures the time since the process started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

/// Connections that are being opened, and what has come of some.
struct Dials {
    dials: Vec<Dial>,
    /// To be begun again at this time: there was nothing to open a socket with.
    later: VecDeque<(Time, Later)>,
    /// Until then the log need not hear of that again.
    told_until: Time,
    outcomes: Vec<(ConnId, Result<Local, Refused>)>,
    tcp: Tcp,
}

/// What waits to be opened.
enum Later {
    Unix(ConnId, String),
    Tcp(Dial),
}

#[derive(Debug, PartialEq, Eq)]
enum Life {
    Working,
    Leaving,
}

impl Worker {
    /// Sets up a worker around its engine.
    ///
    /// # Errors
    /// When the kernel grants no epoll descriptor.
    pub(crate) fn new(
        id: WorkerId,
        engine: Engine,
        listeners: &[Arc<Listener>],
        tcp: Tcp,
        reach: (Reach, Clock),
    ) -> rustix::io::Result<Self> {
        let (reach, time) = reach;
        let reactor = Reactor::new()?;
        reactor.add(reach.post.mailbox(id).bell(), Token::Bell, Interest::Read)?;
        Ok(Self {
            id,
            engine,
            acceptors: Acceptors::new(listeners, &reactor)?,
            reactor,
            conns: Conns::default(),
            turns: VecDeque::new(),
            dials: Dials::new(tcp),
            lingering: Lingering::default(),
            reach,
            now: time.now(),
            time,
            life: Life::Working,
        })
    }

    /// Works until the engine says that nothing is left to do.
    pub(crate) fn run(mut self) {
        let mut events = Events::new();
        let mut buffer = vec![0; BUFFER].into_boxed_slice();
        let mut letters = Vec::new();
        let mut turn = 0;
        while self.life == Life::Working {
            self.wait(&mut events);
            self.now = self.time.now();
            turn += 1;
            for ready in events.iter() {
                self.hear(ready, turn, &mut buffer);
            }
            self.take_turns(&mut buffer);
            self.read_mail(&mut letters);
            self.engine.tick(self.now);
            self.obey(&[]);
            self.dial_again();
            self.report_dials();
            self.lingering.expire(self.now);
            self.acceptors.resume(&self.reactor, self.now);
        }
        self.leave(&mut events);
    }

    fn wait(&mut self, events: &mut Events) {
        let mailbox = self.reach.post.mailbox(self.id);
        let may_sleep = self.turns.is_empty() && mailbox.may_sleep();
        let later = self.dials.later.front().map_or(Time::NEVER, |(at, _)| *at);
        let rests = self.lingering.deadline().min(self.acceptors.deadline()).min(later);
        let until = self.engine.next_tick().min(rests);
        let timeout = match until {
            _ if !may_sleep => Some(Duration::ZERO),
            Time::NEVER => None,
            until => Some(Duration::from_micros(until.since(self.now))),
        };
        let waited = self.reactor.wait(events, timeout);
        mailbox.wake();
        if let Err(error) = waited {
            panic!("waiting for sockets has failed: {error}");
        }
    }

    fn hear(&mut self, ready: Ready, turn: u64, buffer: &mut [u8]) {
        match ready.token {
            Token::Conn(conn) => self.hear_conn(conn, ready, buffer),
            Token::Listener(number) => self.accept(number, turn),
            Token::Lingering(number) => self.lingering.ready(number),
            // The mailbox is looked at in every turn.
            Token::Bell => {}
        }
    }

    fn hear_conn(&mut self, name: ConnId, ready: Ready, buffer: &mut [u8]) {
        let Some(conn) = self.conns.find(name) else { return };
        match conn.input {
            Input::Ended => {}
            _ if ready.ended => conn.input = Input::Ending,
            Input::Quiet if ready.readable => conn.input = Input::Waiting,
            _ => {}
        }
        if conn.stage == Stage::Opening {
            if ready.writable || ready.gone {
                self.finish_dial(name);
            }
            return;
        }
        let has_room = ready.writable && conn.output == Output::Full;
        let may_read = conn.may_read() && !conn.queued;
        if has_room {
            self.write_on(name);
        }
        if may_read {
            self.receive(name, buffer);
        }
        if ready.ended || ready.gone {
            self.hear_end(name, ready);
        }
    }

    /// The peer is done: where nobody reads on to the end, it is told here, because no edge will
    /// tell of it again.
    fn hear_end(&mut self, name: ConnId, ready: Ready) {
        let Some(conn) = self.conns.find(name).filter(|conn| !conn.may_read()) else { return };
        let is_client = name.kind() == Kind::Client;
        if ready.gone && (conn.input == Input::Ended || is_client) {
            self.lose(name, rustix::io::Errno::CONNRESET);
            return self.obey(&[]);
        }
        self.tell_end(name);
    }

    /// Tells of a client that is done while nobody reads on to its end.
    fn tell_end(&mut self, name: ConnId) {
        if name.kind() == Kind::Client
            && self.conns.find(name).is_some_and(|conn| conn.ends_unread())
        {
            self.engine.hung_up(name, self.now);
            self.obey(&[]);
        }
    }

    /// Reads from those that had more to read than one turn allows.
    fn take_turns(&mut self, buffer: &mut [u8]) {
        for _ in 0..self.turns.len() {
            let Some(name) = self.turns.pop_front() else { break };
            if let Some(conn) = self.conns.find(name) {
                conn.queued = false;
                self.receive(name, buffer);
            }
        }
    }

    fn read_mail(&mut self, letters: &mut Vec<Letter>) {
        self.reach.post.mailbox(self.id).take(letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Mail(mail) => {
                    if let Mail::Setup(setup) = &mail {
                        self.dials.tcp = Tcp::new(&setup.config.pgbouncer);
                    }
                    self.engine.mail(mail, self.now);
                }
                Letter::Parcel(parcel, socket, family) => {
                    let name = self.engine.arrived(parcel, self.now);
                    self.register(name, socket, family);
                }
                Letter::Answer(ticket, answer) => self.engine.answered(ticket, answer, self.now),
                Letter::Resolved(name, result) => self.resolved(name, result),
                Letter::CloseListeners => self.acceptors.close(Family::Tcp, &self.reactor),
            }
            self.obey(&[]);
        }
    }

    /// Carries out what the engine wants; `chunk` is what was just received.
    fn obey(&mut self, chunk: &[u8]) {
        while let Some(command) = self.engine.next_command() {
            match command {
                Command::Write { conn } => self.write(conn, chunk),
                Command::Read { conn, on } => self.want(conn, on),
                Command::Close { conn } => self.close(conn, chunk),
                Command::Connect { conn, to } => self.connect(conn, to),
                Command::Ship { conn, to, parcel } => self.ship(conn, to, parcel),
                Command::Post { to, mail } => self.reach.post.send(to, Letter::Mail(mail)),
                Command::Ask { ticket, question } => {
                    self.reach.helpers.ask(self.id, ticket, question);
                }
                Command::Order { ticket, order } => {
                    self.notify(Notice::Order(self.id, ticket, order));
                }
                Command::Status { line } => self.notify(Notice::Status(line)),
                Command::Exit => self.life = Life::Leaving,
            }
        }
    }

    fn want(&mut self, name: ConnId, on: bool) {
        if let Some(conn) = self.conns.find(name) {
            conn.wanted = on;
            self.queue(name);
        }
    }

    /// Gives a connection that may be read from, or whose end is to be told, a turn after the
    /// others.
    fn queue(&mut self, name: ConnId) {
        if let Some(conn) = self.conns.find(name)
            && (conn.may_read() || conn.ends_unread())
            && !conn.queued
        {
            conn.queued = true;
            self.turns.push_back(name);
        }
    }

    fn notify(&self, notice: Notice) {
        // Fails only when the main thread is ending the process.
        let _ = self.reach.notices.send(notice);
    }

    /// Gives the last messages a moment to arrive, then ends.
    fn leave(mut self, events: &mut Events) {
        for family in [Family::Tcp, Family::Unix] {
            self.acceptors.close(family, &self.reactor);
        }
        self.lingering.hurry(self.now, LEAVE);
        while !self.lingering.is_empty() {
            let left = self.lingering.deadline().since(self.now);
            if self.reactor.wait(events, Some(Duration::from_micros(left))).is_err() {
                break;
            }
            for ready in events.iter() {
                if let Token::Lingering(number) = ready.token {
                    self.lingering.ready(number);
                }
            }
            self.now = self.time.now();
            self.lingering.expire(self.now);
        }
        self.notify(Notice::Ended);
    }
}

impl Dials {
    fn new(tcp: Tcp) -> Self {
        Self {
            dials: Vec::new(),
            later: VecDeque::new(),
            told_until: Time::ZERO,
            outcomes: Vec::new(),
            tcp,
        }
    }
}

impl Clock {
    /// Starts at [`Time::ZERO`].
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub(crate) fn now(self) -> Time {
        Time(u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}

/// The size of the one buffer that a worker receives into, in bytes.
const BUFFER: usize = 16 * 1024;
/// How long a worker waits at its end for peers to take their last message, in microseconds.
const LEAVE: u64 = 500_000;
