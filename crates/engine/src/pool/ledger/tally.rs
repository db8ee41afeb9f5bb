//! Counts with a limit, and who goes hungry because of one.
//!
//!     a pool wants a server, its database or user has no room ──► hunger: pool, worker, since when
//!     a server of another pool is idle, or comes free there ──► feeds: closed for the one that has
//!                                                               waited longest
//!     its slot is free, for the hungry pool alone ──► it takes it
//!
//! The lists are looked at only when a limit has been hit: `is_hungry` costs one load.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ids::WorkerId;
use crate::mail::PoolKey;
use crate::pool::ledger::WORKERS_MAX;
use crate::time::Time;

/// How many are taken, and which workers were refused one since the last was given back. Changed
/// only under the ledger's lock.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    taken: AtomicU32,
    refused: AtomicU64,
}

impl Gauge {
    pub(crate) fn taken(&self) -> u32 {
        self.taken.load(SeqCst)
    }

    /// Whether so many are taken; 0 means no limit.
    pub(crate) fn is_full(&self, limit: u32) -> bool {
        limit > 0 && self.taken() >= limit
    }

    pub(crate) fn add(&self) {
        self.taken.fetch_add(1, SeqCst);
    }

    pub(crate) fn sub(&self) {
        let before = self.taken.fetch_sub(1, SeqCst);
        assert!(before > 0, "what is given back was taken");
    }

    pub(crate) fn refuse(&self, worker: WorkerId) {
        self.refused.fetch_or(1 << worker.0, SeqCst);
    }

    /// Whether this worker will be told when one is given back.
    pub(crate) fn has_refused(&self, worker: WorkerId) -> bool {
        self.refused.load(SeqCst) >> worker.0 & 1 == 1
    }

    /// Who was refused one; asked for once.
    pub(crate) fn take_refused(&self) -> impl Iterator<Item = WorkerId> + use<> {
        let refused = self.refused.swap(0, SeqCst);
        (0..WORKERS_MAX).filter(move |bit| refused >> bit & 1 == 1).map(WorkerId)
    }
}

/// What a database or a user has over all its pools.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) servers: Gauge,
    pub(crate) clients: Gauge,
    /// The length of the list.
    hungry: AtomicU32,
    list: Mutex<Vec<Hungry>>,
}

/// A pool of a worker that could not have a server because others of its database or user have them
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hungry {
    pool: PoolKey,
    by: WorkerId,
    /// Since when its oldest client waits.
    since: Time,
    /// A server is being closed for it.
    is_fed: bool,
    /// When the other workers were told.
    told: Time,
}

impl Tally {
    /// Whether a pool can have no server: all are taken, or what is free is meant for others.
    pub(crate) fn is_full(&self, limit: u32, pool: &PoolKey, by: WorkerId) -> bool {
        if limit == 0 {
            return false;
        }
        let mut promised = 0;
        if self.is_hungry() {
            let list = self.list();
            let others = list.iter().filter(|other| other.by != by || other.pool != *pool);
            promised = others.filter(|other| other.is_fed).count() as u32;
        }
        self.servers.taken().saturating_add(promised) >= limit
    }

    /// Whether any pool goes hungry.
    pub(crate) fn is_hungry(&self) -> bool {
        self.hungry.load(SeqCst) > 0
    }

    /// A pool was refused a server. True when the others are to be told: it was not hungry before,
    /// or somebody else has taken the slot that was meant for it, or it has been told long ago.
    pub(crate) fn go_hungry(&self, pool: &PoolKey, by: WorkerId, since: Time, now: Time) -> bool {
        let mut list = self.list();
        let Some(known) = list.iter_mut().find(|known| known.by == by && known.pool == *pool)
        else {
            list.push(Hungry { pool: pool.clone(), by, since, is_fed: false, told: now });
            self.hungry.store(list.len() as u32, SeqCst);
            return true;
        };
        let is_news = known.is_fed || now >= known.told + REMINDER;
        (known.since, known.is_fed) = (since, false);
        if is_news {
            known.told = now;
        }
        is_news
    }

    /// A pool has what it wanted, or wants nothing any more.
    pub(crate) fn has_eaten(&self, pool: &PoolKey, by: WorkerId) {
        let mut list = self.list();
        list.retain(|hungry| hungry.by != by || hungry.pool != *pool);
        self.hungry.store(list.len() as u32, SeqCst);
    }

    /// Whether a server of `pool` is to be closed for another pool, whose client has waited since
    /// before `until`. Whoever is told so closes one.
    pub(crate) fn feed(&self, pool: &PoolKey, until: Time) -> bool {
        let mut list = self.list();
        let wanting =
            |hungry: &&mut Hungry| !hungry.is_fed && hungry.pool != *pool && hungry.since < until;
        let oldest = list.iter_mut().filter(wanting).min_by_key(|hungry| hungry.since);
        oldest.is_some_and(|hungry| !std::mem::replace(&mut hungry.is_fed, true))
    }

    fn list(&self) -> MutexGuard<'_, Vec<Hungry>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a pool that stays hungry waits before it reminds the others, in microseconds.
const REMINDER: u64 = 300_000;

#[cfg(test)]
mod tests;
