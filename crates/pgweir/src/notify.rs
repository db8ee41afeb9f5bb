//! Telling a supervisor how far the process is, as systemd's `Type=notify` units expect it.
//!
//! ```text
//! process up ──► READY=1          reload ──► RELOADING=1 … READY=1          end ──► STOPPING=1
//! every stats_period ──► STATUS=stats: …
//! ```
//!
//! One datagram each to the socket that the environment variable NOTIFY_SOCKET names
//! (sd_notify(3)); without it nobody wants to know. Does not know whether anybody has listened.

use std::env;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Result};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How far the process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State<'a> {
    /// It serves, from the start or again after a reload.
    Ready,
    /// It reads its configuration.
    Reloading,
    /// It serves, and this is how much.
    Status(&'a str),
    /// It is about to end.
    Stopping,
}

/// Tells the supervisor, if there is one.
pub(crate) fn tell(state: State<'_>) {
    let Some(to) = env::var_os("NOTIFY_SOCKET").filter(|to| !to.is_empty()) else { return };
    if let Err(error) = send(&to, &text(state)) {
        log::warn!("could not tell the supervisor at {}: {error}", to.display());
    }
}

fn text(state: State<'_>) -> String {
    match state {
        State::Ready => "READY=1\n".into(),
        State::Status(line) => format!("STATUS={line}\n"),
        State::Stopping => "STOPPING=1\n".into(),
        State::Reloading => {
            // Without the time, a `Type=notify-reload` unit would wait on.
            let now = clock_gettime(ClockId::Monotonic);
            let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
            format!("RELOADING=1\nMONOTONIC_USEC={micros}\n")
        }
    }
}

fn send(to: &OsStr, text: &str) -> Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.send_to_addr(text.as_bytes(), &address(to)?).map(drop)
}

/// A path, or `@` and a name in the abstract namespace.
fn address(to: &OsStr) -> Result<SocketAddr> {
    match to.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(to),
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => Err(Error::from(ErrorKind::Unsupported)),
    }
}

/// How long a supervisor may leave the queue full.
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
