//! Listeners: opening them, and accepting from them.
//!
//! ```text
//! listen_addr, listen_port, unix_socket_dir ──► open ──► Listener, shared by all workers
//! Listener ──► accept ──► a socket that does not block, and who is at the other end
//! ```
//!
//! The options of TCP sockets are inherited from the listener: they are set once, here.
//! Knows no workers and no reactor.

use std::fs::{self, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::sync::Arc;

use config::Settings;
use engine::Peer;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::io::{Errno, Result as IoResult};
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, acceptfrom_with, bind,
    connect, getsockname, listen, socket_with, sockopt,
};

use crate::conn::Family;
use crate::identity;
use crate::tcp::Tcp;

/// One socket that connections come in at.
pub(crate) struct Listener {
    socket: OwnedFd,
    place: Place,
}

/// Where a listener listens.
enum Place {
    Tcp(SocketAddr),
    Unix { path: String, port: u16 },
}

impl Listener {
    /// TCP or Unix.
    pub(crate) fn family(&self) -> Family {
        match self.place {
            Place::Tcp(_) => Family::Tcp,
            Place::Unix { .. } => Family::Unix,
        }
    }

    /// The file that is to be removed when the process ends.
    pub(crate) fn file(&self) -> Option<&str> {
        match &self.place {
            Place::Unix { path, .. } if !path.starts_with('@') => Some(path),
            _ => None,
        }
    }

    /// Accepts one connection.
    ///
    /// # Errors
    /// What accept4(2) says: `AGAIN` when there is none.
    pub(crate) fn accept(&self) -> IoResult<(OwnedFd, Peer)> {
        let (socket, from) = acceptfrom_with(&self.socket, NONBLOCK)?;
        let peer = match &self.place {
            Place::Tcp(at) => {
                // A peer without an address has gone already.
                let from =
                    from.ok_or(Errno::CONNABORTED)?.try_into().or(Err(Errno::CONNABORTED))?;
                Peer::Tcp { from, at: own_address(&socket, *at) }
            }
            Place::Unix { port, .. } => {
                let peer = getsockopt(&socket, PeerCredentials).or(Err(Errno::CONNABORTED))?;
                // The process may live in a namespace that we cannot see: then its id is 0.
                let pid = u32::try_from(peer.pid()).unwrap_or(0);
                Peer::Unix { pid, uid: peer.uid(), port: *port }
            }
        };
        Ok((socket, peer))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::fmt::Display for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Place::Tcp(at) => write!(f, "{at}"),
            Place::Unix { path, .. } => write!(f, "unix:{path}"),
        }
    }
}

/// Opens all listeners that the settings ask for; an address that does not work is logged and left
/// out.
///
/// # Errors
/// When none is left or there is no `unix_socket_group`, as text for the log.
pub(crate) fn open(settings: &Settings) -> Result<Vec<Listener>, String> {
    // Before anything is open: a socket for the wrong group is worse than none.
    let group = settings.unix_socket_group.as_deref().filter(|group| !group.is_empty());
    let group = group.map(identity::group).transpose()?;
    let mut listeners = Vec::new();
    for address in addresses(settings) {
        match open_tcp(address, settings) {
            Ok(listener) => listeners.push(listener),
            Err(error) => log::warn!("could not listen on {address}: {error}"),
        }
    }
    if let Some(path) = unix_path(settings) {
        match open_unix(&path, settings, group) {
            Ok(listener) => listeners.push(listener),
            Err(error) => log::warn!("could not listen on unix:{path}: {error}"),
        }
    }
    if listeners.is_empty() {
        return Err(
            "nowhere to listen on: check listen_addr, listen_port and unix_socket_dir".into()
        );
    }
    for listener in &listeners {
        log::info!("listening on {listener}");
    }
    Ok(listeners)
}

/// Gives the TCP listeners the options of a new configuration; connections from here on have them.
pub(crate) fn retune(listeners: &[Arc<Listener>], old: &Settings, new: &Settings) {
    let (before, options) = (Tcp::new(old), Tcp::new(new));
    if before == options {
        return;
    }
    for listener in listeners.iter().filter(|listener| listener.family() == Family::Tcp) {
        if let Err(error) = options.retune_listener(&**listener) {
            log::warn!("could not set the TCP options of {listener}: {error}");
        }
    }
    if options.keeps_buffers_of(&before) {
        log::warn!("tcp_socket_buffer = 0 takes effect for clients after a restart");
    }
}

/// The path of the Unix socket, if there is to be one; one that starts with `@` is in the abstract
/// namespace.
pub(crate) fn unix_path(settings: &Settings) -> Option<String> {
    let folder = settings.unix_socket_dir.as_deref().filter(|folder| !folder.is_empty())?;
    Some(format!("{folder}/.s.PGSQL.{}", settings.listen_port))
}

/// Whether a process answers at this Unix socket.
pub(crate) fn is_answered(path: &str) -> bool {
    let dial = || -> IoResult<()> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, NONBLOCK, None)?;
        connect(&socket, &unix_address(path)?)
    };
    // A full queue has somebody behind it.
    matches!(dial(), Ok(()) | Err(Errno::AGAIN))
}

/// The address of a Unix socket by its path; `@name` is in the abstract namespace.
pub(crate) fn unix_address(path: &str) -> IoResult<SocketAddrUnix> {
    match path.strip_prefix('@') {
        Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        None => SocketAddrUnix::new(path),
    }
}

fn addresses(settings: &Settings) -> Vec<SocketAddr> {
    let port = settings.listen_port;
    let mut found: Vec<SocketAddr> = Vec::new();
    for host in &settings.listen_addr {
        if host == "*" {
            found.push((Ipv4Addr::UNSPECIFIED, port).into());
            found.push((Ipv6Addr::UNSPECIFIED, port).into());
        } else if let Ok(ip) = host.parse::<IpAddr>() {
            found.push((ip, port).into());
        } else {
            match (host.as_str(), port).to_socket_addrs() {
                Ok(addresses) => found.extend(addresses),
                Err(error) => log::warn!("could not look up listen_addr \"{host}\": {error}"),
            }
        }
    }
    let mut distinct = Vec::new();
    for address in found {
        if !distinct.contains(&address) {
            distinct.push(address);
        }
    }
    distinct
}

fn open_tcp(at: SocketAddr, settings: &Settings) -> IoResult<Listener> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, NONBLOCK, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    if settings.so_reuseport {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    Tcp::new(settings).tune_listener(&socket)?;
    bind(&socket, &at)?;
    listen(&socket, settings.listen_backlog)?;
    Ok(Listener { socket, place: Place::Tcp(at) })
}

/// A file that nobody answers at is left from a process that has died: [`is_answered`] was asked
/// before.
fn open_unix(path: &str, settings: &Settings, group: Option<u32>) -> std::io::Result<Listener> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, NONBLOCK, None)?;
    let in_filesystem = !path.starts_with('@');
    if in_filesystem && fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    bind(&socket, &unix_address(path)?)?;
    if in_filesystem {
        chown(path, None, group)?;
        fs::set_permissions(path, Permissions::from_mode(settings.unix_socket_mode))?;
    }
    listen(&socket, settings.listen_backlog)?;
    Ok(Listener {
        socket,
        place: Place::Unix { path: path.to_owned(), port: settings.listen_port },
    })
}

/// Our end of an accepted connection: only a listener on all addresses has to ask.
fn own_address(socket: &OwnedFd, at: SocketAddr) -> SocketAddr {
    if !at.ip().is_unspecified() {
        return at;
    }
    let own: Option<SocketAddr> = getsockname(socket).ok().and_then(as_ip);
    own.unwrap_or(at)
}

/// The address as IP address and port, if it is one.
pub(crate) fn as_ip(address: SocketAddrAny) -> Option<SocketAddr> {
    address.try_into().ok()
}

/// Sockets here never block and are not inherited.
pub(crate) const NONBLOCK: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

#[cfg(test)]
mod tests;
