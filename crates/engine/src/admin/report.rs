//! What workers tell each other about themselves for SHOW.
//!
//!     the console's worker ──► Gather ──► every other worker
//!     every worker ──► Report: its part of the pools, or of the connections ──► put together here
//!
//! Parts travel by value. Knows neither columns nor formats.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::PoolMode;

use crate::mail::PoolKey;
use crate::stats::Counters;
use crate::time::Time;

/// What is gathered from all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// What there is in each pool.
    Pools,
    /// The clients, one by one.
    Clients,
    /// Whether there is a client of this number.
    Client(u64),
    /// Nothing, but not before all that was buffered has left or SUSPEND is over.
    Flushed,
    /// The servers, one by one.
    Servers,
    /// Both, those that log in included.
    Sockets,
}

/// One worker's part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Of [`Table::Pools`].
    Pools(Census),
    /// Of [`Table::Client`].
    Client(bool),
    /// Of [`Table::Flushed`].
    Flushed,
    /// Of [`Table::Clients`], [`Table::Servers`] or [`Table::Sockets`].
    Sockets(Vec<Socket>),
}

/// What there is on one worker, or on all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    pub(crate) pools: BTreeMap<PoolKey, Figures>,
    /// The clients that have logged in, by user.
    pub(crate) users: BTreeMap<Arc<str>, u32>,
    /// The client connections that have not logged in.
    pub(crate) logins: u32,
    pub(crate) memory: Memory,
}

/// What there is of things of several kinds, whichever pool they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Memory {
    pub(crate) clients: Stock,
    pub(crate) servers: Stock,
    pub(crate) pools: Stock,
    /// Requests that servers have not answered.
    pub(crate) requests: Stock,
    /// Blocks of bytes that wait.
    pub(crate) blocks: Stock,
    /// Sets of parameters.
    pub(crate) params: Stock,
    /// Keys that were derived or learnt.
    pub(crate) credentials: Stock,
}

/// The size of one thing in bytes, how many there are, and how many are kept for later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stock {
    pub(crate) size: usize,
    pub(crate) used: u64,
    pub(crate) free: u64,
}

/// What there is in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    pub(crate) mode: PoolMode,
    pub(crate) clients: Clients,
    pub(crate) servers: Servers,
    /// Since when the oldest client waits.
    pub(crate) oldest: Option<Time>,
    pub(crate) counters: Counters,
    /// What was counted since the last roll but one, and how many microseconds ago that was.
    pub(crate) recent: Counters,
    pub(crate) span: u64,
}

/// The clients of a pool by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clients {
    pub(crate) active: u32,
    pub(crate) waiting: u32,
    pub(crate) active_cancel: u32,
    pub(crate) waiting_cancel: u32,
}

/// The servers of a pool by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Servers {
    pub(crate) active: u32,
    pub(crate) active_cancel: u32,
    pub(crate) being_canceled: u32,
    pub(crate) idle: u32,
    pub(crate) used: u32,
    pub(crate) tested: u32,
    pub(crate) login: u32,
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `C` or `S`.
    pub(crate) kind: &'static str,
    /// Who, and where to; `None` as long as nobody has said.
    pub(crate) login: Option<(Arc<str>, Arc<str>)>,
    pub(crate) state: &'static str,
    pub(crate) ends: Ends,
    pub(crate) connected: Time,
    pub(crate) requested: Time,
    /// How long it has waited for a server, in microseconds.
    pub(crate) wait: u64,
    pub(crate) close_needed: bool,
    /// The name in log lines.
    pub(crate) pointer: u64,
    /// That of its partner.
    pub(crate) link: Option<u64>,
    /// The process at the other end.
    pub(crate) pid: u32,
    pub(crate) application_name: Vec<u8>,
    pub(crate) number: u64,
    pub(crate) buffers: Buffers,
}

/// What waits at a connection, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Buffers {
    /// What it has sent and nobody has taken yet.
    pub(crate) kept: u64,
    /// What is still to come of a message of which the first part has gone on.
    pub(crate) rest: u64,
    /// What has been sent to it of the current block, and what has not.
    pub(crate) sent: u64,
    pub(crate) unsent: u64,
}

impl Buffers {
    pub(crate) fn hold_something(self) -> bool {
        self.kept > 0 || self.rest > 0 || self.unsent > 0
    }
}

/// The addresses of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ends {
    pub(crate) peer: String,
    pub(crate) peer_port: u16,
    pub(crate) own: String,
    pub(crate) own_port: u16,
}

impl Census {
    /// Adds what another worker has.
    pub(crate) fn add(&mut self, other: Self) {
        for (key, figures) in other.pools {
            match self.pools.get_mut(&key) {
                Some(known) => known.add(&figures),
                None => drop(self.pools.insert(key, figures)),
            }
        }
        for (user, clients) in other.users {
            *self.users.entry(user).or_default() += clients;
        }
        self.logins += other.logins;
        self.memory.add(&other.memory);
    }

    /// The figures of all pools of each database.
    pub(crate) fn by_database(&self) -> BTreeMap<&str, Figures> {
        let mut databases: BTreeMap<&str, Figures> = BTreeMap::new();
        for (key, figures) in &self.pools {
            databases.entry(&key.database).or_default().add(figures);
        }
        databases
    }

    /// The figures of everything.
    pub(crate) fn in_all(&self) -> Figures {
        let mut all = Figures::default();
        for figures in self.pools.values() {
            all.add(figures);
        }
        all
    }
}

impl Memory {
    fn add(&mut self, other: &Self) {
        self.clients.add(other.clients);
        self.servers.add(other.servers);
        self.pools.add(other.pools);
        self.requests.add(other.requests);
        self.blocks.add(other.blocks);
        self.params.add(other.params);
        self.credentials.add(other.credentials);
    }
}

impl Stock {
    fn add(&mut self, other: Self) {
        self.size = self.size.max(other.size);
        self.used += other.used;
        self.free += other.free;
    }
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.clients.add(other.clients);
        self.servers.add(other.servers);
        self.oldest = match (self.oldest, other.oldest) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.counters.add(&other.counters);
        self.recent.add(&other.recent);
        self.span = self.span.max(other.span);
    }

    /// PgBouncer's averages.
    pub(crate) fn averages(&self) -> Counters {
        self.recent.averages(self.span)
    }
}

impl Clients {
    fn add(&mut self, other: Self) {
        self.active += other.active;
        self.waiting += other.waiting;
        self.active_cancel += other.active_cancel;
        self.waiting_cancel += other.waiting_cancel;
    }

    /// Those that have logged in.
    pub(crate) fn logged_in(self) -> u32 {
        self.active + self.waiting
    }
}

impl Servers {
    fn add(&mut self, other: Self) {
        self.active += other.active;
        self.active_cancel += other.active_cancel;
        self.being_canceled += other.being_canceled;
        self.idle += other.idle;
        self.used += other.used;
        self.tested += other.tested;
        self.login += other.login;
    }

    /// All of them, but not the connections that carry a cancel request.
    pub(crate) fn in_all(self) -> u32 {
        self.active + self.being_canceled + self.idle + self.used + self.tested + self.login
    }
}
