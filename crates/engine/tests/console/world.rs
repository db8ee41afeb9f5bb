//! A world for engines: clients that the test speaks for, servers that answer by themselves, mail
//! that is carried, and a clock that the test moves.
//!
//!     test ──► client's bytes ──► engine ──► server's bytes ──► a made-up PostgreSQL ──► engine
//!
//! Everything that can happen happens before a call returns, unless the test holds it back: a
//! server that hangs, a connect that is not answered, a client that takes no bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::{
    Act, Answer, Command, ConnId, Engine, Init, Ledger, Local, Mail, Order, PARTS_MAX, Peer,
    Question, Rest, Setup, Ticket, Time, WorkerId,
};
use wire::{TransactionStatus, startup::Packet, write};

/// The user id of the process.
pub(crate) const UID: u32 = 1000;
/// 2001-09-09 01:46:40 UTC.
pub(crate) const WALL: u64 = 1_000_000_000_000_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// One connection, whichever worker it lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plug(usize);

struct Conn {
    worker: u8,
    id: ConnId,
    /// What the engine has sent and nobody has looked at.
    inbox: Vec<u8>,
    is_open: bool,
    reading: bool,
    /// It takes no bytes.
    is_blocked: bool,
    /// A server's own state.
    backend: Backend,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backend {
    /// Not a server.
    None,
    Connecting,
    Startup,
    Ready(TransactionStatus),
}

enum Letter {
    Mail(Mail),
    Answer(Ticket, Answer),
}

pub(crate) struct World {
    pub(crate) now: Time,
    engines: Vec<Engine>,
    conns: Vec<Conn>,
    plugs: BTreeMap<(u8, ConnId), Plug>,
    mail: VecDeque<(u8, Letter)>,
    /// What the program takes the pooler to be at.
    rest: Rest,
    /// Mail stays where it is.
    pub(crate) holds_mail: bool,
    /// What servers say that they are.
    pub(crate) version: &'static str,
    /// Connects are not answered.
    pub(crate) holds_connects: bool,
    /// Orders to the program that the test carries out, not the world.
    pub(crate) orders: Vec<(u8, Ticket, Order)>,
    /// What a supervisor was told.
    pub(crate) statuses: Vec<String>,
    /// Cancel requests that servers have got: process id and secret.
    pub(crate) cancels: Vec<(u32, Vec<u8>)>,
}

impl World {
    pub(crate) fn new(workers: u8, ini: &str, userlist: &str) -> Self {
        let setup = setup(ini, userlist);
        let ledger = Arc::new(Ledger::new(workers));
        let engines = (0..workers).map(|worker| {
            Engine::new(Init {
                worker: WorkerId(worker),
                workers,
                ledger: Arc::clone(&ledger),
                setup: Arc::clone(&setup),
                entropy: [worker; 32],
                process_secret: [9; 32],
                wall: WALL,
                now: Time::ZERO,
            })
        });
        Self {
            now: Time::ZERO,
            engines: engines.collect(),
            conns: Vec::new(),
            plugs: BTreeMap::new(),
            mail: VecDeque::new(),
            rest: Rest::Working,
            holds_mail: false,
            version: "18.1",
            holds_connects: false,
            orders: Vec::new(),
            statuses: Vec::new(),
            cancels: Vec::new(),
        }
    }

    /// Somebody connects to a worker.
    pub(crate) fn accept(&mut self, worker: u8, peer: Peer) -> Plug {
        let id = self.engines[usize::from(worker)].accepted(peer, self.now);
        let plug = self.plug(worker, id, Backend::None);
        self.settle(worker, &[]);
        plug
    }

    /// A peer says something.
    pub(crate) fn say(&mut self, plug: Plug, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        self.bytes(plug, bytes);
    }

    /// A peer closes.
    pub(crate) fn hang_up(&mut self, plug: Plug) {
        self.bytes(plug, &[]);
    }

    /// Everything that the engine has sent to a peer since the last look.
    pub(crate) fn hear(&mut self, plug: Plug) -> Vec<u8> {
        std::mem::take(&mut self.conns[plug.0].inbox)
    }

    pub(crate) fn is_open(&self, plug: Plug) -> bool {
        self.conns[plug.0].is_open
    }

    pub(crate) fn is_read(&self, plug: Plug) -> bool {
        self.conns[plug.0].reading
    }

    /// The worker that a connection lives on.
    pub(crate) fn worker(&self, plug: Plug) -> u8 {
        self.conns[plug.0].worker
    }

    pub(crate) fn name(&self, plug: Plug) -> ConnId {
        self.conns[plug.0].id
    }

    /// The open connections to servers, in the order in which they were asked for.
    pub(crate) fn servers(&self) -> Vec<Plug> {
        let is_server = |conn: &Conn| conn.is_open && conn.backend != Backend::None;
        (0..self.conns.len()).filter(|at| is_server(&self.conns[*at])).map(Plug).collect()
    }

    /// A peer takes bytes, or stops to take any.
    pub(crate) fn block(&mut self, plug: Plug, is_blocked: bool) {
        self.conns[plug.0].is_blocked = is_blocked;
        let worker = self.conns[plug.0].worker;
        self.write(plug, &[]);
        self.settle(worker, &[]);
    }

    /// A peer that takes no bytes takes so many all the same.
    pub(crate) fn take(&mut self, plug: Plug, most: usize) {
        let (worker, id) = (self.conns[plug.0].worker, self.conns[plug.0].id);
        let engine = &mut self.engines[usize::from(worker)];
        let mut parts: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
        let count = engine.gather(id, &[], &mut parts);
        let bytes: Vec<u8> = parts[..count].concat().into_iter().take(most).collect();
        engine.sent(id, bytes.len(), self.now);
        self.conns[plug.0].inbox.extend(bytes);
        self.settle(worker, &[]);
    }

    /// A server that hung answers its query.
    pub(crate) fn answer(&mut self, server: Plug) {
        let Backend::Ready(status) = self.conns[server.0].backend else { panic!("not logged in") };
        let mut out = Vec::new();
        write::command_complete(&mut out, "SELECT 1");
        write::ready_for_query(&mut out, status);
        self.bytes(server, &out);
    }

    /// A connect that was held is there.
    pub(crate) fn connect(&mut self, server: Plug) {
        let conn = &mut self.conns[server.0];
        conn.backend = Backend::Startup;
        let (worker, id) = (conn.worker, conn.id);
        let address = |port| ([10, 0, 0, 2], port).into();
        let local = Local { tcp: Some((address(5432), address(40_000 + server.0 as u16))) };
        self.engines[usize::from(worker)].connected(id, Ok(local), self.now);
        self.settle(worker, &[]);
    }

    /// The program answers an order.
    pub(crate) fn answered(&mut self, worker: u8, ticket: Ticket, answer: Answer) {
        self.engines[usize::from(worker)].answered(ticket, answer, self.now);
        self.settle(worker, &[]);
    }

    /// Mail from the program to one worker.
    pub(crate) fn post(&mut self, worker: u8, mail: Mail) {
        self.mail.push_back((worker, Letter::Mail(mail)));
        self.carry();
    }

    /// What the program does with an act: it mails it to every worker.
    pub(crate) fn announce(&mut self, act: &Act) {
        self.rest = self.rest.after(act);
        for worker in 0..self.engines.len() as u8 {
            self.mail.push_back((worker, Letter::Mail(Mail::Act(act.clone()))));
        }
    }

    /// Carries the mail of one worker only.
    pub(crate) fn carry_to(&mut self, worker: u8) {
        let (mine, others) =
            std::mem::take(&mut self.mail).into_iter().partition(|(to, _)| *to == worker);
        self.mail = mine;
        self.carry();
        self.mail = others;
    }

    /// Carries all mail.
    pub(crate) fn carry(&mut self) {
        while let Some((worker, letter)) = self.mail.pop_front() {
            let engine = &mut self.engines[usize::from(worker)];
            match letter {
                Letter::Mail(mail) => engine.mail(mail, self.now),
                Letter::Answer(ticket, answer) => engine.answered(ticket, answer, self.now),
            }
            self.obey(worker, &[]);
        }
    }

    /// Lets time pass, with a tick of every worker whenever it is due.
    pub(crate) fn wait(&mut self, micros: u64) {
        let until = self.now + micros;
        loop {
            let next = self.engines.iter().map(Engine::next_tick).min().unwrap();
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            self.tick();
        }
        self.now = until;
        self.tick();
    }

    pub(crate) fn next_tick(&self, worker: u8) -> Time {
        self.engines[usize::from(worker)].next_tick()
    }

    fn tick(&mut self) {
        for worker in 0..self.engines.len() as u8 {
            self.engines[usize::from(worker)].tick(self.now);
            self.settle(worker, &[]);
        }
    }

    fn plug(&mut self, worker: u8, id: ConnId, backend: Backend) -> Plug {
        let plug = Plug(self.conns.len());
        let (is_open, reading, is_blocked) = (true, true, false);
        let inbox = Vec::new();
        self.conns.push(Conn { worker, id, inbox, is_open, reading, is_blocked, backend });
        self.plugs.insert((worker, id), plug);
        plug
    }

    fn bytes(&mut self, plug: Plug, bytes: &[u8]) {
        let (worker, id) = (self.conns[plug.0].worker, self.conns[plug.0].id);
        assert!(self.conns[plug.0].is_open, "the engine has closed this connection");
        let engine = &mut self.engines[usize::from(worker)];
        engine.received(id, bytes, self.now);
        self.obey(worker, bytes);
        self.engines[usize::from(worker)].reclaim(bytes, self.now);
        self.settle(worker, &[]);
    }

    fn settle(&mut self, worker: u8, chunk: &[u8]) {
        self.obey(worker, chunk);
        self.serve();
        if !self.holds_mail && !self.mail.is_empty() {
            self.carry();
            self.serve();
        }
    }

    fn obey(&mut self, worker: u8, chunk: &[u8]) {
        while let Some(command) = self.engines[usize::from(worker)].next_command() {
            self.carry_out(worker, command, chunk);
        }
    }

    fn carry_out(&mut self, worker: u8, command: Command, chunk: &[u8]) {
        match command {
            Command::Connect { conn, .. } => drop(self.plug(worker, conn, Backend::Connecting)),
            Command::Write { conn } => self.write(self.plugs[&(worker, conn)], chunk),
            Command::Read { conn, on } => {
                let plug = self.plugs[&(worker, conn)];
                self.conns[plug.0].reading = on;
            }
            Command::Close { conn } => {
                let plug = self.plugs.remove(&(worker, conn)).expect("it is closed once");
                let farewell = self.engines[usize::from(worker)].farewell(conn, chunk);
                self.conns[plug.0].inbox.extend(farewell.bytes);
                self.conns[plug.0].is_open = false;
            }
            Command::Ask { ticket, question } => {
                let Question::Derive { password, salt, iterations } = question;
                let keys = auth::derive(&password, &salt, iterations);
                self.engines[usize::from(worker)].answered(ticket, Answer::Keys(keys), self.now);
            }
            Command::Post { to, mail } => self.mail.push_back((to.0, Letter::Mail(mail))),
            Command::Ship { conn, to, parcel } => {
                let plug = self.plugs.remove(&(worker, conn)).expect("it is shipped once");
                let id = self.engines[usize::from(to.0)].arrived(parcel, self.now);
                (self.conns[plug.0].worker, self.conns[plug.0].id) = (to.0, id);
                self.plugs.insert((to.0, id), plug);
                self.obey(to.0, &[]);
            }
            Command::Order { ticket, order: Order::Act(act) } => {
                self.announce(&act);
                self.mail.push_back((worker, Letter::Answer(ticket, Answer::Announced)));
            }
            Command::Order { order: Order::ConsoleEmpty, .. } => {
                if self.rest == Rest::Suspended {
                    self.announce(&Act::Resume(None));
                }
            }
            Command::Order { ticket, order } => self.orders.push((worker, ticket, order)),
            Command::Status { line } => self.statuses.push(line),
            Command::Exit => {}
        }
    }

    fn write(&mut self, plug: Plug, chunk: &[u8]) {
        while !self.conns[plug.0].is_blocked && self.conns[plug.0].is_open {
            let (worker, id) = (self.conns[plug.0].worker, self.conns[plug.0].id);
            let engine = &mut self.engines[usize::from(worker)];
            let mut parts: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
            let count = engine.gather(id, chunk, &mut parts);
            let bytes = parts[..count].concat();
            if bytes.is_empty() {
                return;
            }
            engine.sent(id, bytes.len(), self.now);
            self.conns[plug.0].inbox.extend(bytes);
        }
    }

    /// Servers do what is theirs to do.
    fn serve(&mut self) {
        while let Some(server) = self.servers().into_iter().find(|plug| self.has_work(*plug)) {
            if self.conns[server.0].backend == Backend::Connecting {
                self.connect(server);
                continue;
            }
            let heard = self.hear(server);
            let said = self.reply(server, &heard);
            if !said.is_empty() {
                self.bytes(server, &said);
            }
        }
    }

    fn has_work(&self, server: Plug) -> bool {
        let conn = &self.conns[server.0];
        !conn.inbox.is_empty() || conn.backend == Backend::Connecting && !self.holds_connects
    }

    fn reply(&mut self, server: Plug, mut heard: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.conns[server.0].backend == Backend::Startup {
            match wire::startup::packet(heard) {
                Ok(Some((Packet::Cancel(key), _))) => {
                    let (pid, secret) = key.split_at(4);
                    let pid = u32::from_be_bytes(pid.try_into().unwrap());
                    self.cancels.push((pid, secret.to_vec()));
                }
                Ok(Some((Packet::Startup(_), _))) => {
                    self.conns[server.0].backend = Backend::Ready(TransactionStatus::Idle);
                    log_in(&mut out, self.version, server.0 as u32);
                }
                packet => panic!("{packet:?}"),
            }
            return out;
        }
        while let Some(head) = wire::header(heard).unwrap() {
            let (message, rest) = heard.split_at(head.total as usize);
            if head.tag == wire::tag::frontend::QUERY {
                let text = wire::frontend::query(wire::frame::body(message)).unwrap();
                self.answer_query(server, text, &mut out);
            }
            heard = rest;
        }
        out
    }

    fn answer_query(&mut self, server: Plug, text: &[u8], out: &mut Vec<u8>) {
        let Backend::Ready(status) = &mut self.conns[server.0].backend else {
            panic!("not logged in")
        };
        match text {
            b"hang" => return,
            b"begin" => *status = TransactionStatus::Block,
            b"commit" => *status = TransactionStatus::Idle,
            _ => {}
        }
        if let Some(name) = text.strip_prefix(b"SET application_name='") {
            let name = name.strip_suffix(b"';").unwrap();
            write::parameter_status(out, b"application_name", name);
        }
        write::command_complete(out, "DONE");
        write::ready_for_query(out, *status);
    }
}

/// What a server says at login; its process id is its number.
fn log_in(out: &mut Vec<u8>, version: &str, number: u32) {
    write::authentication_ok(out);
    for (name, value) in [("server_version", version), ("application_name", "")] {
        write::parameter_status(out, name.as_bytes(), value.as_bytes());
    }
    write::backend_key_data(out, 7000 + number, &[1, 2, 3, 4]);
    write::ready_for_query(out, TransactionStatus::Idle);
}

/// What one load of these files yields.
pub(crate) fn setup(ini: &str, userlist: &str) -> Arc<Setup> {
    let config = config::load("pgweir.ini", &mut |_| Ok(ini.as_bytes().to_vec()));
    let (userlist, complaints) = auth::Userlist::parse(userlist.as_bytes());
    assert_eq!(complaints, []);
    Arc::new(Setup {
        config: config.unwrap(),
        userlist: Arc::new(userlist),
        version: "PgBouncer 1.25.2 (pgweir 0.0.0)".into(),
        host: "pool.example".into(),
        uid: UID,
    })
}
