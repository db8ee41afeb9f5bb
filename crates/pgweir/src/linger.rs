//! Parting from clients so that the last message arrives.
//!
//! ```text
//! write what is left ──► shut down for writing ──► read and discard ──► the peer closes ──► close
//! ```
//!
//! Closing a socket in which unread bytes wait resets the connection, and a reset overtakes the
//! error message that was just written. So the socket is kept a little longer: for some seconds,
//! some kilobytes, and only some hundreds at a time. Knows no connections: their names have gone.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use engine::Time;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

/// The sockets that are being parted from, oldest first.
#[derive(Default)]
pub(crate) struct Lingering {
    sockets: VecDeque<Parting>,
    next_number: u32,
}

struct Parting {
    number: u32,
    socket: OwnedFd,
    bytes: Vec<u8>,
    sent: usize,
    /// How many bytes have been thrown away.
    drained: usize,
    deadline: Time,
}

/// What has become of a socket.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// It waits for the peer.
    Open,
    /// It may be closed.
    Done,
}

impl Lingering {
    /// Parts from a socket after these bytes; true when it has to wait, as the [`Self::last`] one.
    pub(crate) fn part(&mut self, socket: OwnedFd, bytes: Vec<u8>, now: Time) -> bool {
        let number = self.next_number;
        let deadline = now + PATIENCE;
        let mut parting = Parting { number, socket, bytes, sent: 0, drained: 0, deadline };
        if parting.proceed() == Progress::Done {
            return false;
        }
        self.next_number = number.wrapping_add(1);
        if self.sockets.len() == SOCKETS_MAX {
            self.sockets.pop_front();
        }
        self.sockets.push_back(parting);
        true
    }

    /// The socket that waits last, and its number, for the reactor.
    pub(crate) fn last(&self) -> Option<(u32, &OwnedFd)> {
        self.sockets.back().map(|parting| (parting.number, &parting.socket))
    }

    /// Goes on with the socket of this number, for which an event has come.
    pub(crate) fn ready(&mut self, number: u32) {
        let found = self.sockets.iter().position(|parting| parting.number == number);
        let Some(index) = found else { return };
        if self.sockets[index].proceed() == Progress::Done {
            self.sockets.remove(index);
        }
    }

    /// Closes the sockets whose time is over.
    pub(crate) fn expire(&mut self, now: Time) {
        while self.sockets.pop_front_if(|parting| parting.deadline <= now).is_some() {}
    }

    /// The point in time at which [`Self::expire`] has something to do.
    pub(crate) fn deadline(&self) -> Time {
        self.sockets.front().map_or(Time::NEVER, |parting| parting.deadline)
    }

    /// Allows no socket more than this time from here on; for the end of the process.
    pub(crate) fn hurry(&mut self, now: Time, micros: u64) {
        for parting in &mut self.sockets {
            parting.deadline = parting.deadline.min(now + micros);
        }
    }

    /// Whether all have been parted from.
    pub(crate) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }
}

impl Parting {
    fn proceed(&mut self) -> Progress {
        while self.sent < self.bytes.len() {
            match send(&self.socket, &self.bytes[self.sent..], SendFlags::NOSIGNAL) {
                Ok(sent) => self.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.drain(),
                Err(_) => return Progress::Done,
            }
        }
        // Repeated after each event, which does no harm.
        if shutdown(&self.socket, Shutdown::Write).is_err() {
            return Progress::Done;
        }
        self.drain()
    }

    fn drain(&mut self) -> Progress {
        let mut sink = [0; 4096];
        while self.drained < DRAINED_MAX {
            match recv(&self.socket, &mut sink, RecvFlags::empty()) {
                Ok((0, _)) => return Progress::Done,
                Ok((drained, _)) => self.drained += drained,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Progress::Open,
                Err(_) => return Progress::Done,
            }
        }
        Progress::Done
    }
}

/// How long a peer may take to close, in microseconds.
const PATIENCE: u64 = 3_000_000;
/// How much a peer may still send, in bytes.
const DRAINED_MAX: usize = 100_000;
/// How many sockets wait at a time; one more, and the oldest is closed.
const SOCKETS_MAX: usize = 500;

#[cfg(test)]
mod tests;
