//! Connections come and go: accepted, opened to a server, shipped to another worker, arrived from
//! one.
//!
//! ```text
//! Connect ──► Unix socket, IP address ────────────► dial ──► (an edge) ──► connected
//!         └─► host name ──► a lookup ──► resolved ───┘  ▲         └─► the next address ─┐
//!                                                       └───────────────────────────────┘
//! ```
//!
//! A dial that ends while commands are carried out is reported after them: an engine is not told
//! anything new in the middle of a command.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use engine::{Address, ConnId, Local, Parcel, Refused, WorkerId};

use super::{Later, Worker};
use crate::conn::{Conn, Family, Stage};
use crate::dial::{self, Dial, Halt, is_scarcity, refused};
use crate::post::Letter;
use crate::reactor::{Interest, Token};

impl Worker {
    /// Accepts from this listener.
    pub(super) fn accept(&mut self, number: u32, turn: u64) {
        for _ in 0..self.acceptors.burst(number, turn) {
            let accepted = self.acceptors.accept(number, &self.reactor, self.now);
            let Some((socket, peer, family)) = accepted else { return };
            let name = self.engine.accepted(peer, self.now);
            self.register(name, socket, family);
            self.obey(&[]);
        }
    }

    /// Enters an open socket. What waits in it already is an edge of the next wait.
    pub(super) fn register(&mut self, name: ConnId, socket: OwnedFd, family: Family) {
        let added = self.reactor.add(&socket, Token::Conn(name), Interest::Read);
        self.conns.insert(name, Some(socket), Stage::Open, family);
        if let Err(error) = added {
            self.lose(name, error);
        }
    }

    /// Sends a connection and its socket to another worker.
    pub(super) fn ship(&mut self, name: ConnId, to: WorkerId, parcel: Parcel) {
        let Some(Conn { socket: Some(socket), family, .. }) = self.conns.remove(name) else {
            return log::error!("connection without a socket shipped to worker {}", to.0);
        };
        // Cannot fail for a socket that was registered; one that was not would not be found either.
        let _ = self.reactor.remove(&socket);
        self.reach.post.send(to, Letter::Parcel(parcel, socket, family));
    }

    /// Begins to open a connection to a server.
    pub(super) fn connect(&mut self, name: ConnId, to: Address) {
        match to {
            Address::Unix { path } => {
                self.conns.insert(name, None, Stage::Opening, Family::Unix);
                self.dial_unix(name, path);
            }
            Address::Tcp { host, port } => {
                self.conns.insert(name, None, Stage::Opening, Family::Tcp);
                match host.parse::<IpAddr>() {
                    Ok(ip) => self.dial_on(Dial::new(name, [(ip, port).into()])),
                    Err(_) => self.reach.names.ask(self.id, name, host, port),
                }
            }
        }
    }

    /// Goes on with a connection whose host name was looked up.
    pub(super) fn resolved(&mut self, name: ConnId, result: Result<Vec<SocketAddr>, String>) {
        if self.conns.find(name).is_none() {
            return;
        }
        match result {
            Ok(addresses) => self.dial_on(Dial::new(name, addresses)),
            Err(why) => self.refuse(name, Refused(why)),
        }
    }

    /// Looks what has come of a dial, after an edge on its socket.
    pub(super) fn finish_dial(&mut self, name: ConnId) {
        let Some(index) = self.dials.dials.iter().position(|dial| dial.conn == name) else {
            return;
        };
        let mut dial = self.dials.dials.swap_remove(index);
        let Some(conn) = self.conns.find(name) else { return };
        let Some(socket) = &conn.socket else { return };
        match dial.outcome(socket) {
            Some(local) => {
                conn.stage = Stage::Open;
                self.engine.connected(name, Ok(local), self.now);
                self.obey(&[]);
                // What came along with the edge is read now.
                self.queue(name);
            }
            None => self.dial_on(dial),
        }
    }

    /// Reports the dials that have ended.
    pub(super) fn report_dials(&mut self) {
        while !self.dials.outcomes.is_empty() {
            for (name, result) in std::mem::take(&mut self.dials.outcomes) {
                if result.is_err() {
                    self.conns.remove(name);
                }
                self.engine.connected(name, result, self.now);
                self.obey(&[]);
            }
        }
    }

    /// Begins those again that could not be begun for lack of descriptors or memory; the engine's
    /// own time limit ends what stays hopeless.
    pub(super) fn dial_again(&mut self) {
        while let Some((_, later)) = self.dials.later.pop_front_if(|(at, _)| *at <= self.now) {
            match later {
                Later::Unix(name, path) if self.conns.find(name).is_some() => {
                    self.dial_unix(name, path);
                }
                Later::Tcp(dial) if self.conns.find(dial.conn).is_some() => self.dial_on(dial),
                // It was given up meanwhile.
                Later::Unix(..) | Later::Tcp(_) => {}
            }
        }
    }

    fn dial_unix(&mut self, name: ConnId, path: String) {
        match dial::unix(&path) {
            Ok(socket) => {
                self.register(name, socket, Family::Unix);
                self.dials.outcomes.push((name, Ok(Local { tcp: None })));
            }
            Err(error) if is_scarcity(error) => self.put_off(Later::Unix(name, path)),
            Err(error) => self.refuse(name, refused(error)),
        }
    }

    fn dial_on(&mut self, mut dial: Dial) {
        let name = dial.conn;
        loop {
            let socket = match dial.next(&self.dials.tcp) {
                Ok(socket) => socket,
                Err(Halt::Refused(why)) => return self.refuse(name, why),
                Err(Halt::Scarce) => return self.put_off(Later::Tcp(dial)),
            };
            // Registered after connect: before, epoll would report the socket as hung up.
            if self.reactor.add(&socket, Token::Conn(name), Interest::ReadWrite).is_ok() {
                self.conns.insert(name, Some(socket), Stage::Opening, Family::Tcp);
                if let Some(conn) = self.conns.find(name) {
                    conn.armed = true;
                }
                return self.dials.dials.push(dial);
            }
        }
    }

    fn put_off(&mut self, later: Later) {
        if self.dials.told_until <= self.now {
            self.dials.told_until = self.now + QUIET;
            log::warn!("could not open a connection to a server for lack of descriptors or memory");
        }
        self.dials.later.push_back((self.now + SCARCE, later));
    }

    fn refuse(&mut self, name: ConnId, why: Refused) {
        self.dials.outcomes.push((name, Err(why)));
    }
}

/// After which time a dial is tried again that failed for lack of descriptors or memory, in
/// microseconds.
const SCARCE: u64 = 100_000;
/// How often the log hears of that, in microseconds.
const QUIET: u64 = 10_000_000;
