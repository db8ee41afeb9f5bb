//! The switchboard: one method per input, and the loop that gives waiting clients their servers.
//!
//! The rooms below do not know each other. Here a client's request finds its pool, a pool's server
//! finds its client, and the end of one connection reaches whoever it concerns. Each of the files
//! beside this one holds one conversation:
//!
//! `login`: clients up to their welcome · `from_client`, `from_server`: what each side says ·
//! `assign`: seek, attach, release · `launch`, `limits`: how many servers and clients there are ·
//! `part`: how connections end · `cancel` · `post`: mail and placement · `upkeep`, `timeouts`: what
//! time does · `console`: the console's side of it.

mod assign;
mod cancel;
mod console;
mod from_client;
mod from_server;
mod launch;
mod limits;
mod login;
mod mode;
mod part;
mod post;
mod timeouts;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use auth::{Entropy, ScramKeys, Secret, Verifier};

use crate::client::{self, Client};
use crate::command::{Answer, Command, Local, PARTS_MAX, Peer, Refused, Ticket};
use crate::ids::{ConnId, Id, Kind, Slab, WorkerId};
use crate::mail::PoolKey;
use crate::params::Names;
use crate::pool::ledger::{Ledger, Membership, Slots};
use crate::pool::{Pool, PoolId};
use crate::reason::Reason;
use crate::server::{self, Server};
use crate::setup::Setup;
use crate::stream::{Reading, Shelf, Source};
use crate::time::Time;

/// What an engine is made from.
pub struct Init {
    /// The worker it belongs to.
    pub worker: WorkerId,
    /// How many workers there are.
    pub workers: u8,
    /// The limits that all workers share.
    pub ledger: Arc<Ledger>,
    /// The configuration.
    pub setup: Arc<Setup>,
    /// Fresh bytes from the kernel: the only source of keys, salts and nonces.
    pub entropy: [u8; 32],
    /// Bytes that all workers of the process share: the salts of unknown users come from them.
    pub process_secret: [u8; 32],
    /// The wall clock at [`Time::ZERO`], in microseconds since the Unix epoch.
    pub wall: u64,
    /// The present.
    pub now: Time,
}

/// One worker's clients, servers and pools.
pub struct Engine {
    me: WorkerId,
    workers: u8,
    ledger: Arc<Ledger>,
    setup: Arc<Setup>,
    /// The parameters that follow the clients.
    names: Names,
    /// Counts the configurations that have been in force.
    generation: u64,
    entropy: Entropy,
    process_secret: [u8; 32],
    wall: u64,
    clients: Slab<Client>,
    servers: Slab<Server>,
    /// How many connections have got a number here.
    numbered: u64,
    pools: Slab<Pool>,
    pool_ids: BTreeMap<PoolKey, PoolId>,
    /// The pools that could have no server because their database or user has all it may have.
    hungry: BTreeSet<PoolId>,
    /// The clients that have a cancel key, by that key.
    keys: HashMap<u64, Id<Client>>,
    keyring: HashMap<Arc<str>, Keyring>,
    checks: login::Checks,
    pending: BTreeMap<Ticket, Pending>,
    next_ticket: u64,
    commands: VecDeque<Command>,
    work: VecDeque<Work>,
    shelf: Shelf,
    /// To whom bytes were passed since the shell last wanted its buffer back.
    passed_to: Vec<ConnId>,
    /// Slots of connections whose sockets the shell is closing.
    parted: Vec<Parted>,
    mode: mode::Mode,
    upkeep: upkeep::Upkeep,
    desk: console::Desk,
    /// The time of the last input.
    now: Time,
}

/// What is known of a user beyond the userlist.
#[derive(Default)]
struct Keyring {
    /// Learnt from a client's login (SCRAM pass-through).
    learnt: Option<ScramKeys>,
    /// Derived from the plain password for what servers asked.
    derived: Option<Derived>,
    /// Derived from the plain password for clients.
    verifier: Made,
}

/// A verifier that takes a while to make.
#[derive(Default)]
enum Made {
    #[default]
    No,
    /// These clients, which have come since it was begun, wait for it.
    Underway(Vec<Id<Client>>),
    Yes(Verifier),
}

/// Keys and what they were derived from: a server that asks with another one's salt must not be
/// given a proof made with another password.
struct Derived {
    password: Vec<u8>,
    salt: Vec<u8>,
    iterations: u32,
    keys: ScramKeys,
}

impl Derived {
    fn is_of(&self, password: &[u8], salt: &[u8], iterations: u32) -> bool {
        let same = Secret::Plain(password.into()) == Secret::Plain(self.password.as_slice().into());
        same && self.salt == salt && self.iterations == iterations
    }
}

/// What an answer is for; `of` is the generation of the configuration that the password is from.
enum Pending {
    /// The verifier of a plain password, for clients, is being derived.
    ClientVerifier { user: Arc<str>, salt: Vec<u8>, iterations: u32, of: u64 },
    /// The keys of the password that a client gave are being derived.
    ClientKeys { client: Id<Client> },
    /// A server's keys are being derived.
    ServerKeys { server: Id<Server>, password: Vec<u8>, salt: Vec<u8>, iterations: u32, of: u64 },
    /// A console command waits.
    Console(console::Waiting),
}

/// Something that an input has left to be done before the engine rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Servers and waiters of this pool may have found each other.
    Serve(PoolId),
    /// What this client has said before can be heard now.
    Resume(Id<Client>),
}

/// What is given back once the socket is closed.
enum Parted {
    Client(Option<(Membership, Arc<client::Login>)>),
    Server(PoolId, Arc<Slots>),
}

impl Engine {
    /// An engine with nothing to do.
    pub fn new(init: Init) -> Self {
        let stats_period = init.setup.config.pgbouncer.stats_period;
        let names = Names::new(&init.setup.config.pgbouncer.track_extra_parameters);
        let mut engine = Self {
            me: init.worker,
            workers: init.workers,
            ledger: init.ledger,
            setup: init.setup,
            names,
            generation: 0,
            entropy: Entropy::new(init.entropy),
            process_secret: init.process_secret,
            wall: init.wall,
            clients: Slab::new(),
            servers: Slab::new(),
            numbered: 0,
            pools: Slab::new(),
            pool_ids: BTreeMap::new(),
            hungry: BTreeSet::new(),
            keys: HashMap::new(),
            keyring: HashMap::new(),
            checks: login::Checks::default(),
            pending: BTreeMap::new(),
            next_ticket: 0,
            commands: VecDeque::new(),
            work: VecDeque::new(),
            shelf: Shelf::default(),
            passed_to: Vec::new(),
            parted: Vec::new(),
            mode: mode::Mode::default(),
            upkeep: upkeep::Upkeep::new(init.now),
            desk: console::Desk::new(init.now, stats_period),
            now: init.now,
        };
        engine.found_pools(init.now);
        engine
    }

    /// Somebody has connected; the answer names the connection.
    pub fn accepted(&mut self, peer: Peer, now: Time) -> ConnId {
        self.ledger.client_opened();
        let number = self.number();
        let client = self.clients.insert(Client::new(peer, number, now));
        self.ledger.report_load(self.me, self.clients.len());
        client.into()
    }

    /// A connection that was asked for by [`Command::Connect`] is there, or cannot be had.
    pub fn connected(&mut self, conn: ConnId, result: Result<Local, Refused>, now: Time) {
        let server: Id<Server> = conn.into();
        match self.servers.find(server).map(|server| &server.stage) {
            Some(server::Stage::Connecting) => self.server_connected(server, result, now),
            Some(server::Stage::Cancel(_)) => self.cancel_connected(server, result, now),
            _ => {}
        }
        self.settle(now);
    }

    /// Bytes have come, lent until [`reclaim`](Self::reclaim); none: the peer is done.
    pub fn received(&mut self, conn: ConnId, bytes: &[u8], now: Time) {
        match conn.kind() {
            Kind::Client => self.client_received(conn.into(), bytes, now),
            Kind::Server => self.server_received(conn.into(), bytes, now),
        }
        self.settle(now);
    }

    /// The next bytes to write and how many parts they are in; `chunk` is what the current
    /// [`received`](Self::received) lent, or empty.
    pub fn gather<'a>(
        &'a self,
        conn: ConnId,
        chunk: &'a [u8],
        parts: &mut [&'a [u8]; PARTS_MAX],
    ) -> usize {
        let outbox = match conn.kind() {
            Kind::Client => self.clients.find(conn.into()).map(|client| &client.outbox),
            Kind::Server => self.servers.find(conn.into()).map(|server| &server.outbox),
        };
        outbox.map_or(0, |outbox| outbox.gather(chunk, parts))
    }

    /// `n` bytes have been written.
    pub fn sent(&mut self, conn: ConnId, n: usize, now: Time) {
        match conn.kind() {
            Kind::Client => self.client_sent(conn.into(), n, now),
            Kind::Server => self.server_sent(conn.into(), n, now),
        }
        self.settle(now);
    }

    /// The shell wants its buffer back: what is unsent of `bytes` is copied, and no more is read
    /// from where it came until it has left.
    pub fn reclaim(&mut self, bytes: &[u8], now: Time) {
        while let Some(conn) = self.passed_to.pop() {
            let outbox = match conn.kind() {
                Kind::Client => self.clients.find_mut(conn.into()).map(|client| &mut client.outbox),
                Kind::Server => self.servers.find_mut(conn.into()).map(|server| &mut server.outbox),
            };
            let Some(outbox) = outbox.filter(|outbox| !outbox.is_empty()) else { continue };
            outbox.reclaim(bytes, &mut self.shelf);
            self.read_from_partner(conn, false);
        }
        self.settle(now);
    }

    /// The peer has closed its side, though bytes may wait that are not being read. Whoever waits
    /// for a server is known to be gone by this, and what it has asked for is not run any more.
    pub fn hung_up(&mut self, conn: ConnId, now: Time) {
        if conn.kind() == Kind::Client && self.clients.find(conn.into()).is_some_and(Client::waits)
        {
            self.close_client(conn.into(), &Reason::ClientEof, now);
        }
        self.settle(now);
    }

    /// The connection has failed: reset, or the socket took an error.
    pub fn broken(&mut self, conn: ConnId, why: &str, now: Time) {
        log::debug!("connection failed: {why}");
        match conn.kind() {
            Kind::Client => self.close_client(conn.into(), &Reason::ClientEof, now),
            Kind::Server => self.server_lost(conn.into(), why, now),
        }
        self.settle(now);
    }

    /// A slow question, or an order to the program, has been answered.
    pub fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        match (self.pending.remove(&ticket), answer) {
            (Some(Pending::ClientVerifier { user, salt, iterations, of }), Answer::Keys(keys)) => {
                let verifier = keys.verifier(&salt, iterations);
                self.verifier_derived(&user, verifier, of);
            }
            (Some(Pending::ClientKeys { client }), Answer::Keys(keys)) => {
                self.password_derived(client, keys, now);
            }
            (
                Some(Pending::ServerKeys { server, password, salt, iterations, of }),
                Answer::Keys(keys),
            ) => {
                let derived = Derived { password, salt, iterations, keys };
                self.server_derived(server, derived, of, now);
            }
            (Some(Pending::Console(waiting)), answer) => {
                self.console_answered(ticket, waiting, answer, now);
            }
            _ => {}
        }
        self.settle(now);
    }

    /// Time has passed. Called once per turn; does nothing while nothing is due.
    pub fn tick(&mut self, now: Time) {
        if now >= self.next_tick() {
            self.keep_up(now);
            self.settle(now);
        }
    }

    /// What is to be done next.
    pub fn next_command(&mut self) -> Option<Command> {
        if !self.parted.is_empty() {
            self.give_back();
            self.settle(self.now);
        }
        self.commands.pop_front()
    }

    /// The blocks of bytes that wait somewhere in this engine, for whoever watches its memory.
    pub fn blocks_out(&self) -> usize {
        self.shelf.out()
    }

    /// Does what inputs have left to be done.
    fn settle(&mut self, now: Time) {
        self.now = now;
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Serve(pool) if self.pools.find(pool).is_none() => {}
                Work::Serve(pool) => self.serve(pool, now),
                Work::Resume(client) => self.resume(client, now),
            }
        }
    }

    fn touch(&mut self, pool: PoolId) {
        if self.work.back() != Some(&Work::Serve(pool)) {
            self.work.push_back(Work::Serve(pool));
        }
    }

    fn pool(&self, pool: PoolId) -> &Pool {
        &self.pools[pool]
    }

    fn pool_mut(&mut self, pool: PoolId) -> &mut Pool {
        &mut self.pools[pool]
    }

    fn ticket(&mut self, pending: Pending) -> Ticket {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        self.pending.insert(ticket, pending);
        ticket
    }

    /// A number for a connection that no other one of the process ever has.
    fn number(&mut self) -> u64 {
        let number = self.numbered * u64::from(self.workers) + u64::from(self.me.0) + 1;
        self.numbered += 1;
        number
    }

    /// Gives `bytes[range]` to a client, as they are.
    fn pass_to_client(
        &mut self,
        id: Id<Client>,
        bytes: &[u8],
        range: std::ops::Range<usize>,
        source: Source,
    ) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if let Some(pool) = client.pool {
            self.pools[pool].counters.sent += range.len() as u64;
        }
        if client.outbox.is_empty() {
            self.commands.push_back(Command::Write { conn: id.into() });
        }
        client.outbox.pass(bytes, range, source, &mut self.shelf);
        if self.passed_to.last() != Some(&id.into()) {
            self.passed_to.push(id.into());
        }
    }

    /// Gives `bytes[range]` to a server, as they are.
    fn pass_to_server(
        &mut self,
        id: Id<Server>,
        bytes: &[u8],
        range: std::ops::Range<usize>,
        source: Source,
    ) {
        let Some(server) = self.servers.find_mut(id) else { return };
        self.pools[server.pool].counters.received += range.len() as u64;
        if server.outbox.is_empty() {
            self.commands.push_back(Command::Write { conn: id.into() });
        }
        server.outbox.pass(bytes, range, source, &mut self.shelf);
        if self.passed_to.last() != Some(&id.into()) {
            self.passed_to.push(id.into());
        }
    }

    /// Sends a client bytes of our own.
    fn tell_client(&mut self, id: Id<Client>, build: impl FnOnce(&mut Vec<u8>)) {
        let Some(client) = self.clients.find_mut(id) else { return };
        let quiet = client.outbox.is_empty();
        client.outbox.write(&mut self.shelf, build);
        if quiet && !client.outbox.is_empty() {
            self.commands.push_back(Command::Write { conn: id.into() });
        }
    }

    /// Sends a server bytes of our own.
    fn tell_server(&mut self, id: Id<Server>, build: impl FnOnce(&mut Vec<u8>)) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let quiet = server.outbox.is_empty();
        server.outbox.write(&mut self.shelf, build);
        if quiet && !server.outbox.is_empty() {
            self.commands.push_back(Command::Write { conn: id.into() });
        }
    }

    /// Turns reading from a client on or off.
    fn read_client(&mut self, id: Id<Client>, on: bool) {
        let Some(client) = self.clients.find_mut(id) else { return };
        let reading = if on { self.mode.reading_client(client) } else { Reading::Off };
        if let Some(on) = client.reading.turn(reading) {
            self.commands.push_back(Command::Read { conn: id.into(), on });
        }
    }

    /// Turns reading from a server on or off.
    fn read_server(&mut self, id: Id<Server>, on: bool) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let reading = if on { self.mode.reading_server(server) } else { Reading::Off };
        if let Some(on) = server.reading.turn(reading) {
            self.commands.push_back(Command::Read { conn: id.into(), on });
        }
    }

    /// Turns reading on or off where the bytes for `conn` come from.
    fn read_from_partner(&mut self, conn: ConnId, on: bool) {
        match conn.kind() {
            Kind::Client => {
                let server = self.clients.find(conn.into()).and_then(Client::server);
                if let Some(server) = server {
                    self.read_server(server, on);
                }
            }
            Kind::Server => {
                let link = self.servers.find(conn.into()).and_then(Server::link);
                if let Some(link) = link {
                    self.read_client(link.client, on);
                }
            }
        }
    }

    fn secret(&self, user: &str) -> Option<&Secret> {
        self.setup.userlist.find(user.as_bytes())
    }
}
