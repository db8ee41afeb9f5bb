//! Byte pipes between the pooler and its peers, with everything that sockets do to bytes.
//!
//! ```text
//! peer ──► up ──► pooler          a pipe has room for so many bytes, and an end that comes behind
//! peer ◄── down ◄── pooler        them, or a reset that overtakes them
//! ```
//!
//! When bytes arrive, and how many at a time, is decided by the world.

use std::collections::VecDeque;

use engine::ConnId;

use crate::oracle::fairness::Pool;

/// Names a wire; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WireId(pub(crate) usize);

/// How far a pipe is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// More may come.
    Open,
    /// The writer has closed: the end comes behind what is still there.
    Closed,
    /// The writer has reset the connection.
    Reset,
    /// The reader knows of the end.
    Told,
}

/// One direction of a wire.
#[derive(Debug)]
pub(crate) struct Pipe {
    bytes: VecDeque<u8>,
    size: usize,
    pub(crate) end: End,
    /// An event is under way that lets the reader read.
    pub(crate) due: bool,
    /// The writer has found no room, and waits for some.
    pub(crate) blocked: bool,
    /// How many bytes the reader has taken.
    pub(crate) taken: u64,
    /// How many bytes were ever written.
    pub(crate) written: u64,
}

impl Pipe {
    pub(crate) fn new(size: usize) -> Self {
        let bytes = VecDeque::new();
        Self { bytes, size, end: End::Open, due: false, blocked: false, taken: 0, written: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn room(&self) -> usize {
        self.size.saturating_sub(self.bytes.len())
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.end == End::Open {
            self.bytes.extend(bytes);
            self.written += bytes.len() as u64;
        }
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let count = count.min(self.bytes.len());
        self.taken += count as u64;
        self.bytes.drain(..count).collect()
    }

    /// Closes the pipe behind its bytes.
    pub(crate) fn close(&mut self) {
        if self.end == End::Open {
            self.end = End::Closed;
        }
    }

    /// Throws away what is there; the reader will find a reset.
    pub(crate) fn reset(&mut self) {
        if self.end != End::Told {
            self.bytes.clear();
            self.end = End::Reset;
        }
    }

    /// Whether the reader would find something: bytes, or an end that it does not know of.
    pub(crate) fn has_news(&self) -> bool {
        !self.bytes.is_empty() || matches!(self.end, End::Closed | End::Reset)
    }
}

/// Where the pooler's end of a wire is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A worker opens it.
    Opening(usize, ConnId),
    /// A worker has it.
    At(usize, ConnId),
    /// It is under way to a worker.
    Mailed(usize),
    /// The pooler has closed it.
    Gone,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Far {
    /// A client, by its place.
    App(usize),
    /// Somebody who wants a query cancelled, by the place of the client.
    Canceller(usize),
    /// A server process, by its place.
    Backend(usize),
    /// Nobody any more, or not yet.
    Nobody,
}

/// The instant at which the pooler has closed a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parted {
    /// By the engines' clock.
    pub(crate) at: u64,
    /// How many clients of its database, and of its user, there were besides.
    pub(crate) crowd: (u32, u32),
}

/// A connection between the pooler and somebody.
#[derive(Debug)]
pub(crate) struct Wire {
    /// To the pooler.
    pub(crate) up: Pipe,
    /// From the pooler.
    pub(crate) down: Pipe,
    pub(crate) place: Place,
    pub(crate) far: Far,
    /// Whether the pooler wants to read.
    pub(crate) reading: bool,
    /// How long bytes are under way, in microseconds.
    pub(crate) latency: u64,
    /// Until when nothing arrives at either end.
    pub(crate) stalled: u64,
    /// Whether it was opened by the pooler, and to which port.
    pub(crate) port: Option<u16>,
    /// When the pooler has asked for it.
    pub(crate) opened: u64,
    /// When a byte was last put in or taken out, or its end of the pooler moved.
    pub(crate) touched: u64,
    /// When the pooler has taken an answer to a client last.
    pub(crate) heard: u64,
    /// The session whose request the pooler has written last of all.
    pub(crate) last_session: Option<u32>,
    /// Whether the pooler has written something since that names no request of a client.
    pub(crate) own_words: bool,
    /// Since when the pooler has had more to write than there was room for.
    pub(crate) behind_since: Option<u64>,
    /// The session whose request the pooler has written last, until all is answered.
    pub(crate) owner: Option<u32>,
    /// The pool of the client that has opened it.
    pub(crate) pool: Option<Pool>,
    /// As whom it logs in, by place.
    pub(crate) user: usize,
    /// When the pooler has heard of a request last, by the engines' clock.
    pub(crate) asked: u64,
    /// What was known of a client when the pooler closed it.
    pub(crate) parted: Option<Parted>,
    /// Finds out whose requests the pooler writes.
    pub(crate) tokens: crate::statement::Scanner,
}

impl Wire {
    pub(crate) fn new(far: Far, place: Place, size: usize, latency: u64) -> Self {
        Self {
            up: Pipe::new(size),
            down: Pipe::new(size),
            place,
            far,
            reading: true,
            latency,
            stalled: 0,
            port: None,
            opened: 0,
            touched: 0,
            heard: 0,
            last_session: None,
            own_words: true,
            behind_since: None,
            owner: None,
            pool: None,
            user: 0,
            asked: 0,
            parted: None,
            tokens: crate::statement::Scanner::default(),
        }
    }
}
