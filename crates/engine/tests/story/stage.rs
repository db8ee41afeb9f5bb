//! Where stories are played: engines, the ends of their connections, a clock that stands still.
//!
//! ```text
//! input ──► the inbox of a connection ──► engine ──► commands ──► events, what the peers hear
//!                                           ▲  └──► mail, slow questions ──┐
//!                                           └──────────────────────────────┘
//! ```
//!
//! Does what the program's workers do, in their order, until nothing moves any more. With dice,
//! bytes come and leave in pieces of any length, and everything that may happen in any order does.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use engine::{
    Address, Answer, Command, ConnId, Engine, Init, Kind, Ledger, Local, Mail, PARTS_MAX, Parcel,
    Peer, Question, Refused, Setup, Ticket, Time, WorkerId,
};

use super::dice::Dice;
use super::ear::{Ear, Side, derive};
use super::journal;

/// The most that is received at once, as in the program.
const CHUNK: usize = 16 * 1024;

/// What the pooler did, as far as somebody outside can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Connect { name: String, to: String },
    Says { name: String, messages: Vec<String> },
    Close { name: String, reason: String },
    Reading { name: String, on: bool },
    Post { from: u8, to: u8, kind: String },
    Ship { name: String, to: u8 },
    Exit { worker: u8 },
    Ask { worker: u8, question: String },
}

/// What reaches a connection from its peer.
enum Input {
    Bytes(Vec<u8>),
    End,
    Broken(String),
}

/// The peer's end of a connection of the pooler.
pub(crate) struct Conn {
    pub(crate) ear: Ear,
    /// Everything that the pooler has written.
    pub(crate) heard: Vec<u8>,
    /// Bytes of a message that the peer has begun and not finished.
    pub(crate) unsaid: Vec<u8>,
    pub(crate) open: bool,
    /// Asked for by the pooler, and not there yet.
    awaited: bool,
    worker: u8,
    id: ConnId,
    inbox: VecDeque<Input>,
    reading: bool,
    /// How many more bytes the peer takes; `None` for all.
    window: Option<usize>,
    /// The last write could not write everything.
    full: bool,
}

enum Letter {
    Mail(Mail),
    Parcel(Parcel, String),
}

pub(crate) struct Stage {
    pub(crate) conns: BTreeMap<String, Conn>,
    pub(crate) events: Vec<Event>,
    pub(crate) now: Time,
    /// Mail is held back until the story lets it go.
    pub(crate) mail_held: bool,
    /// So are the answers to slow questions.
    pub(crate) answers_held: bool,
    engines: Vec<Engine>,
    ended: Vec<bool>,
    ledger: Arc<Ledger>,
    names: HashMap<(u8, ConnId), String>,
    mail: VecDeque<(u8, Letter)>,
    questions: VecDeque<(u8, Ticket, Question)>,
    servers: usize,
    dice: Option<Dice>,
}

impl Stage {
    pub(crate) fn new(setup: &Arc<Setup>, workers: u8, dice: Option<Dice>) -> Self {
        journal::open();
        let ledger = Arc::new(Ledger::new(workers));
        let engine = |worker| {
            Engine::new(Init {
                worker: WorkerId(worker),
                workers,
                ledger: Arc::clone(&ledger),
                setup: Arc::clone(setup),
                entropy: [worker; 32],
                process_secret: [7; 32],
                wall: 0,
                now: Time::ZERO,
            })
        };
        Self {
            conns: BTreeMap::new(),
            events: Vec::new(),
            now: Time::ZERO,
            mail_held: false,
            answers_held: false,
            engines: (0..workers).map(engine).collect(),
            ended: vec![false; workers.into()],
            ledger: Arc::clone(&ledger),
            names: HashMap::new(),
            mail: VecDeque::new(),
            questions: VecDeque::new(),
            servers: 0,
            dice,
        }
    }

    /// Somebody connects to a worker.
    pub(crate) fn accept(&mut self, name: &str, worker: u8) {
        let address = |text: &str| text.parse().unwrap();
        let peer = Peer::Tcp { from: address("10.0.0.9:5000"), at: address("10.0.0.1:6432") };
        let now = self.now;
        let id = self.engine(worker).accepted(peer, now);
        self.add(name.to_owned(), worker, id, Side::Client);
        self.obey(worker, &[]);
    }

    /// A connection that the pooler wanted is there, or not.
    pub(crate) fn connected(&mut self, name: &str, result: Result<(), String>) {
        let conn = self.conns.get_mut(name).expect("the pooler has asked for it");
        (conn.reading, conn.awaited) = (true, false);
        let (worker, id) = (conn.worker, conn.id);
        let result = result.map(|()| Local { tcp: None }).map_err(Refused);
        let now = self.now;
        self.engine(worker).connected(id, result, now);
        self.obey(worker, &[]);
    }

    /// The peer says something.
    pub(crate) fn say(&mut self, name: &str, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.conn(name).inbox.push_back(Input::Bytes(bytes));
    }

    /// The peer closes.
    pub(crate) fn end(&mut self, name: &str) {
        self.conn(name).inbox.push_back(Input::End);
    }

    /// The connection breaks; what is not read by then is lost.
    pub(crate) fn reset(&mut self, name: &str, why: &str) {
        let conn = self.conn(name);
        conn.inbox.retain(|_| conn.reading);
        conn.inbox.push_back(Input::Broken(why.to_owned()));
    }

    /// The peer takes so many more bytes, `None` for all; zero more also means "no more".
    pub(crate) fn open_window(&mut self, name: &str, bytes: Option<usize>) {
        let conn = self.conn(name);
        conn.window = bytes.map(|more| conn.window.unwrap_or(0) + more);
    }

    /// The program sends mail to every worker.
    pub(crate) fn post(&mut self, mail: &Mail) {
        for worker in 0..self.engines.len() as u8 {
            let now = self.now;
            if !self.ended[usize::from(worker)] {
                self.engine(worker).mail(mail.clone(), now);
                self.obey(worker, &[]);
            }
        }
    }

    /// Lets the clock go on by so many microseconds.
    pub(crate) fn wait(&mut self, micros: u64) {
        let until = self.now + micros;
        self.settle();
        for round in 0.. {
            assert!(round < 1_000_000, "the engine always wants another tick");
            let engines = self.engines.iter().zip(&self.ended).filter(|(_, ended)| !**ended);
            let next = engines.map(|(engine, _)| engine.next_tick()).min();
            match next {
                Some(next) if next <= until => self.now = self.now.max(next),
                _ => break,
            }
            self.settle();
        }
        self.now = until;
        self.settle();
    }

    /// Lets everything happen that can happen now.
    pub(crate) fn settle(&mut self) {
        while self.step() {}
        for worker in 0..self.engines.len() as u8 {
            let now = self.now;
            if !self.ended[usize::from(worker)] {
                self.engine(worker).tick(now);
                self.obey(worker, &[]);
            }
        }
        while self.step() {}
    }

    /// Lets a few things happen; false when nothing can.
    pub(crate) fn nudge(&mut self, steps: usize) -> bool {
        (0..steps).filter(|_| self.step()).count() > 0
    }

    /// Ends every connection and checks that nothing is left.
    pub(crate) fn sweep(&mut self) {
        (self.mail_held, self.answers_held) = (false, false);
        self.settle();
        while let Some(name) = self.next_to_sweep() {
            let conn = self.conn(&name);
            conn.window = None;
            if conn.awaited {
                self.connected(&name, Err("swept".into()));
            } else {
                conn.reading = true;
                conn.inbox.clear();
                self.reset(&name, "swept");
            }
            self.settle();
        }
        assert_eq!(self.ledger.clients(), 0, "clients are left in the ledger");
        if self.ended.contains(&true) {
            return;
        }
        assert_eq!(self.ledger.servers(), 0, "servers are left in the ledger");
        for engine in &self.engines {
            assert_eq!(engine.blocks_out(), 0, "blocks are not back on the shelf");
        }
    }

    fn next_to_sweep(&self) -> Option<String> {
        let open = || self.conns.iter().filter(|(_, conn)| conn.open);
        let clients = open().find(|(_, conn)| conn.ear_is_client());
        clients.or_else(|| open().next()).map(|(name, _)| name.clone())
    }

    /// Does one of the things that can happen; false when there is none.
    fn step(&mut self) -> bool {
        let ready = |conn: &Conn| match conn.inbox.front() {
            // A reset is noticed without reading.
            Some(Input::Broken(_)) => conn.open,
            Some(_) => conn.open && conn.reading,
            None => false,
        };
        let writable = |conn: &Conn| conn.open && conn.full && conn.window != Some(0);
        let mut able: Vec<Option<String>> = self
            .conns
            .iter()
            .filter(|(_, conn)| ready(conn) || writable(conn))
            .map(|(name, _)| Some(name.clone()))
            .collect();
        let answers = !self.answers_held && !self.questions.is_empty();
        if !self.mail.is_empty() && !self.mail_held || answers {
            able.push(None);
        }
        if able.is_empty() {
            return false;
        }
        let at = self.dice.as_mut().map_or(0, |dice| dice.below(able.len()));
        match able.swap_remove(at) {
            None => self.carry(),
            Some(name) if writable(&self.conns[&name]) => self.write_on(&name),
            Some(name) => self.deliver(&name),
        }
        true
    }

    /// Carries a letter or the answer to a question.
    fn carry(&mut self) {
        let now = self.now;
        let held = self.answers_held;
        if let Some((worker, ticket, question)) = self.questions.pop_front_if(|_| !held) {
            let Question::Derive { password, salt, iterations } = question;
            let keys = derive(&password, &salt, iterations);
            self.engine(worker).answered(ticket, Answer::Keys(keys), now);
            return self.obey(worker, &[]);
        }
        let Some((worker, letter)) = self.mail.pop_front() else { return };
        match letter {
            Letter::Mail(mail) => self.engine(worker).mail(mail, now),
            Letter::Parcel(parcel, name) => {
                let id = self.engine(worker).arrived(parcel, now);
                self.names.insert((worker, id), name.clone());
                let conn = self.conn(&name);
                (conn.worker, conn.id, conn.reading) = (worker, id, true);
            }
        }
        self.obey(worker, &[]);
    }

    /// Gives a connection the next of what has come for it.
    fn deliver(&mut self, name: &str) {
        let now = self.now;
        let conn = self.conns.get_mut(name).unwrap();
        let (worker, id) = (conn.worker, conn.id);
        let engine = &mut self.engines[usize::from(worker)];
        match conn.inbox.pop_front().unwrap() {
            Input::End => engine.received(id, &[], now),
            Input::Broken(why) => engine.broken(id, &why, now),
            Input::Bytes(mut bytes) => {
                let len = bytes.len().min(CHUNK);
                let len = self.dice.as_mut().map_or(len, |dice| dice.piece(len));
                if len < bytes.len() {
                    conn.inbox.push_front(Input::Bytes(bytes.split_off(len)));
                }
                engine.received(id, &bytes, now);
                self.obey(worker, &bytes);
                self.engine(worker).reclaim(&bytes, now);
            }
        }
        self.obey(worker, &[]);
    }

    fn write_on(&mut self, name: &str) {
        let conn = self.conn(name);
        conn.full = false;
        let (worker, id) = (conn.worker, conn.id);
        self.write(worker, id, &[]);
        self.obey(worker, &[]);
    }

    /// Carries out what an engine wants.
    fn obey(&mut self, worker: u8, chunk: &[u8]) {
        while let Some(command) = self.engine(worker).next_command() {
            match command {
                Command::Connect { conn, to } => {
                    self.servers += 1;
                    let name = format!("S{}", self.servers);
                    let to = match to {
                        Address::Tcp { host, port } => format!("{host}:{port}"),
                        Address::Unix { path } => path,
                    };
                    self.events.push(Event::Connect { name: name.clone(), to });
                    self.add(name.clone(), worker, conn, Side::Server);
                    (self.conn(&name).reading, self.conn(&name).awaited) = (false, true);
                }
                Command::Write { conn } => self.write(worker, conn, chunk),
                Command::Read { conn, on } => {
                    let Some(name) = self.names.get(&(worker, conn)).cloned() else { continue };
                    self.conn(&name).reading = on;
                    self.events.push(Event::Reading { name, on });
                }
                Command::Close { conn } => self.close(worker, conn, chunk),
                Command::Ask { ticket, question } => {
                    self.events.push(Event::Ask { worker, question: format!("{question:?}") });
                    self.questions.push_back((worker, ticket, question));
                }
                Command::Post { to, mail } => {
                    let kind = format!("{mail:?}");
                    let kind = kind.split('(').next().unwrap_or_default().to_owned();
                    self.events.push(Event::Post { from: worker, to: to.0, kind });
                    self.mail.push_back((to.0, Letter::Mail(mail)));
                }
                Command::Ship { conn, to, parcel } => {
                    let name = self.names.remove(&(worker, conn)).expect("a known connection");
                    (self.conn(&name).reading, self.conn(&name).full) = (false, false);
                    self.events.push(Event::Ship { name: name.clone(), to: to.0 });
                    self.mail.push_back((to.0, Letter::Parcel(parcel, name)));
                }
                Command::Order { order, .. } => panic!("no story orders anything yet: {order:?}"),
                Command::Status { .. } => {}
                Command::Exit => {
                    self.ended[usize::from(worker)] = true;
                    self.events.push(Event::Exit { worker });
                }
            }
        }
    }

    /// Writes what waits for a connection, as far as its peer takes it.
    fn write(&mut self, worker: u8, id: ConnId, chunk: &[u8]) {
        let Some(name) = self.names.get(&(worker, id)) else { return };
        let conn = self.conns.get_mut(name).unwrap();
        let engine = &mut self.engines[usize::from(worker)];
        while !conn.full {
            let mut parts = [&[][..]; PARTS_MAX];
            let count = engine.gather(id, chunk, &mut parts);
            let bytes = parts[..count].concat();
            if bytes.is_empty() {
                return;
            }
            let mut len = bytes.len().min(conn.window.unwrap_or(usize::MAX));
            if let (Some(dice), true) = (&mut self.dice, len > 0) {
                len = if dice.once_in(3) { 0 } else { dice.piece(len) };
            }
            conn.full = len < bytes.len();
            if len > 0 {
                conn.window = conn.window.map(|window| window - len);
                hear(&mut self.events, name, conn, &bytes[..len]);
                engine.sent(id, len, self.now);
            }
        }
    }

    fn close(&mut self, worker: u8, id: ConnId, chunk: &[u8]) {
        // The log names a connection with its worker, counted from 1, in front.
        let now_bits = (u64::from(worker) + 1) << 48 | id.to_bits();
        let farewell = self.engine(worker).farewell(id, chunk);
        let name = self.names.remove(&(worker, id)).expect("a known connection");
        let conn = self.conns.get_mut(&name).unwrap();
        hear(&mut self.events, &name, conn, &farewell.bytes);
        conn.open = false;
        conn.inbox.clear();
        let reason = journal::closing(now_bits).unwrap_or_default();
        self.events.push(Event::Close { name, reason });
    }

    fn add(&mut self, name: String, worker: u8, id: ConnId, side: Side) {
        debug_assert_eq!(id.kind() == Kind::Client, side == Side::Client);
        self.names.insert((worker, id), name.clone());
        let conn = Conn {
            ear: Ear::new(side),
            heard: Vec::new(),
            unsaid: Vec::new(),
            open: true,
            awaited: false,
            worker,
            id,
            inbox: VecDeque::new(),
            reading: true,
            window: None,
            full: false,
        };
        self.conns.insert(name, conn);
    }

    pub(crate) fn conn(&mut self, name: &str) -> &mut Conn {
        self.conns.get_mut(name).unwrap_or_else(|| panic!("nobody is called {name}"))
    }

    fn engine(&mut self, worker: u8) -> &mut Engine {
        &mut self.engines[usize::from(worker)]
    }
}

impl Conn {
    fn ear_is_client(&self) -> bool {
        self.id.kind() == Kind::Client
    }
}

/// The peer hears bytes; what it hears in one go is one event.
fn hear(events: &mut Vec<Event>, name: &str, conn: &mut Conn, bytes: &[u8]) {
    conn.heard.extend_from_slice(bytes);
    let said = conn.ear.hear(bytes);
    match events.last_mut() {
        _ if said.is_empty() => {}
        Some(Event::Says { name: last, messages }) if last == name => messages.extend(said),
        _ => events.push(Event::Says { name: name.to_owned(), messages: said }),
    }
}
