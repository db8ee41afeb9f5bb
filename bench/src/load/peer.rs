//! One connection of the load and what it answers to what it hears.
//!
//!     client:  startup ──►  ◄── … ReadyForQuery,   then  Query ──►  ◄── … ReadyForQuery,  again
//!     server:  ◄── startup  welcome ──►,           then  ◄── Query  answer ──►,           again
//!
//! Bytes in, bytes out: the socket is here only to be kept. A message cut by a read waits in
//! `rest`, which stays empty in the steady state.

use std::net::TcpStream;

use anyhow::{Result, bail};
use wire::startup::Packet;
use wire::tag::{backend, frontend};
use wire::{Fields, frame, frontend as say, startup};

use super::script::Script;

/// A connection of the load.
pub(super) struct Peer {
    pub(super) socket: TcpStream,
    role: Role,
    rest: Vec<u8>,
}

/// Whom a connection plays, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A client that waits for the end of its login.
    ClientLogin,
    /// A client that asks again and again.
    Client,
    /// A server that waits for a startup packet.
    ServerLogin,
    /// A server that answers queries.
    Server,
}

/// What came of some bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    used: usize,
    /// Queries whose answer is complete.
    pub(super) transactions: u64,
    /// Clients logged in: none or one.
    pub(super) logins: usize,
    /// The peer has said goodbye.
    pub(super) farewell: bool,
}

impl Peer {
    pub(super) fn new(socket: TcpStream, role: Role) -> Self {
        Self { socket, role, rest: Vec::new() }
    }

    pub(super) fn is_client(&self) -> bool {
        self.role.is_client()
    }

    /// Takes bytes off the network and appends what this peer says to them.
    pub(super) fn hears(
        &mut self,
        bytes: &[u8],
        script: &Script,
        out: &mut Vec<u8>,
    ) -> Result<Heard> {
        if self.rest.is_empty() {
            let heard = self.role.hears(bytes, script, out)?;
            self.rest.extend_from_slice(&bytes[heard.used..]);
            return Ok(heard);
        }
        self.rest.extend_from_slice(bytes);
        let heard = self.role.hears(&self.rest, script, out)?;
        self.rest.drain(..heard.used);
        Ok(heard)
    }
}

impl Role {
    pub(super) fn client() -> Self {
        Self::ClientLogin
    }

    pub(super) fn server() -> Self {
        Self::ServerLogin
    }

    fn is_client(self) -> bool {
        matches!(self, Self::ClientLogin | Self::Client)
    }

    fn hears(&mut self, bytes: &[u8], script: &Script, out: &mut Vec<u8>) -> Result<Heard> {
        let mut heard = Heard::default();
        if *self == Self::ServerLogin {
            self.startup(bytes, script, out, &mut heard)?;
        }
        if *self == Self::ServerLogin {
            return Ok(heard);
        }
        while let Some(header) = frame::header(&bytes[heard.used..])? {
            let total = usize::try_from(header.total)?;
            let Some(message) = bytes[heard.used..].get(..total) else {
                break;
            };
            heard.used += total;
            let body = frame::body(message);
            if *self == Self::Server {
                answer(header.tag, body, script, out, &mut heard)?;
            } else if self.has_answer(header.tag, body, &mut heard)? {
                out.extend_from_slice(&script.query);
            }
        }
        Ok(heard)
    }

    /// A server's first packets, up to its welcome.
    fn startup(
        &mut self,
        bytes: &[u8],
        script: &Script,
        out: &mut Vec<u8>,
        heard: &mut Heard,
    ) -> Result<()> {
        while let Some((packet, length)) = startup::packet(&bytes[heard.used..])? {
            heard.used += length;
            match packet {
                Packet::SslRequest | Packet::GssEncRequest => out.push(b'N'),
                Packet::Cancel(_) => heard.farewell = true,
                Packet::Startup(_) => {
                    out.extend_from_slice(&script.welcome);
                    *self = Self::Server;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether a client has all of its answer and asks again.
    fn has_answer(&mut self, tag: u8, body: &[u8], heard: &mut Heard) -> Result<bool> {
        match (tag, &self) {
            (backend::ERROR_RESPONSE, _) => bail!("a client heard: {}", error_text(body)),
            (backend::READY_FOR_QUERY, Self::ClientLogin) => heard.logins += 1,
            (backend::READY_FOR_QUERY, _) => heard.transactions += 1,
            _ => return Ok(false),
        }
        *self = Self::Client;
        Ok(true)
    }
}

/// A server's word on one message.
fn answer(
    tag: u8,
    body: &[u8],
    script: &Script,
    out: &mut Vec<u8>,
    heard: &mut Heard,
) -> Result<()> {
    match tag {
        frontend::QUERY => script.answer(say::query(body)?, out),
        frontend::TERMINATE => heard.farewell = true,
        _ => bail!("the fake server does not understand message {:?}", char::from(tag)),
    }
    Ok(())
}

fn error_text(body: &[u8]) -> String {
    let message = Fields::parse(body).ok().and_then(|fields| fields.message().map(<[u8]>::to_vec));
    String::from_utf8_lossy(&message.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
