//! The load of a peak run: clients and a fake PostgreSQL in one thread, so that both cost one core.
//!
//!     client ──► Query "SELECT 1" ──► pooler ──► fake server
//!     client ◄── ReadyForQuery    ◄── pooler ◄── the answer at once ──► the client asks again
//!
//! One edge-triggered epoll; a turn of a peer is one recv and one send. Knows nothing of poolers,
//! cores or figures: whoever runs it connects clients to a port and reads the transactions done.

pub(crate) mod orders;
mod peer;
mod script;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, bail};
use rustix::event::Timespec;
use rustix::event::epoll;

use peer::{Peer, Role};
use script::Script;

/// Clients and fake servers, driven by `turn`.
pub(crate) struct Load {
    epoll: OwnedFd,
    listener: TcpListener,
    peers: Vec<Option<Peer>>,
    script: Script,
    events: Vec<epoll::Event>,
    received: Box<[u8]>,
    reply: Vec<u8>,
    transactions: u64,
    logged_in: usize,
}

impl Load {
    /// Listens as a fake PostgreSQL on a free port of the loopback address.
    pub(crate) fn listen() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let load = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            listener,
            peers: Vec::new(),
            script: Script::new(),
            events: Vec::with_capacity(EVENTS),
            received: vec![0; RECEIVE].into_boxed_slice(),
            reply: Vec::new(),
            transactions: 0,
            logged_in: 0,
        };
        watch(&load.epoll, &load.listener, LISTENER)?;
        Ok(load)
    }

    /// The port of the fake server.
    pub(crate) fn port(&self) -> Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Queries answered since the start, over all clients.
    pub(crate) fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Clients that have seen their first ReadyForQuery.
    pub(crate) fn logged_in(&self) -> usize {
        self.logged_in
    }

    /// Opens one client to a port of the loopback address; its login goes on in later turns.
    pub(crate) fn connect(&mut self, port: u16) -> Result<()> {
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("cannot connect to port {port}"))?;
        socket.write_all(&self.script.startup)?;
        self.add(socket, Role::client())
    }

    /// Has `turn` report `Turn::Orders` when `source` becomes readable.
    pub(crate) fn watch_orders(&self, source: impl AsFd) -> Result<()> {
        // Level-triggered: the reader may leave bytes behind.
        let data = epoll::EventData::new_u64(ORDERS);
        Ok(epoll::add(&self.epoll, source, data, epoll::EventFlags::IN)?)
    }

    /// Serves whatever is ready; waits for it no longer than `timeout`, or for ever.
    pub(crate) fn turn(&mut self, timeout: Option<&Timespec>) -> Result<Turn> {
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, timeout) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Turn::Served),
            Err(error) => return Err(error.into()),
        }
        let mut turn = Turn::Served;
        for at in 0..self.events.len() {
            match self.events[at].data.u64() {
                LISTENER => self.accept()?,
                ORDERS => turn = Turn::Orders,
                peer => self.converse(usize::try_from(peer)?)?,
            }
        }
        Ok(turn)
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.add(socket, Role::server())?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("the fake server cannot accept"),
            }
        }
    }

    fn add(&mut self, socket: TcpStream, role: Role) -> Result<()> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        watch(&self.epoll, &socket, u64::try_from(self.peers.len())?)?;
        self.peers.push(Some(Peer::new(socket, role)));
        Ok(())
    }

    /// One peer's turn. A read that does not fill the buffer has emptied the socket, so that the
    /// next bytes raise a new edge and no second read has to find nothing.
    fn converse(&mut self, at: usize) -> Result<()> {
        loop {
            let Some(peer) = self.peers.get_mut(at).and_then(Option::as_mut) else {
                return Ok(());
            };
            let length = match peer.socket.read(&mut self.received) {
                Ok(0) => return self.part(at),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return self.part(at),
            };
            self.reply.clear();
            let heard = peer.hears(&self.received[..length], &self.script, &mut self.reply)?;
            self.transactions += heard.transactions;
            self.logged_in += heard.logins;
            if !self.reply.is_empty() {
                send(&mut peer.socket, &self.reply)?;
            }
            if heard.farewell {
                return self.part(at);
            }
            if length < self.received.len() {
                return Ok(());
            }
        }
    }

    /// The pooler may close servers as it likes, but never a client.
    fn part(&mut self, at: usize) -> Result<()> {
        match self.peers[at].take() {
            Some(peer) if peer.is_client() => bail!("the pooler closed a client's connection"),
            _ => Ok(()),
        }
    }
}

/// What a turn of the loop has left for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing.
    Served,
    /// The source given to `watch_orders` is readable.
    Orders,
}

fn watch(poll: &OwnedFd, source: impl AsFd, token: u64) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(poll, source, epoll::EventData::new_u64(token), flags)?)
}

/// Answers are far smaller than a socket's buffer and one is on its way at a time: a send that
/// cannot take all of it is a fault of the run.
fn send(socket: &mut TcpStream, bytes: &[u8]) -> Result<()> {
    let sent = socket.write(bytes)?;
    if sent != bytes.len() {
        bail!("the pooler does not read: {sent} of {} bytes sent", bytes.len());
    }
    Ok(())
}

const LISTENER: u64 = u64::MAX;
const ORDERS: u64 = u64::MAX - 1;
const EVENTS: usize = 256;
const RECEIVE: usize = 16 * 1024;

#[cfg(test)]
mod tests;
