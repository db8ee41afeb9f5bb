//! The limits that all workers share, exact at every instant.
//!
//!     reserve ──► a slot of pool, database and user; or what was full, and a bit that says who was
//!                 refused
//!     release ──► the workers whose bits were set, to be told
//!     admit   ──► a client counts for its database and its user, or what was full
//!
//! Counts change only when a connection opens or closes, under one lock; reading one takes none. A
//! slot is reserved before a connection is opened and given back after it is closed; a server under
//! way between two workers stays counted. This file and `tally` hold the only locks and atomics of
//! the engine.

pub(crate) mod tally;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ids::WorkerId;
use crate::mail::{Limit, PoolKey};
use crate::pool::Welcome;
use crate::time::Time;
use tally::{Gauge, Tally};

/// The most workers of a process: one bit each in a word.
pub(crate) const WORKERS_MAX: u8 = 64;

/// The counts that the workers of a process share.
pub struct Ledger {
    clients: AtomicU32,
    /// Those of them that are on the console.
    consoles: AtomicU32,
    servers: AtomicU32,
    loads: Vec<AtomicU32>,
    books: Mutex<Books>,
}

/// Everything that is counted by name. Whoever holds the lock on it may change counts.
#[derive(Default)]
struct Books {
    pools: HashMap<PoolKey, Arc<Slots>>,
    databases: HashMap<Arc<str>, Arc<Tally>>,
    users: HashMap<Arc<str>, Arc<Tally>>,
    /// The databases that were made from the template `*`.
    made: BTreeSet<Arc<str>>,
}

/// How many servers there may be; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) pool: u32,
    pub(crate) database: u32,
    pub(crate) user: u32,
}

/// What is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Pool,
    Database,
    User,
}

/// What a client counts for, from its login on.
#[derive(Debug, Clone)]
pub(crate) struct Membership {
    database: Arc<Tally>,
    user: Arc<Tally>,
}

impl Ledger {
    /// An empty ledger for so many workers, at most 64.
    pub fn new(workers: u8) -> Self {
        assert!((1..=WORKERS_MAX).contains(&workers), "1 to {WORKERS_MAX} workers");
        Self {
            clients: AtomicU32::new(0),
            consoles: AtomicU32::new(0),
            servers: AtomicU32::new(0),
            loads: (0..workers).map(|_| AtomicU32::new(0)).collect(),
            books: Mutex::default(),
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
        self.books().pools.get(pool).map_or(0, |slots| slots.open())
    }

    /// The servers of all pools of a database.
    pub fn open_of_database(&self, database: &str) -> u32 {
        self.books().databases.get(database).map_or(0, |tally| tally.servers.taken())
    }

    /// The servers of all pools of a user.
    pub fn open_of_user(&self, user: &str) -> u32 {
        self.books().users.get(user).map_or(0, |tally| tally.servers.taken())
    }

    /// Whether anything is kept of a pool.
    pub fn knows(&self, pool: &PoolKey) -> bool {
        self.books().pools.contains_key(pool)
    }

    /// How many names of databases and users are kept.
    pub fn names(&self) -> usize {
        let books = self.books();
        books.databases.len() + books.users.len() + books.made.len()
    }

    /// The clients of a database, also those that log in.
    pub fn clients_of_database(&self, database: &str) -> u32 {
        self.books().databases.get(database).map_or(0, |tally| tally.clients.taken())
    }

    /// The clients of a user, also those that log in.
    pub fn clients_of_user(&self, user: &str) -> u32 {
        self.books().users.get(user).map_or(0, |tally| tally.clients.taken())
    }

    /// What all workers share of a pool.
    pub(crate) fn slots(&self, pool: &PoolKey) -> Arc<Slots> {
        let mut guard = self.books();
        let books = &mut *guard;
        if let Some(slots) = books.pools.get(pool) {
            return Arc::clone(slots);
        }
        let slots = Arc::new(Slots {
            key: pool.clone(),
            servers: Gauge::default(),
            leaving: AtomicU32::new(0),
            doomed: AtomicU32::new(0),
            epoch: AtomicU64::new(0),
            clients: AtomicU32::new(0),
            vacated: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            welcome: Mutex::default(),
            database: tally(&mut books.databases, &pool.database),
            user: tally(&mut books.users, &pool.user),
        });
        books.pools.insert(pool.clone(), Arc::clone(&slots));
        slots
    }

    /// Enters a database that is made from the template `*`; false when any worker has done so
    /// before.
    pub(crate) fn makes(&self, database: &Arc<str>) -> bool {
        self.books().made.insert(Arc::clone(database))
    }

    /// A worker's part of a pool has gone; what was shared goes with the last part.
    pub(crate) fn forget(&self, slots: Arc<Slots>) {
        let mut books = self.books();
        let pool = &slots.key.clone();
        drop(slots);
        if books.pools.get(pool).is_some_and(|slots| Arc::strong_count(slots) == 1) {
            books.pools.remove(pool);
            sweep(&mut books.databases, &pool.database);
            sweep(&mut books.users, &pool.user);
            if !books.databases.contains_key(&pool.database) {
                books.made.remove(&pool.database);
            }
        }
    }

    /// Counts a client in and returns how many there are with it.
    pub(crate) fn client_opened(&self) -> u32 {
        self.clients.fetch_add(1, SeqCst) + 1
    }

    pub(crate) fn client_closed(&self) {
        self.clients.fetch_sub(1, SeqCst);
    }

    /// Counts a session of the console in.
    pub(crate) fn console_opened(&self) {
        self.consoles.fetch_add(1, SeqCst);
    }

    /// Counts a session of the console out; true when it was the last one.
    pub(crate) fn console_closed(&self) -> bool {
        self.consoles.fetch_sub(1, SeqCst) == 1
    }

    /// The servers of one pool, over all workers, that are to be closed when they are free.
    pub(crate) fn doomed(&self, pool: &PoolKey) -> u32 {
        self.books().pools.get(pool).map_or(0, |slots| slots.doomed.load(SeqCst))
    }

    /// Lets a client in that names a database and a user, when fewer than so many clients of each
    /// are there (0: no limit).
    pub(crate) fn admit(
        &self,
        (database, most_of_database): (&Arc<str>, u32),
        (user, most_of_user): (&Arc<str>, u32),
    ) -> Result<Membership, Full> {
        let mut guard = self.books();
        let books = &mut *guard;
        let of_database = tally(&mut books.databases, database);
        let of_user = tally(&mut books.users, user);
        let full = if of_database.clients.is_full(most_of_database) {
            Some(Full::Database)
        } else {
            of_user.clients.is_full(most_of_user).then_some(Full::User)
        };
        if let Some(full) = full {
            drop((of_database, of_user));
            sweep(&mut books.databases, database);
            sweep(&mut books.users, user);
            return Err(full);
        }
        of_database.clients.add();
        of_user.clients.add();
        Ok(Membership { database: of_database, user: of_user })
    }

    /// A client that had been let in has gone.
    pub(crate) fn dismiss(&self, membership: Membership, database: &Arc<str>, user: &Arc<str>) {
        let mut books = self.books();
        membership.database.clients.sub();
        membership.user.clients.sub();
        drop(membership);
        sweep(&mut books.databases, database);
        sweep(&mut books.users, user);
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

    /// Takes a slot of a pool, its database and its user, when there is room in all of them that is
    /// not meant for a pool that goes hungry. When refused, the worker is remembered where it was
    /// full, and will be named by the next [`release`](Self::release) there.
    pub(crate) fn reserve(
        &self,
        slots: &Slots,
        limits: Limits,
        worker: WorkerId,
    ) -> Result<(), Full> {
        // Who waits for a full pool asks again and again, and need not take the lock for that:
        // either it is still full, or the bit is read after the slot's release has looked at it.
        if slots.servers.is_full(limits.pool) && slots.servers.has_refused(worker) {
            return Err(Full::Pool);
        }
        let _books = self.books();
        if slots.servers.is_full(limits.pool) {
            slots.servers.refuse(worker);
            return Err(Full::Pool);
        }
        let wider = [
            (&slots.database, limits.database, Full::Database),
            (&slots.user, limits.user, Full::User),
        ];
        for (tally, limit, full) in wider {
            if tally.is_full(limit, &slots.key, worker) {
                tally.servers.refuse(worker);
                return Err(full);
            }
        }
        slots.servers.add();
        slots.database.servers.add();
        slots.user.servers.add();
        self.servers.fetch_add(1, SeqCst);
        Ok(())
    }

    /// Gives a slot back and names the workers that were refused one since, and where.
    pub(crate) fn release(&self, slots: &Slots, now: Time) -> Vec<(WorkerId, Limit)> {
        let pool = &slots.key;
        let _books = self.books();
        self.servers.fetch_sub(1, SeqCst);
        slots.leaving.fetch_sub(1, SeqCst);
        slots.vacated.store(now.0, SeqCst);
        let mut told = Vec::new();
        let mut add = |gauge: &Gauge, limit: &dyn Fn() -> Limit| {
            gauge.sub();
            told.extend(gauge.take_refused().map(|worker| (worker, limit())));
        };
        add(&slots.servers, &|| Limit::Pool(pool.clone()));
        add(&slots.database.servers, &|| Limit::Database(Arc::clone(&pool.database)));
        add(&slots.user.servers, &|| Limit::User(Arc::clone(&pool.user)));
        told
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tally(tallies: &mut HashMap<Arc<str>, Arc<Tally>>, name: &Arc<str>) -> Arc<Tally> {
    Arc::clone(tallies.entry(Arc::clone(name)).or_default())
}

/// Names come from anybody: a count that nobody uses any more is not kept.
fn sweep(tallies: &mut HashMap<Arc<str>, Arc<Tally>>, name: &Arc<str>) {
    if tallies.get(name).is_some_and(|tally| Arc::strong_count(tally) == 1) {
        tallies.remove(name);
    }
}

/// The slots of one pool, and what its last login to a server brought.
#[derive(Debug)]
pub(crate) struct Slots {
    key: PoolKey,
    servers: Gauge,
    /// Those of the servers whose end has been decided.
    leaving: AtomicU32,
    /// Those of the servers that are to be closed when they are free, until they have gone.
    doomed: AtomicU32,
    /// The last RECONNECT or reload that concerned the pool: what is older is not the right thing.
    epoch: AtomicU64,
    /// The clients that have logged in to the pool.
    clients: AtomicU32,
    /// When the last client or server left.
    vacated: AtomicU64,
    /// When a server was last closed for its age.
    expired: AtomicU64,
    welcome: Mutex<Option<Arc<Welcome>>>,
    pub(crate) database: Arc<Tally>,
    pub(crate) user: Arc<Tally>,
}

impl Slots {
    /// All servers, also those that connect and those that are being closed.
    pub(crate) fn open(&self) -> u32 {
        self.servers.taken()
    }

    /// The servers whose end has not been decided.
    pub(crate) fn staying(&self) -> u32 {
        self.open().saturating_sub(self.leaving.load(SeqCst))
    }

    /// The end of one server has been decided; its slot is given back when it is closed.
    pub(crate) fn leave(&self) {
        self.leaving.fetch_add(1, SeqCst);
    }

    pub(crate) fn client_joined(&self) {
        self.clients.fetch_add(1, SeqCst);
    }

    pub(crate) fn client_left(&self, now: Time) {
        self.vacated.store(now.0, SeqCst);
        self.clients.fetch_sub(1, SeqCst);
    }

    pub(crate) fn clients(&self) -> u32 {
        self.clients.load(SeqCst)
    }

    /// Since when nobody is in the pool, on any worker; `None` as long as somebody is.
    pub(crate) fn vacant_since(&self) -> Option<Time> {
        let nobody = self.clients() == 0 && self.open() == 0;
        nobody.then(|| Time(self.vacated.load(SeqCst)))
    }

    /// Whether one more server may be closed for its age: the closings of a pool are `spread`
    /// apart, so that it never loses all its servers at once. If so, the next one's turn comes
    /// later.
    pub(crate) fn expire(&self, spread: u64, now: Time) -> bool {
        let turn = |last: u64| (last == 0 || now >= Time(last) + spread).then_some(now.0.max(1));
        self.expired.fetch_update(SeqCst, SeqCst, turn).is_ok()
    }

    /// What any worker has last welcomed clients of this pool with: for a worker that could open no
    /// server of its own and missed the mail.
    pub(crate) fn welcome(&self) -> Option<Arc<Welcome>> {
        self.welcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_welcome(&self, welcome: &Arc<Welcome>) {
        let mut kept = self.welcome.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| kept.epoch <= welcome.epoch) {
            *kept = Some(Arc::clone(welcome));
        }
    }

    /// A worker has heard of a RECONNECT or a reload that concerns the pool.
    pub(crate) fn renew(&self, epoch: u64) {
        self.epoch.fetch_max(epoch, SeqCst);
    }

    /// The last one of those that any worker has heard of.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    pub(crate) fn doomed(&self) {
        self.doomed.fetch_add(1, SeqCst);
    }

    pub(crate) fn doomed_has_gone(&self) {
        self.doomed.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests;
