//! Plain counters of one pool on one worker, and what they were a while ago, for averages.
//!
//!     counters ──► every stats_period: Windows::roll ──► SHOW STATS divides by the time since the
//!                                                        last but one roll (PgBouncer's averages)
//!
//! Knows nothing of how figures are shown, or of other workers.

use crate::time::{SECOND, Time};

/// What has happened in a pool since it exists. Times are microseconds, volumes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counters {
    /// Times that a server was given to a client.
    pub(crate) assignments: u64,
    /// Transactions.
    pub(crate) transactions: u64,
    /// Query cycles: a pipeline counts as one.
    pub(crate) queries: u64,
    /// Bytes from clients.
    pub(crate) received: u64,
    /// Bytes to clients.
    pub(crate) sent: u64,
    /// Time that servers were in a transaction.
    pub(crate) transaction_time: u64,
    /// Time that servers worked on a query cycle.
    pub(crate) query_time: u64,
    /// Time that clients waited for a server.
    pub(crate) wait_time: u64,
    /// Clients that have logged in.
    pub(crate) logins: u64,
}

impl Counters {
    /// Adds what another pool or worker has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        *self = self.with(other, u64::saturating_add);
    }

    /// What has been counted since these were `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            assignments: combine(self.assignments, other.assignments),
            transactions: combine(self.transactions, other.transactions),
            queries: combine(self.queries, other.queries),
            received: combine(self.received, other.received),
            sent: combine(self.sent, other.sent),
            transaction_time: combine(self.transaction_time, other.transaction_time),
            query_time: combine(self.query_time, other.query_time),
            wait_time: combine(self.wait_time, other.wait_time),
            logins: combine(self.logins, other.logins),
        }
    }

    /// Counts and volumes for each second of `micros`, and times for each item that took them: the
    /// whole part, as PgBouncer's averages.
    pub(crate) fn averages(&self, micros: u64) -> Self {
        let rate = |count: u64| {
            let scaled = u128::from(count) * u128::from(SECOND) / u128::from(micros.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        let each = |time: u64, items: u64| time.checked_div(items).unwrap_or(0);
        Self {
            assignments: rate(self.assignments),
            transactions: rate(self.transactions),
            queries: rate(self.queries),
            received: rate(self.received),
            sent: rate(self.sent),
            transaction_time: each(self.transaction_time, self.transactions),
            query_time: each(self.query_time, self.queries),
            wait_time: each(self.wait_time, self.assignments),
            logins: rate(self.logins),
        }
    }
}

/// The counters at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) at: Time,
    pub(crate) counters: Counters,
}

/// The counters at the last two rolls. A roll is due at each multiple of the period, so that the
/// workers of a process agree on the time that their averages are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    newer: Window,
    older: Window,
}

impl Windows {
    /// Of a pool in which nothing has happened yet.
    pub(crate) fn new() -> Self {
        let never = Window { at: Time::NEVER, counters: Counters::default() };
        Self { newer: never, older: never }
    }

    /// Keeps the counters when a roll is due; `period` is `stats_period` in microseconds.
    pub(crate) fn roll(&mut self, counters: &Counters, period: u64, now: Time) {
        let period = period.max(1);
        let stamp = Time(now.0 - now.0 % period);
        let before = stamp - period;
        if self.newer.at == stamp {
            return;
        }
        // Whoever has missed a roll was asleep, and nothing has been counted meanwhile.
        let (newer, older) = match self.newer.at {
            Time::NEVER => (Counters::default(), Counters::default()),
            at if at == before => (*counters, self.newer.counters),
            _ => (*counters, *counters),
        };
        self.newer = Window { at: stamp, counters: newer };
        self.older = Window { at: before, counters: older };
    }

    /// The counters at the last roll but one.
    pub(crate) fn older(&self) -> Window {
        self.older
    }
}

impl Default for Windows {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
