//! Bytes in and out: receive, write, close.
//!
//! ```text
//! recv into the worker's buffer ──► received ──► obey: writes lend from that buffer ──► reclaim
//! ```
//!
//! No read is tried that is known to find nothing: a buffer that was not filled means that the
//! socket is empty until the next edge, unless the peer is done.

use std::io::IoSlice;

use engine::{ConnId, PARTS_MAX, Parting};
use rustix::io::{Errno, Result};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};

use super::Worker;
use crate::conn::{Conn, Family, Input, Output};
use crate::dial::text;
use crate::reactor::{Interest, Token};

impl Worker {
    /// Reads what there is, up to one turn's share, and tells of the end that nobody reads on to.
    pub(super) fn receive(&mut self, name: ConnId, buffer: &mut [u8]) {
        for _ in 0..SHARE {
            let Some(conn) = self.conns.find(name).filter(|conn| conn.may_read()) else {
                return self.tell_end(name);
            };
            let Some(socket) = &conn.socket else { return };
            match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((count, _)) => {
                    conn.input = match conn.input {
                        _ if count == 0 => Input::Ended,
                        Input::Waiting if count < buffer.len() => Input::Quiet,
                        input => input,
                    };
                    let chunk = &buffer[..count];
                    self.engine.received(name, chunk, self.now);
                    self.obey(chunk);
                    self.engine.reclaim(chunk, self.now);
                    self.obey(&[]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if conn.input == Input::Waiting => conn.input = Input::Quiet,
                Err(error) => {
                    // A peer that is done leaves no reader waiting, so this is not its plain end.
                    let error = if error == Errno::AGAIN { Errno::CONNRESET } else { error };
                    self.lose(name, error);
                    self.obey(&[]);
                }
            }
        }
        self.queue(name);
    }

    /// Writes what the engine has for this connection, as far as there is room.
    pub(super) fn write(&mut self, name: ConnId, chunk: &[u8]) {
        let Some(conn) = self.conns.find(name) else { return };
        while conn.may_write() {
            let Some(socket) = &conn.socket else { return };
            let mut parts: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
            let count = self.engine.gather(name, chunk, &mut parts);
            let written = match &parts[..count] {
                [] => return,
                [part] => send(socket, part, SendFlags::NOSIGNAL),
                parts => send_parts(socket, parts),
            };
            match written {
                Ok(sent) => self.engine.sent(name, sent, self.now),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    conn.output = Output::Full;
                    if !conn.armed {
                        // Without room and without the edge, the time limits of the engine remain.
                        let token = Token::Conn(name);
                        conn.armed =
                            self.reactor.modify(socket, token, Interest::ReadWrite).is_ok();
                    }
                }
                Err(error) => return self.fail_write(name, error),
            }
        }
    }

    /// Writes on after an edge has told of room.
    pub(super) fn write_on(&mut self, name: ConnId) {
        if let Some(conn) = self.conns.find(name) {
            conn.output = Output::Room;
        }
        self.write(name, &[]);
        if let Some(conn) = self.conns.find(name)
            && let Conn { family: Family::Unix, armed: true, output: Output::Room, .. } = conn
            && let Some(socket) = &conn.socket
        {
            // A Unix socket would wake us at every read of the peer.
            conn.armed = self.reactor.modify(socket, Token::Conn(name), Interest::Read).is_err();
        }
        self.obey(&[]);
    }

    /// Closes a connection after its last bytes.
    pub(super) fn close(&mut self, name: ConnId, chunk: &[u8]) {
        let farewell = self.engine.farewell(name, chunk);
        let Some(conn) = self.conns.remove(name) else { return };
        self.dials.dials.retain(|dial| dial.conn != name);
        let Some(socket) = conn.socket else { return self.reach.names.forget(self.id, name) };
        if conn.output == Output::Failed || conn.input == Input::Ended && farewell.bytes.is_empty()
        {
            return;
        }
        match farewell.parting {
            Parting::Close if farewell.bytes.is_empty() => {}
            Parting::Close => {
                // The peer is expected to take a message this small; if not, it hears the close.
                let _ = send(&socket, &farewell.bytes, SendFlags::NOSIGNAL);
            }
            Parting::Drain => {
                if self.lingering.part(socket, farewell.bytes, self.now)
                    && let Some((number, socket)) = self.lingering.last()
                {
                    let token = Token::Lingering(number);
                    // Without the edge, the deadline closes it.
                    let _ = self.reactor.modify(socket, token, Interest::ReadWrite);
                }
            }
        }
    }

    /// Tells the engine that a connection is dead.
    pub(super) fn lose(&mut self, name: ConnId, error: Errno) {
        if let Some(conn) = self.conns.find(name) {
            conn.input = Input::Ended;
            conn.output = Output::Failed;
            self.engine.broken(name, &text(error), self.now);
        }
    }

    /// A peer that closed may have said why before: that is read first, if anybody wants to read
    /// it.
    fn fail_write(&mut self, name: ConnId, error: Errno) {
        let Some(conn) = self.conns.find(name) else { return };
        if !conn.wanted || conn.input == Input::Ended {
            return self.lose(name, error);
        }
        conn.output = Output::Failed;
        conn.input = Input::Ending;
        self.queue(name);
    }
}

fn send_parts(socket: &std::os::fd::OwnedFd, parts: &[&[u8]]) -> Result<usize> {
    let mut slices = [IoSlice::new(&[]); PARTS_MAX];
    for (slice, part) in slices.iter_mut().zip(parts) {
        *slice = IoSlice::new(part);
    }
    let slices = &slices[..parts.len()];
    sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
}

/// How many buffers one connection may fill in a turn (PgBouncer: `sbuf_loopcnt`).
const SHARE: usize = 5;
