//! Opening connections to servers, without waiting for them.
//!
//! ```text
//! the addresses of a host ──► connect ──► (in progress) ──► room to write ──► SO_ERROR
//!                              ▲                                             │
//!                              └────────────── the next address ◄────────────┘
//! ```
//!
//! Knows no reactor: whoever dials registers the socket and hears of the room to write.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use engine::{ConnId, Local, Refused};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketType, connect, getsockname, socket_with, sockopt};

use crate::listen::{NONBLOCK, as_ip, unix_address};
use crate::tcp::Tcp;

/// A TCP connection that is being opened.
pub(crate) struct Dial {
    /// The connection.
    pub(crate) conn: ConnId,
    /// The address that is tried.
    at: Option<SocketAddr>,
    /// The addresses to try after that.
    rest: VecDeque<SocketAddr>,
    why: Refused,
}

/// Why no address is being tried.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// There is none left; this is what the last one said.
    Refused(Refused),
    /// This process or system has nothing left to open a socket with, which says nothing of the
    /// server: the same address is to be tried again later.
    Scarce,
}

impl Dial {
    /// Prepares to try these addresses in their order.
    pub(crate) fn new(conn: ConnId, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        let rest = addresses.into_iter().collect();
        Self { conn, at: None, rest, why: Refused("host name has no address".into()) }
    }

    /// Turns to the next address that can be tried.
    pub(crate) fn next(&mut self, options: &Tcp) -> std::result::Result<OwnedFd, Halt> {
        while let Some(at) = self.rest.pop_front() {
            self.at = Some(at);
            match tcp(at, options) {
                Ok(socket) => return Ok(socket),
                Err(error) if is_scarcity(error) => {
                    self.rest.push_front(at);
                    return Err(Halt::Scarce);
                }
                Err(error) => self.why = refused(error),
            }
        }
        Err(Halt::Refused(self.why.clone()))
    }

    /// What has come of the current address, once the socket can be written to.
    pub(crate) fn outcome(&mut self, socket: &OwnedFd) -> Option<Local> {
        let outcome = sockopt::socket_error(socket).and_then(|error| error).and_then(|()| {
            let own = as_ip(getsockname(socket)?).ok_or(Errno::AFNOSUPPORT)?;
            Ok(Local { tcp: self.at.map(|at| (at, own)) })
        });
        outcome.inspect_err(|error| self.why = refused(*error)).ok()
    }
}

/// Connects to a Unix socket, which succeeds or fails at once.
///
/// # Errors
/// What connect(2) says: `AGAIN` when the server's queue is full.
pub(crate) fn unix(path: &str) -> Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, NONBLOCK, None)?;
    connect(&socket, &unix_address(path)?)?;
    Ok(socket)
}

/// Whether the error says that this process or system has too little of something.
pub(crate) fn is_scarcity(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
}

/// The error in the words of the operating system.
pub(crate) fn refused(error: Errno) -> Refused {
    Refused(text(error))
}

/// The error in the words of the operating system, without its number.
pub(crate) fn text(error: Errno) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn tcp(at: SocketAddr, options: &Tcp) -> Result<OwnedFd> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, NONBLOCK, None)?;
    options.tune(&socket)?;
    match connect(&socket, &at) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
