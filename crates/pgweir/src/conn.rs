//! The sockets of one worker, found by the name that the engine gave them.
//!
//! A connection here is a descriptor and what is known of its readiness: edges are reported once,
//! so they are remembered until acted on. Entries are small, because an idle client costs one.
//!
//! Knows nothing of what is read or written, nor of the engine's clients and servers.

use std::os::fd::OwnedFd;

use engine::ConnId;

/// One connection.
pub(crate) struct Conn {
    name: ConnId,
    /// `None` while the address of the server is not known.
    pub(crate) socket: Option<OwnedFd>,
    /// How far the connection is.
    pub(crate) stage: Stage,
    /// TCP or Unix.
    pub(crate) family: Family,
    /// What can be read.
    pub(crate) input: Input,
    /// What can be written.
    pub(crate) output: Output,
    /// Whether the engine wants to read.
    pub(crate) wanted: bool,
    /// Whether room to write wakes the worker.
    pub(crate) armed: bool,
    /// Whether it waits for a turn on the run queue.
    pub(crate) queued: bool,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Being opened: the address is looked up, or the server has not accepted yet.
    Opening,
    /// Open.
    Open,
}

/// The two kinds of sockets, which differ in how they tell that there is room to write: a Unix
/// socket does so at every read of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4 or IPv6.
    Tcp,
    /// A Unix socket.
    Unix,
}

/// What can be read from a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing, until the next edge.
    Quiet,
    /// Something.
    Waiting,
    /// The peer is done: read on to the end, no edge will tell of it again.
    Ending,
    /// The end was read.
    Ended,
}

/// What can be written to a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// There is room, as far as is known.
    Room,
    /// There is none, until the next edge.
    Full,
    /// A write has failed; what the peer said before is read first, then it is reported.
    Failed,
}

impl Conn {
    /// Whether a read makes sense.
    pub(crate) fn may_read(&self) -> bool {
        self.wanted
            && self.stage == Stage::Open
            && matches!(self.input, Input::Waiting | Input::Ending)
    }

    /// Whether the peer is done and nobody reads on to its end.
    pub(crate) fn ends_unread(&self) -> bool {
        !self.wanted && self.stage == Stage::Open && self.input == Input::Ending
    }

    /// Whether a write makes sense.
    pub(crate) fn may_write(&self) -> bool {
        self.stage == Stage::Open && self.output == Output::Room
    }
}

/// All connections of one worker.
#[derive(Default)]
pub(crate) struct Conns {
    entries: Vec<Option<Conn>>,
}

impl Conns {
    /// Enters a connection, in place of the one that had the same slot before.
    pub(crate) fn insert(
        &mut self,
        name: ConnId,
        socket: Option<OwnedFd>,
        stage: Stage,
        family: Family,
    ) {
        let slot = name.slot();
        if slot >= self.entries.len() {
            self.entries.resize_with(slot + 1, || None);
        }
        self.entries[slot] = Some(Conn {
            name,
            socket,
            stage,
            family,
            input: Input::Quiet,
            output: Output::Room,
            wanted: true,
            armed: false,
            queued: false,
        });
    }

    /// The connection of this name, if it is still there.
    pub(crate) fn find(&mut self, name: ConnId) -> Option<&mut Conn> {
        self.entries.get_mut(name.slot())?.as_mut().filter(|conn| conn.name == name)
    }

    /// Takes the connection of this name out, if it is still there.
    pub(crate) fn remove(&mut self, name: ConnId) -> Option<Conn> {
        self.entries.get_mut(name.slot())?.take_if(|conn| conn.name == name)
    }
}

#[cfg(test)]
mod tests;
