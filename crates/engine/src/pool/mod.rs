//! Who gets which server, and when; knows names, times and limits, no bytes.
//!
//!     released ──► idle ──► next_claim: the oldest waiter, here or on another worker
//!     waiting  ──► launches: how many servers to open;  ──► share: whom to ask for a loan
//!
//! One [`Pool`] is one worker's part of a pool. What all workers share is in the `ledger`.

pub(crate) mod ledger;
pub(crate) mod route;
pub(crate) mod share;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use wire::{Fields, sqlstate};

use crate::client::Client;
use crate::ids::Id;
use crate::mail::PoolKey;
use crate::params::Params;
use crate::reason::{Author, Reason, Told};
use crate::server::{Requester, Server};
use crate::stats::{Counters, Windows};
use crate::time::Time;
use ledger::Slots;
use route::Target;
use share::Share;

/// The most servers of one pool that one worker connects at the same time.
pub(crate) const CONNECTS_MAX: usize = 4;

/// The least time between two attempts after a failure, whatever `server_login_retry` says: an
/// address that refuses at once must not keep a worker busy. Microseconds.
const RETRY_MIN: u64 = 100_000;

/// How many logins may end without a word before clients are told: a server that has crashed needs
/// a moment, one that never speaks is not PostgreSQL.
const VANISHED_MAX: u32 = 5;

/// How long a server that could not be reached is left alone, if `server_login_retry` is longer.
/// Microseconds.
const RETRY_UNREACHED: u64 = 1_000_000;

/// Names a pool in its engine.
pub(crate) type PoolId = Id<Pool>;

/// What new clients are told about the server: the parameters that it reported at login.
#[derive(Debug)]
pub struct Welcome {
    /// How many RECONNECTs and reloads had been heard of when that server was opened.
    pub(crate) epoch: u64,
    /// Where the server was that reported them.
    pub(crate) origin: Arc<Target>,
    /// ParameterStatus messages of the parameters that are not tracked, ready to be sent.
    pub(crate) fixed: Vec<u8>,
    /// The values of the tracked ones.
    pub(crate) params: Arc<Params>,
}

/// Why a server could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The text for log and clients.
    pub(crate) text: String,
    /// The SQLSTATE that the server gave, if it was the server that refused.
    pub(crate) sqlstate: Option<String>,
    /// The connection was there and ended without a word, as when a server crashes and restarts.
    pub(crate) vanished: bool,
}

impl Failure {
    /// A failure before the server has said anything.
    pub(crate) fn of_network(text: impl Into<String>) -> Self {
        Self { text: text.into(), sqlstate: None, vanished: false }
    }

    /// The connection has ended in the middle of a login, and nobody has said why.
    pub(crate) fn of_silence(text: impl Into<String>) -> Self {
        Self { vanished: true, ..Self::of_network(text) }
    }

    /// The server's ErrorResponse at login; any of its fields may be missing.
    pub(crate) fn of_server(fields: &Fields<'_>) -> Self {
        const TEXT_MAX: usize = 400;
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_MAX)]).into_owned()
        };
        Self {
            text: fields.message().map_or_else(|| "server login failed".into(), text),
            sqlstate: Some(fields.code().map_or_else(
                || sqlstate::CONNECTION_FAILURE.to_owned(),
                |code| String::from_utf8_lossy(&code[..code.len().min(5)]).into_owned(),
            )),
            vanished: false,
        }
    }

    /// Whether it may pass by itself soon, so that clients had better wait: the server starts up
    /// or has no connection left.
    pub(crate) fn is_temporary(&self) -> bool {
        let passing = [sqlstate::CANNOT_CONNECT_NOW, sqlstate::TOO_MANY_CONNECTIONS];
        self.sqlstate.as_deref().is_some_and(|code| passing.contains(&code))
    }

    /// How long no attempt is made after it: as long as `server_login_retry` says where the server
    /// has refused, but not much longer than it may take to come back where it could not be
    /// reached, because all clients are turned away meanwhile.
    fn pause(&self, retry: u64) -> u64 {
        let most = if self.sqlstate.is_some() { retry } else { retry.min(RETRY_UNREACHED) };
        most.max(RETRY_MIN)
    }

    /// What a client is told that has waited for it: the server's own words, or that it could not
    /// be reached.
    pub(crate) fn told(&self) -> Told {
        match self.sqlstate.clone() {
            Some(sqlstate) => {
                let (sqlstate, message) = (sqlstate.into(), self.text.clone());
                Told { author: Author::Server, sqlstate, message }
            }
            None => self.told_later(),
        }
    }

    /// What a client is told that comes while no attempt is made.
    pub(crate) fn told_later(&self) -> Told {
        let sqlstate = self.sqlstate.clone();
        let sqlstate = sqlstate.map_or(Cow::Borrowed(sqlstate::CONNECTION_FAILURE), Cow::Owned);
        let text = &self.text;
        let message =
            format!("server login has been failing, cached error: {text} (server_login_retry)");
        Told { author: Author::Pooler, sqlstate, message }
    }
}

/// The last failure, and when it happened.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) failure: Arc<Failure>,
    pub(crate) at: Time,
    /// How many attempts have failed in a row.
    pub(crate) times: u32,
}

impl Failed {
    /// This failure, after the one before it, if no login has succeeded in between.
    pub(crate) fn after(last: Option<&Self>, failure: Arc<Failure>, at: Time) -> Self {
        Self { failure, at, times: last.map_or(1, |last| last.times.saturating_add(1)) }
    }

    /// Whether clients had better wait for the next attempt.
    fn may_pass(&self) -> bool {
        self.failure.is_temporary() || self.failure.vanished && self.times <= VANISHED_MAX
    }

    /// Whether it is too early for another attempt; `retry` is `server_login_retry`.
    fn is_recent(&self, now: Time, retry: u64) -> bool {
        now < self.at + self.failure.pause(retry)
    }
}

/// One worker's part of a pool. Idle and waiting are lists; every other state is found at the
/// connection itself.
pub(crate) struct Pool {
    pub(crate) key: PoolKey,
    pub(crate) target: Arc<Target>,
    pub(crate) slots: Arc<Slots>,
    /// Idle servers; the one used last is at the back and is taken first.
    pub(crate) idle: VecDeque<Id<Server>>,
    /// Servers that have been idle for so long that they are checked before they are used.
    pub(crate) used: VecDeque<Id<Server>>,
    /// Clients that wait for a server, the oldest at the front.
    pub(crate) waiting: VecDeque<Id<Client>>,
    /// Clients that wait for the welcome, which the first login to a server brings.
    pub(crate) newcomers: Vec<Id<Client>>,
    /// Servers that connect or log in.
    pub(crate) connecting: usize,
    /// Servers that are checked or reset, and will be idle soon.
    pub(crate) tested: usize,
    /// Servers of this worker in all, those above included.
    pub(crate) servers: usize,
    /// The connections of this worker that name this pool, until they are gone altogether.
    pub(crate) tenants: usize,
    /// It is on the list of the pools to be looked at in the next round.
    pub(crate) is_watched: bool,
    pub(crate) share: Share,
    pub(crate) welcome: Option<Arc<Welcome>>,
    pub(crate) failed: Option<Failed>,
    pub(crate) door: Door,
    pub(crate) counters: Counters,
    /// Cancel requests that wait until fewer are under way.
    pub(crate) cancels: VecDeque<CancelRequest>,
    /// Connections that carry a cancel request.
    pub(crate) cancelling: usize,
    /// The counters of one and two periods ago, for averages.
    pub(crate) windows: Windows,
}

/// Whether a pool hands out servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// It does.
    Open,
    /// PAUSE: not now.
    Paused,
    /// SUSPEND: not now, but what there is stays.
    Suspended,
    /// Its database is not configured any more.
    Removed,
}

impl Door {
    /// Why a free server is closed, where none is handed out.
    pub(crate) fn reason(self) -> Option<Reason> {
        match self {
            Self::Open | Self::Suspended => None,
            Self::Paused => Some(Reason::Paused),
            Self::Removed => Some(Reason::DatabaseRemoved),
        }
    }
}

/// A cancel request for a client of this pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CancelRequest {
    /// The client whose query is to be cancelled.
    pub(crate) client: Id<Client>,
    /// The connection that asked for it.
    pub(crate) requester: Requester,
    /// When it came.
    pub(crate) at: Time,
}

/// Who is to have the next idle server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The oldest client that waits here.
    Client(Id<Client>),
    /// A client on another worker that is older by more than the lag, or nobody waits here.
    Worker(crate::ids::WorkerId),
    /// Nobody waits.
    Nobody,
}

impl Pool {
    pub(crate) fn new(key: PoolKey, target: Target, slots: Arc<Slots>) -> Self {
        Self {
            key,
            target: Arc::new(target),
            slots,
            idle: VecDeque::new(),
            used: VecDeque::new(),
            waiting: VecDeque::new(),
            newcomers: Vec::new(),
            connecting: 0,
            tested: 0,
            servers: 0,
            tenants: 0,
            is_watched: false,
            share: Share::default(),
            welcome: None,
            failed: None,
            door: Door::Open,
            counters: Counters::default(),
            cancels: VecDeque::new(),
            cancelling: 0,
            windows: Windows::new(),
        }
    }

    /// Who is to have the next idle server; `oldest` is since when the oldest client here waits.
    pub(crate) fn next_claim(&self, oldest: Option<Time>) -> Claim {
        match (self.waiting.front(), self.share.oldest_request()) {
            (Some(&client), Some(request)) => match oldest {
                Some(since) if request.since + share::LAG < since => Claim::Worker(request.by),
                _ => Claim::Client(client),
            },
            (Some(&client), None) => Claim::Client(client),
            (None, Some(request)) => Claim::Worker(request.by),
            (None, None) => Claim::Nobody,
        }
    }

    /// How many more servers should be opened now, limits aside: one for each waiter that no
    /// server is coming for, one for the welcome; none while a failed login is recent.
    pub(crate) fn launches(&self, now: Time, retry: u64) -> usize {
        if self.door != Door::Open || self.is_failing(now, retry) {
            return 0;
        }
        let for_welcome = usize::from(self.welcome.is_none() && !self.newcomers.is_empty());
        let wanted = self.waiting.len().max(for_welcome);
        let coming = self.connecting + self.tested;
        wanted.saturating_sub(coming).min(CONNECTS_MAX.saturating_sub(self.connecting))
    }

    /// How many more servers should be opened to keep up `min_pool_size`, as long as anybody may
    /// want them.
    pub(crate) fn missing(&self, now: Time, retry: u64) -> usize {
        if self.door != Door::Open || self.is_failing(now, retry) {
            return 0;
        }
        let room = CONNECTS_MAX.saturating_sub(self.connecting);
        (self.below_minimum() as usize).min(room)
    }

    /// How many servers it has less than `min_pool_size` asks for.
    pub(crate) fn below_minimum(&self) -> u32 {
        let is_wanted = || self.target.forces_user || self.slots.clients() > 0;
        match self.target.minimum {
            0 => 0,
            _ if !is_wanted() => 0,
            minimum => minimum.saturating_sub(self.slots.staying()),
        }
    }

    /// The failure to tell clients at once, instead of letting them wait: the last login has
    /// failed for good and there is no server left, here or elsewhere, that might serve them.
    pub(crate) fn hopeless(&self, now: Time, retry: u64) -> Option<Failed> {
        let failed = self.failed.as_ref()?;
        let lasting = failed.is_recent(now, retry) && !failed.may_pass();
        let nobody = self.slots.open() as usize <= self.connecting;
        (lasting && nobody).then(|| failed.clone())
    }

    /// Whether it is too early for another attempt after a failure.
    fn is_failing(&self, now: Time, retry: u64) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed.is_recent(now, retry))
    }

    /// Whether new clients may be welcomed with this: it is from where the pool leads to now.
    pub(crate) fn takes(&self, welcome: &Welcome) -> bool {
        welcome.epoch >= self.slots.epoch() && !welcome.origin.leads_elsewhere(&self.target)
    }

    /// How many more servers it has, over all workers, than it may have.
    pub(crate) fn surplus(&self) -> u32 {
        match self.target.size {
            0 => 0,
            size => self.slots.staying().saturating_sub(size.saturating_add(self.target.reserve)),
        }
    }

    /// The idle server to use next: the one used last, or with `server_round_robin` the one that
    /// has rested longest.
    pub(crate) fn take_idle(&mut self) -> Option<Id<Server>> {
        if self.target.round_robin { self.idle.pop_front() } else { self.idle.pop_back() }
    }

    /// Whether time alone may make something due in it.
    pub(crate) fn wants_watching(&self) -> bool {
        self.is_waited_for() || self.surplus() > 0 || self.below_minimum() > 0
    }

    /// Whether a client waits, for a server or for the welcome.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || !self.newcomers.is_empty()
    }

    /// Whether nobody on this worker has anything to do with it.
    pub(crate) fn is_deserted(&self) -> bool {
        self.tenants == 0 && self.cancels.is_empty() && self.cancelling == 0
    }

    /// Takes a client off the lists of those that wait, and names who wanted its query cancelled.
    pub(crate) fn forget_client(&mut self, client: Id<Client>) -> Vec<Requester> {
        if self.waiting.front() == Some(&client) {
            self.waiting.pop_front();
        } else {
            self.waiting.retain(|other| *other != client);
        }
        self.newcomers.retain(|other| *other != client);
        let of_client = |request: &&CancelRequest| request.client == client;
        let requesters = self.cancels.iter().filter(of_client).map(|request| request.requester);
        let requesters = requesters.collect();
        self.cancels.retain(|request| request.client != client);
        requesters
    }

    /// Takes a server off the lists of those that are free.
    pub(crate) fn forget_server(&mut self, server: Id<Server>) {
        self.idle.retain(|other| *other != server);
        self.used.retain(|other| *other != server);
    }
}

#[cfg(test)]
mod tests;
