//! One worker's share of the listeners: how many connections it takes in a turn, and when none.
//!
//! Accepting until there is none would cost a system call that finds nothing for each connection.
//! So one is taken, and twice as many each time when the listener is reported again in the very
//! next turn. When the process has run out of descriptors, listening rests for a while instead of
//! being reported without end; it does so already when only those are left that connections to
//! servers may need.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use engine::{Peer, Time};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};

use crate::conn::Family;
use crate::dial::text;
use crate::listen::Listener;
use crate::reactor::{Reactor, Token};

/// The listeners that a worker accepts from.
pub(crate) struct Acceptors {
    doors: Vec<Option<Door>>,
    pause: Pause,
    reserve: Reserve,
}

/// Descriptors that are kept for servers. The kernel gives out the lowest number that is free, so a
/// high number tells that few are left.
struct Reserve {
    /// The lowest number that is not for clients.
    from: RawFd,
    /// The number that the last client got.
    last: RawFd,
}

struct Door {
    listener: Arc<Listener>,
    pace: Pace,
}

/// How many connections are taken at a time.
#[derive(Debug, Default)]
struct Pace {
    turn: u64,
    burst: u32,
}

/// Whether descriptors have run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// They have not.
    None,
    /// They have; the listeners are not waited for until this point.
    Until(Time),
    /// The listeners are waited for again, but none was accepted since: the log has heard of it.
    Trying,
}

impl Acceptors {
    /// Registers these listeners with the worker's reactor.
    ///
    /// # Errors
    /// What epoll_ctl(2) says.
    pub(crate) fn new(listeners: &[Arc<Listener>], reactor: &Reactor) -> rustix::io::Result<Self> {
        let door = |listener: &Arc<Listener>| {
            Some(Door { listener: Arc::clone(listener), pace: Pace::default() })
        };
        let doors = listeners.iter().map(door).collect();
        let acceptors = Self { doors, pause: Pause::None, reserve: Reserve::new() };
        acceptors.register(reactor)?;
        Ok(acceptors)
    }

    /// How many connections may be taken from this listener in this turn.
    pub(crate) fn burst(&mut self, number: u32, turn: u64) -> u32 {
        let door = self.doors.get_mut(number as usize).and_then(Option::as_mut);
        door.map_or(0, |door| door.pace.next(turn))
    }

    /// Takes one connection, if there is one.
    pub(crate) fn accept(
        &mut self,
        number: u32,
        reactor: &Reactor,
        now: Time,
    ) -> Option<(OwnedFd, Peer, Family)> {
        let listener = &self.doors.get(number as usize)?.as_ref()?.listener;
        loop {
            match self.reserve.spares(listener).and_then(|()| listener.accept()) {
                Ok((socket, peer)) => {
                    self.pause = Pause::None;
                    self.reserve.last = socket.as_raw_fd();
                    return Some((socket, peer, listener.family()));
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::AGAIN) => return None,
                Err(error) => {
                    if self.pause == Pause::None {
                        log::warn!("could not accept connections on {listener}: {}", text(error));
                    }
                    self.rest(reactor, now);
                    return None;
                }
            }
        }
    }

    /// When [`Self::resume`] has something to do.
    pub(crate) fn deadline(&self) -> Time {
        if let Pause::Until(until) = self.pause { until } else { Time::NEVER }
    }

    /// Waits for connections again after a rest that is over.
    pub(crate) fn resume(&mut self, reactor: &Reactor, now: Time) {
        if self.deadline() <= now {
            let registered = self.register(reactor);
            self.pause = if registered.is_ok() { Pause::Trying } else { Pause::Until(now + REST) };
        }
    }

    /// Closes the listeners of this family, for this worker.
    pub(crate) fn close(&mut self, family: Family, reactor: &Reactor) {
        for door in &mut self.doors {
            if let Some(door) = door.take_if(|door| door.listener.family() == family) {
                // Not registered while listening rests.
                let _ = reactor.remove(&*door.listener);
            }
        }
    }

    fn rest(&mut self, reactor: &Reactor, now: Time) {
        for door in self.doors.iter().flatten() {
            let _ = reactor.remove(&*door.listener);
        }
        self.pause = Pause::Until(now + REST);
    }

    fn register(&self, reactor: &Reactor) -> rustix::io::Result<()> {
        for (number, door) in self.doors.iter().enumerate() {
            if let Some(door) = door {
                match reactor.add_listener(&*door.listener, Token::Listener(number as u32)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

impl Reserve {
    fn new() -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        let limit = limit.and_then(|limit| RawFd::try_from(limit).ok()).unwrap_or(RawFd::MAX);
        Self { from: limit - (limit / RESERVE_SHARE).min(RESERVE_MAX), last: 0 }
    }

    /// Makes sure that a client may have the next descriptor. Only when the last one came out of
    /// the reserve is the kernel asked which is free now.
    fn spares(&mut self, any: &impl AsFd) -> rustix::io::Result<()> {
        if self.last >= self.from {
            self.last = fcntl_dupfd_cloexec(any, 0)?.as_raw_fd();
        }
        if self.last >= self.from { Err(Errno::MFILE) } else { Ok(()) }
    }
}

impl Pace {
    fn next(&mut self, turn: u64) -> u32 {
        let in_a_row = self.burst > 0 && self.turn + 1 == turn;
        self.burst = if in_a_row { (self.burst * 2).min(BURST_MAX) } else { 1 };
        self.turn = turn;
        self.burst
    }
}

/// How many connections one turn takes from one listener at most.
const BURST_MAX: u32 = 64;
/// One in so many descriptors is kept for servers,
const RESERVE_SHARE: RawFd = 16;
/// but no more than this.
const RESERVE_MAX: RawFd = 256;
/// How long listening rests when descriptors have run out, in microseconds.
const REST: u64 = 150_000;

#[cfg(test)]
mod tests;
