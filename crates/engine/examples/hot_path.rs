//! The hot path without a kernel: simple queries from many clients on few servers, through one
//! engine.
//!
//!     cargo build --profile release -p engine --example hot_path
//!     valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*::transactions' hot_path
//!
//! Prints the time of a transaction; under callgrind its count of instructions, which repeats.

use std::sync::Arc;
use std::time::Instant;

use engine::{
    Command, ConnId, Engine, Init, Ledger, Local, PARTS_MAX, Peer, Setup, Time, WorkerId,
};
use wire::{TransactionStatus, write};

const CLIENTS: usize = 64;
const SERVERS: usize = 20;
const ROUNDS: u32 = 2_000;

/// An engine, and what it wanted last.
struct Bench {
    engine: Engine,
    now: Time,
    connects: Vec<ConnId>,
    written: Vec<ConnId>,
}

fn main() {
    let mut bench = Bench::new();
    let clients: Vec<_> = (0..CLIENTS).map(|_| bench.log_in()).collect();
    let query = message(|out| write::query(out, b"SELECT 1"));
    let reply = message(|out| {
        write::row_description(out, &[("?column?", 23, 4)]);
        write::data_row(out, &[Some(b"1")]);
        write::command_complete(out, "SELECT 1");
        write::ready_for_query(out, TransactionStatus::Idle);
    });
    bench.warm_up(&clients, &query, &reply);
    let start = Instant::now();
    let done = transactions(&mut bench, &clients, &query, &reply);
    let each = start.elapsed().as_nanos() / u128::from(done);
    println!("{done} transactions, {each} ns each");
}

/// All clients ask, again and again; the servers answer in the order in which they were asked.
#[inline(never)]
fn transactions(bench: &mut Bench, clients: &[ConnId], query: &[u8], reply: &[u8]) -> u32 {
    let mut done = 0;
    for _ in 0..ROUNDS {
        for client in clients {
            bench.receive(*client, query);
        }
        while let Some(server) = bench.asked() {
            bench.receive(server, reply);
            done += 1;
        }
    }
    done
}

impl Bench {
    fn new() -> Self {
        let ini = "[databases]\nd = host=127.0.0.1\n[pgbouncer]\nauth_type = trust\n\
                   pool_mode = transaction\nlog_connections = 0\nlog_disconnections = 0\n";
        let config = config::load("x.ini", &mut |_| Ok(ini.into())).expect("the file is right");
        let (userlist, _) = auth::Userlist::parse(b"\"u\" \"\"\n");
        let setup = Setup {
            config,
            userlist: Arc::new(userlist),
            version: "hot_path".into(),
            host: "".into(),
            uid: 1,
        };
        let engine = Engine::new(Init {
            worker: WorkerId(0),
            workers: 1,
            ledger: Arc::new(Ledger::new(1)),
            setup: Arc::new(setup),
            entropy: [7; 32],
            process_secret: [8; 32],
            wall: 0,
            now: Time::ZERO,
        });
        Self { engine, now: Time::ZERO, connects: Vec::new(), written: Vec::new() }
    }

    fn log_in(&mut self) -> ConnId {
        let address = "127.0.0.1:1".parse().expect("an address");
        let client = self.engine.accepted(Peer::Tcp { from: address, at: address }, self.now);
        let startup = message(|out| {
            let parameters: [(&[u8], &[u8]); 2] = [(b"user", b"u"), (b"database", b"d")];
            write::startup(out, wire::PROTOCOL_3_0, &parameters);
        });
        self.receive(client, &startup);
        self.serve_connects();
        client
    }

    fn serve_connects(&mut self) {
        let welcome = message(|out| {
            write::authentication_ok(out);
            write::parameter_status(out, b"TimeZone", b"UTC");
            write::backend_key_data(out, 1, &[1, 2, 3, 4]);
            write::ready_for_query(out, TransactionStatus::Idle);
        });
        while let Some(server) = self.connects.pop() {
            self.engine.connected(server, Ok(Local { tcp: None }), self.now);
            self.obey(&[]);
            // That was the StartupMessage, not a query.
            self.written.retain(|conn| *conn != server);
            self.receive(server, &welcome);
        }
    }

    /// Until all servers are there.
    fn warm_up(&mut self, clients: &[ConnId], query: &[u8], reply: &[u8]) {
        for client in clients {
            self.receive(*client, query);
        }
        for _ in 0..SERVERS {
            self.serve_connects();
        }
        while let Some(server) = self.asked() {
            self.receive(server, reply);
        }
    }

    fn asked(&mut self) -> Option<ConnId> {
        let servers = self.written.iter().position(|conn| conn.kind() == engine::Kind::Server)?;
        Some(self.written.remove(servers))
    }

    fn receive(&mut self, conn: ConnId, bytes: &[u8]) {
        self.now = self.now + 1;
        self.engine.received(conn, bytes, self.now);
        self.obey(bytes);
        self.engine.reclaim(bytes, self.now);
        self.obey(&[]);
    }

    fn obey(&mut self, chunk: &[u8]) {
        while let Some(command) = self.engine.next_command() {
            match command {
                Command::Connect { conn, .. } => self.connects.push(conn),
                Command::Write { conn } => self.write(conn, chunk),
                _ => {}
            }
        }
    }

    fn write(&mut self, conn: ConnId, chunk: &[u8]) {
        if conn.kind() == engine::Kind::Server {
            self.written.push(conn);
        }
        loop {
            let mut parts: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
            let count = self.engine.gather(conn, chunk, &mut parts);
            let bytes = parts[..count].iter().map(|part| part.len()).sum();
            if bytes == 0 {
                return;
            }
            self.engine.sent(conn, bytes, self.now);
        }
    }
}

fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    build(&mut bytes);
    bytes
}
