//! The limits that all workers share, exact at every instant.
//!
//!     reserve ──► a slot, or a bit that says "this worker was refused"
//!     release ──► the workers whose bits were set, to be told
//!
//! Counters are touched only when a connection opens or closes. A slot is reserved before a
//! connection is opened and given back after it is closed; a server under way between two workers
//! stays counted. This file holds the one lock and the only atomics of the engine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use crate::ids::WorkerId;
use crate::mail::PoolKey;
use crate::pool::Welcome;

/// The most workers of a process: one bit each in a word.
pub(crate) const WORKERS_MAX: u8 = 64;

/// The counts that the workers of a process share.
pub struct Ledger {
    clients: AtomicU32,
    servers: AtomicU32,
    loads: Vec<AtomicU32>,
    pools: Mutex<HashMap<PoolKey, Arc<Slots>>>,
}

impl Ledger {
    /// An empty ledger for so many workers, at most 64.
    pub fn new(workers: u8) -> Self {
        assert!((1..=WORKERS_MAX).contains(&workers), "1 to {WORKERS_MAX} workers");
        Self {
            clients: AtomicU32::new(0),
            servers: AtomicU32::new(0),
            loads: (0..workers).map(|_| AtomicU32::new(0)).collect(),
            pools: Mutex::new(HashMap::new()),
        }
    }

    /// The clients of the whole process, also those that log in.
    pub fn clients(&self) -> u32 {
        self.clients.load(SeqCst)
    }

    /// The servers of the whole process, also those that log in and those under way.
    pub fn servers(&self) -> u32 {
        self.servers.load(SeqCst)
    }

    /// The servers of one pool over all workers.
    pub fn open(&self, pool: &PoolKey) -> u32 {
        self.slots(pool).open()
    }

    pub(crate) fn slots(&self, pool: &PoolKey) -> Arc<Slots> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pools.entry(pool.clone()).or_default())
    }

    /// Counts a client in and returns how many there are with it.
    pub(crate) fn client_opened(&self) -> u32 {
        self.clients.fetch_add(1, SeqCst) + 1
    }

    pub(crate) fn client_closed(&self) {
        self.clients.fetch_sub(1, SeqCst);
    }

    /// Tells the others how many clients live on a worker.
    pub(crate) fn report_load(&self, worker: WorkerId, clients: usize) {
        self.loads[usize::from(worker.0)].store(clients as u32, SeqCst);
    }

    /// The worker with the fewest clients among `span`, the first of them when several have. The
    /// client to be placed, which is at `here` for now, does not count.
    pub(crate) fn least_loaded(
        &self,
        span: impl Iterator<Item = WorkerId>,
        here: WorkerId,
    ) -> Option<WorkerId> {
        span.min_by_key(|worker| {
            let load = self.loads[usize::from(worker.0)].load(SeqCst);
            if *worker == here { load.saturating_sub(1) } else { load }
        })
    }

    /// Takes a slot of a pool when fewer than `limit` are taken (0: no limit). When refused, the
    /// worker is remembered and will be named by the next [`release`](Self::release).
    pub(crate) fn reserve(&self, slots: &Slots, limit: u32, worker: WorkerId) -> bool {
        let reserved = slots.reserve(limit, worker);
        if reserved {
            self.servers.fetch_add(1, SeqCst);
        }
        reserved
    }

    /// Gives a slot back and names the workers that were refused one since.
    pub(crate) fn release(&self, slots: &Slots) -> impl Iterator<Item = WorkerId> + use<> {
        self.servers.fetch_sub(1, SeqCst);
        slots.release()
    }
}

/// The slots of one pool, and what its last login to a server brought.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    open: AtomicU32,
    refused: AtomicU64,
    welcome: Mutex<Option<Arc<Welcome>>>,
}

impl Slots {
    pub(crate) fn open(&self) -> u32 {
        self.open.load(SeqCst)
    }

    /// What any worker has last welcomed clients of this pool with: for a worker that could open no
    /// server of its own and missed the mail.
    pub(crate) fn welcome(&self) -> Option<Arc<Welcome>> {
        self.welcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_welcome(&self, welcome: &Arc<Welcome>) {
        let mut kept = self.welcome.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(welcome));
    }

    fn reserve(&self, limit: u32, worker: WorkerId) -> bool {
        if self.try_reserve(limit) {
            return true;
        }
        self.refused.fetch_or(1 << worker.0, SeqCst);
        // A slot that came free between the two steps above was announced to nobody.
        self.try_reserve(limit)
    }

    fn try_reserve(&self, limit: u32) -> bool {
        let more = |open| (limit == 0 || open < limit).then_some(open + 1);
        self.open.fetch_update(SeqCst, SeqCst, more).is_ok()
    }

    fn release(&self) -> impl Iterator<Item = WorkerId> + use<> {
        let before = self.open.fetch_sub(1, SeqCst);
        assert!(before > 0, "a slot is given back once");
        let refused = self.refused.swap(0, SeqCst);
        (0..WORKERS_MAX).filter(move |bit| refused >> bit & 1 == 1).map(WorkerId)
    }
}

#[cfg(test)]
mod tests;
