//! Waiting for sockets: edge-triggered epoll, each socket registered once.
//!
//! ```text
//! add(socket, token) ──► wait(timeout) ──► events: token, readable, writable, ended, gone
//! ```
//!
//! The one file to replace for another way of waiting. Knows nothing of connections: a token is
//! what the caller wants to hear back. An event may name a socket that has gone since; tokens
//! therefore carry the generation of a connection's name.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use engine::ConnId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, Result};

/// Who an event is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// A connection.
    Conn(ConnId),
    /// The eventfd of the mailbox.
    Bell,
    /// A listener, by its number on this worker.
    Listener(u32),
    /// A socket that is being parted from, by its number.
    Lingering(u32),
}

/// What to be woken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Something to read, or the end.
    Read,
    /// That, or room to write.
    ReadWrite,
}

/// What happened to one socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    /// Whose socket.
    pub(crate) token: Token,
    /// Something can be read.
    pub(crate) readable: bool,
    /// Something can be written.
    pub(crate) writable: bool,
    /// The peer sends no more: the reader must read on to the end, because no further edge will
    /// come.
    pub(crate) ended: bool,
    /// The connection is dead in both directions.
    pub(crate) gone: bool,
}

/// One worker's set of sockets.
pub(crate) struct Reactor {
    epoll: OwnedFd,
}

/// The events of one wait.
pub(crate) struct Events {
    list: Box<[Event]>,
    count: usize,
}

impl Reactor {
    /// Opens an empty set.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Registers a socket. What it is ready for already is reported by the next wait.
    pub(crate) fn add(&self, socket: impl AsFd, token: Token, interest: Interest) -> Result<()> {
        epoll::add(&self.epoll, socket, EventData::new_u64(bits(token)), flags(interest))
    }

    /// Registers a listener, which all workers share: a new connection wakes one of those that
    /// sleep. Reported as long as a connection waits, so that one wait may accept some and leave
    /// some.
    pub(crate) fn add_listener(&self, socket: impl AsFd, token: Token) -> Result<()> {
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&self.epoll, socket, EventData::new_u64(bits(token)), flags)
    }

    /// Changes what a socket is registered for. What it is ready for already is reported again.
    pub(crate) fn modify(&self, socket: impl AsFd, token: Token, interest: Interest) -> Result<()> {
        epoll::modify(&self.epoll, socket, EventData::new_u64(bits(token)), flags(interest))
    }

    /// Forgets a socket that stays open. One that is closed needs no such call.
    pub(crate) fn remove(&self, socket: impl AsFd) -> Result<()> {
        epoll::delete(&self.epoll, socket)
    }

    /// Waits until something happens or the time is over (`None`: without end).
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> Result<()> {
        // Too long for the kernel's type is as good as without end.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        events.count = match epoll::wait(&self.epoll, &mut *events.list, timeout.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error),
        };
        Ok(())
    }
}

impl Events {
    /// Room for the events of one wait.
    pub(crate) fn new() -> Self {
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Self { list: vec![none; EVENTS_MAX].into_boxed_slice(), count: 0 }
    }

    /// The events of the last wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Ready> {
        self.list[..self.count].iter().map(|event| {
            // Copied: the kernel's struct is packed.
            let Event { flags, data } = *event;
            let gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
            Ready {
                token: token(data.u64()),
                readable: flags.contains(EventFlags::IN),
                writable: flags.contains(EventFlags::OUT),
                ended: gone || flags.contains(EventFlags::RDHUP),
                gone,
            }
        })
    }
}

fn flags(interest: Interest) -> EventFlags {
    let read = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    match interest {
        Interest::Read => read,
        Interest::ReadWrite => read | EventFlags::OUT,
    }
}

/// Connections have the plain bits of their name, in which the highest bit of the lower half, the
/// slot, is never set; everything else sets it.
fn bits(token: Token) -> u64 {
    match token {
        Token::Conn(conn) => conn.to_bits(),
        Token::Bell => OTHER,
        Token::Listener(number) => OTHER | LISTENER | u64::from(number) << 32,
        Token::Lingering(number) => OTHER | LINGERING | u64::from(number) << 32,
    }
}

fn token(bits: u64) -> Token {
    let number = (bits >> 32) as u32;
    if bits & OTHER == 0 {
        Token::Conn(ConnId::from_bits(bits))
    } else if bits & LISTENER != 0 {
        Token::Listener(number)
    } else if bits & LINGERING != 0 {
        Token::Lingering(number)
    } else {
        Token::Bell
    }
}

const OTHER: u64 = 1 << 31;
const LISTENER: u64 = 1;
const LINGERING: u64 = 2;

/// How many events one wait takes in; the rest comes with the next.
const EVENTS_MAX: usize = 256;

#[cfg(test)]
mod tests;
