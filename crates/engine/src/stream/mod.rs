//! Bytes in, bytes out; knows positions, not meaning.
//!
//! What was received is *lent*: the shell keeps the buffer, and an [`outbox::Outbox`] remembers
//! ranges of it. What cannot leave at once is copied when the shell wants its buffer back.

pub(crate) mod outbox;
pub(crate) mod shelf;

use std::ops::Range;

pub(crate) use outbox::Outbox;
pub(crate) use shelf::Shelf;

/// What is to be done with a message whose header has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Give so many bytes, header included, to the partner; they may reach past what is there.
    Pass(u32),
    /// Throw so many bytes away; they may reach past what is there.
    Drop(u32),
    /// Judge again when so many bytes are there.
    Need(u32),
    /// Keep everything from here on: nobody can take it yet.
    Hold,
    /// The connection has gone.
    Gone,
}

/// Where the bytes under examination live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the shell's buffer: positions in it may be lent.
    Lent,
    /// In a buffer of the engine: what passes is copied.
    Held,
}

/// Whether a connection is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It is.
    On,
    /// What comes could go nowhere.
    Off,
    /// It would be, but the pooler is suspended.
    Suspended,
}

impl Reading {
    /// Changes it; the answer is what the shell has to be told, if anything.
    pub(crate) fn turn(&mut self, to: Self) -> Option<bool> {
        let (was, is) = (*self == Self::On, to == Self::On);
        *self = to;
        (was != is).then_some(is)
    }
}

/// How the rest of a message goes on whose header has been judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Drop,
}

/// One connection's received bytes: how much of the current message is still to come, and what
/// must be kept until more is there.
#[derive(Debug)]
pub(crate) struct Stream {
    rest: u32,
    fate: Fate,
    /// An incomplete message, or messages that nobody can take yet.
    pub(crate) held: Vec<u8>,
    /// How many held bytes it takes for another look to be worth it.
    need: u32,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self { rest: 0, fate: Fate::Drop, held: Vec::new(), need: 0 }
    }

    /// Whether the next byte begins a message.
    pub(crate) fn at_boundary(&self) -> bool {
        self.rest == 0
    }

    /// Whether part of a message has been given to the partner and the rest is still to come.
    pub(crate) fn is_passing(&self) -> bool {
        self.rest > 0 && self.fate == Fate::Pass
    }

    /// How much of the current message is still to come.
    pub(crate) fn rest(&self) -> u32 {
        self.rest
    }

    /// Begins a message of `total` bytes that passes.
    pub(crate) fn pass(&mut self, total: u32) {
        self.rest = total;
        self.fate = Fate::Pass;
    }

    /// Begins a message of `total` bytes that is thrown away.
    pub(crate) fn discard(&mut self, total: u32) {
        self.rest = total;
        self.fate = Fate::Drop;
    }

    /// The part of `bytes[at..]` that belongs to the current message, and whether it passes.
    pub(crate) fn advance(&mut self, at: usize, len: usize) -> (Range<usize>, bool) {
        let n = (self.rest as usize).min(len - at);
        self.rest -= n as u32;
        (at..at + n, self.fate == Fate::Pass)
    }

    /// Keeps bytes until `need` of them are there, or somebody can take them.
    pub(crate) fn hold(&mut self, bytes: &[u8], need: u32, shelf: &mut Shelf) {
        self.need = need;
        if bytes.is_empty() {
            return;
        }
        if self.held.capacity() == 0 {
            self.held = shelf.take();
        }
        self.held.extend_from_slice(bytes);
    }

    /// Adds to what is held and gives all of it back when it is enough for another look.
    pub(crate) fn join(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(bytes);
        (self.held.len() >= self.need as usize).then(|| std::mem::take(&mut self.held))
    }
}
