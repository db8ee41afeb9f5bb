//! Looking up the host names of servers, on threads of their own: a name server that does not
//! answer must not hold up logins.
//!
//! ```text
//! worker ──► ask (never waits) ──► askers of this name ──► one lookup ──► a letter to each asker
//!        └─► forget: the connection has gone
//! ```
//!
//! A name is looked up once at a time, however many connections wait for it, and not at all when
//! none does any more. So one dead name occupies one thread, and what waits is bounded by the
//! connections being opened.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use engine::{ConnId, WorkerId};

use crate::post::{Letter, Post};

/// The front door to the lookups, shared by all workers.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    some: Condvar,
}

#[derive(Default)]
struct State {
    /// Every name that was ever asked for; they come from the configuration.
    hosts: BTreeMap<String, Host>,
    /// Names that no thread has taken yet, oldest first.
    waiting: VecDeque<String>,
}

#[derive(Default)]
struct Host {
    askers: Vec<Asker>,
    /// Whether the name waits or is being looked up.
    pending: bool,
    /// How often it was dialled: each dial starts at another address.
    dials: usize,
}

#[derive(PartialEq, Eq)]
struct Asker {
    by: WorkerId,
    conn: ConnId,
    port: u16,
}

impl Names {
    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(post: &Arc<Post>) -> std::io::Result<Self> {
        let names = Self::default();
        for _ in 0..THREADS {
            let (names, post) = (names.clone(), Arc::clone(post));
            thread::Builder::new().name("names".into()).spawn(move || names.serve(&post))?;
        }
        Ok(names)
    }

    /// Has this host name looked up for a connection of the worker `by`.
    pub(crate) fn ask(&self, by: WorkerId, conn: ConnId, name: String, port: u16) {
        let mut state = self.lock();
        let host = state.hosts.entry(name.clone()).or_default();
        host.askers.push(Asker { by, conn, port });
        if !std::mem::replace(&mut host.pending, true) {
            state.waiting.push_back(name);
            self.0.some.notify_one();
        }
    }

    /// Leaves out a connection that has gone.
    pub(crate) fn forget(&self, by: WorkerId, conn: ConnId) {
        for host in self.lock().hosts.values_mut() {
            host.askers.retain(|asker| (asker.by, asker.conn) != (by, conn));
        }
    }

    fn serve(&self, post: &Post) {
        loop {
            let name = self.take();
            // Kept as socket addresses: those of a link have a scope besides the IP address.
            let found = (name.as_str(), 0).to_socket_addrs();
            let found = found.map_err(|error| error.to_string());
            let found = found.map(Iterator::collect);
            for (asker, found) in self.finish(&name, &found) {
                post.send(asker.by, Letter::Resolved(asker.conn, found));
            }
        }
    }

    /// Waits for a name that somebody asks for.
    fn take(&self) -> String {
        let mut state = self.lock();
        loop {
            let Some(name) = state.waiting.pop_front() else {
                state = self.0.some.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            match state.hosts.get_mut(&name) {
                Some(host) if host.askers.is_empty() => host.pending = false,
                _ => return name,
            }
        }
    }

    /// Ends a lookup; returns what each asker is told.
    fn finish(&self, name: &str, found: &Found) -> Vec<(Asker, Found)> {
        let mut state = self.lock();
        let Some(host) = state.hosts.get_mut(name) else { return Vec::new() };
        host.pending = false;
        let askers = std::mem::take(&mut host.askers);
        let told = askers.into_iter().map(|asker| {
            host.dials = host.dials.wrapping_add(1);
            let told = found.clone().map(|all| in_turn(all, host.dials - 1, asker.port));
            (asker, told)
        });
        told.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The addresses of a name without their port, or why there are none.
type Found = Result<Vec<SocketAddr>, String>;

/// The addresses, beginning with another one each turn: one that does not answer uses up the time
/// of a whole dial.
fn in_turn(mut addresses: Vec<SocketAddr>, turn: usize, port: u16) -> Vec<SocketAddr> {
    if let Some(start) = turn.checked_rem(addresses.len()) {
        addresses.rotate_left(start);
    }
    for address in &mut addresses {
        address.set_port(port);
    }
    addresses
}

const THREADS: usize = 4;

#[cfg(test)]
mod tests;
