//! The options of TCP sockets: keepalive, timeouts, buffers, and when a connection is handed over.
//!
//! ```text
//! settings ──► Tcp ──► a listener, whose connections inherit them
//!                  └─► a socket to a server, before it connects
//! ```
//!
//! A connection that is accepted costs no system call here. Of what is the kernel's default
//! nothing is set; a listener that is to have the default back takes it from a fresh socket. Knows
//! no addresses and no connections.

use std::os::fd::AsFd;
use std::time::Duration;

use config::Settings;
use nix::sys::socket::setsockopt;
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, SocketType, socket_with, sockopt};

use crate::listen::NONBLOCK;

/// What the settings say of TCP sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tcp {
    keepalive: Option<Keepalive>,
    /// Milliseconds; 0 is the kernel's default.
    user_timeout: u32,
    /// Bytes; 0 leaves the sizes to the kernel.
    buffer: u32,
    defer_accept: bool,
}

/// When probes are sent, how far apart, and how many; 0 is the kernel's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Keepalive {
    idle: u32,
    interval: u32,
    count: u32,
}

impl Tcp {
    /// Takes the options from the settings. PgBouncer: without `tcp_keepalive` those of the probes
    /// do not count.
    pub(crate) fn new(settings: &Settings) -> Self {
        let keepalive = Keepalive {
            idle: settings.tcp_keepidle,
            interval: settings.tcp_keepintvl,
            count: settings.tcp_keepcnt,
        };
        Self {
            keepalive: settings.tcp_keepalive.then_some(keepalive),
            user_timeout: settings.tcp_user_timeout,
            buffer: settings.tcp_socket_buffer,
            defer_accept: settings.tcp_defer_accept,
        }
    }

    /// Gives a fresh socket these options.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub(crate) fn tune(&self, socket: impl AsFd) -> Result<()> {
        let socket = socket.as_fd();
        sockopt::set_tcp_nodelay(socket, true)?;
        if let Some(Keepalive { idle, interval, count }) = self.keepalive {
            sockopt::set_socket_keepalive(socket, true)?;
            if idle > 0 {
                sockopt::set_tcp_keepidle(socket, seconds(idle))?;
            }
            if interval > 0 {
                sockopt::set_tcp_keepintvl(socket, seconds(interval))?;
            }
            if count > 0 {
                sockopt::set_tcp_keepcnt(socket, count)?;
            }
        }
        if self.user_timeout > 0 {
            sockopt::set_tcp_user_timeout(socket, self.user_timeout)?;
        }
        self.size_buffers(socket)
    }

    /// Gives a fresh listener these options, before it listens: the buffer's size is part of the
    /// handshake.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub(crate) fn tune_listener(&self, listener: impl AsFd) -> Result<()> {
        self.tune(listener.as_fd())?;
        if self.defer_accept { defer_accept(listener, true) } else { Ok(()) }
    }

    /// Gives a listener these options that had others; its next connections have them. Only the
    /// size of the buffers cannot be left to the kernel again.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub(crate) fn retune_listener(&self, listener: impl AsFd) -> Result<()> {
        let listener = listener.as_fd();
        let fresh = socket_with(AddressFamily::INET, SocketType::STREAM, NONBLOCK, None)?;
        let Keepalive { idle, interval, count } = self.keepalive.unwrap_or_default();
        let idle = if idle > 0 { seconds(idle) } else { sockopt::tcp_keepidle(&fresh)? };
        let interval =
            if interval > 0 { seconds(interval) } else { sockopt::tcp_keepintvl(&fresh)? };
        let count = if count > 0 { count } else { sockopt::tcp_keepcnt(&fresh)? };
        sockopt::set_socket_keepalive(listener, self.keepalive.is_some())?;
        sockopt::set_tcp_keepidle(listener, idle)?;
        sockopt::set_tcp_keepintvl(listener, interval)?;
        sockopt::set_tcp_keepcnt(listener, count)?;
        sockopt::set_tcp_user_timeout(listener, self.user_timeout)?;
        self.size_buffers(listener)?;
        defer_accept(listener, self.defer_accept)
    }

    /// Whether the buffers had a size that a listener cannot give up.
    pub(crate) fn keeps_buffers_of(&self, before: &Self) -> bool {
        self.buffer == 0 && before.buffer > 0
    }

    fn size_buffers(&self, socket: impl AsFd) -> Result<()> {
        if self.buffer > 0 {
            let size = self.buffer as usize;
            sockopt::set_socket_send_buffer_size(socket.as_fd(), size)?;
            sockopt::set_socket_recv_buffer_size(socket, size)?;
        }
        Ok(())
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

fn defer_accept(listener: impl AsFd, on: bool) -> Result<()> {
    let seconds = if on { &DEFERRED } else { &0 };
    let set = setsockopt(&listener.as_fd(), DeferAccept, seconds);
    set.map_err(|error| Errno::from_raw_os_error(error as i32))
}

/// Hand over a connection when its client has said something, or after so many seconds.
#[derive(Clone, Copy)]
struct DeferAccept;

nix::setsockopt_impl!(
    DeferAccept,
    libc::IPPROTO_TCP,
    libc::TCP_DEFER_ACCEPT,
    usize,
    nix::sys::socket::sockopt::SetUsize
);

/// PgBouncer's value, which is long enough for any client that means to speak. A longer one would
/// keep silent clients where they fill the short queue of half-open connections, and where neither
/// `max_client_conn` nor `client_login_timeout` sees them.
const DEFERRED: usize = 1;

#[cfg(test)]
mod tests;
