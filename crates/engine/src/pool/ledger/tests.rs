//! The ledger under real threads: limits hold at every instant, and nobody refused is forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::{Full, Ledger, Limits, Slots};
use crate::ids::WorkerId;
use crate::mail::{Limit, PoolKey};
use crate::time::Time;

fn key() -> PoolKey {
    PoolKey { database: "d".into(), user: "u".into() }
}

fn limits(pool: u32) -> Limits {
    Limits { pool, database: 0, user: 0 }
}

/// Gives a slot of the one pool back, and names the workers to be told.
fn give_back(ledger: &Ledger, slots: &Slots) -> Vec<WorkerId> {
    slots.leave();
    ledger.release(slots, Time(1)).into_iter().map(|(worker, _)| worker).collect()
}

#[test]
fn a_refused_worker_is_named_once() {
    let ledger = Ledger::new(3);
    let slots = ledger.slots(&key());
    let reserve = |worker| ledger.reserve(&slots, limits(1), WorkerId(worker));
    assert_eq!(reserve(0), Ok(()));
    assert_eq!(reserve(2), Err(Full::Pool));
    assert_eq!(reserve(1), Err(Full::Pool));
    assert_eq!(give_back(&ledger, &slots), [WorkerId(1), WorkerId(2)]);
    assert_eq!(reserve(1), Ok(()));
    assert_eq!(give_back(&ledger, &slots), []);
    assert_eq!((ledger.servers(), ledger.open(&key())), (0, 0));
}

#[test]
fn no_limit_means_no_limit() {
    let ledger = Ledger::new(1);
    let slots = ledger.slots(&key());
    assert!((0..1000).all(|_| ledger.reserve(&slots, limits(0), WorkerId(0)).is_ok()));
    assert_eq!(ledger.open(&key()), 1000);
}

#[test]
fn pools_of_one_database_or_user_share_its_limit() {
    let ledger = Ledger::new(2);
    let pool = |database: &str, user: &str| {
        ledger.slots(&PoolKey { database: database.into(), user: user.into() })
    };
    let (one, two, three) = (pool("d", "a"), pool("d", "b"), pool("e", "a"));
    let reserve = |slots: &Slots, database: u32, user: u32| {
        ledger.reserve(slots, Limits { pool: 9, database, user }, WorkerId(1))
    };
    assert_eq!(reserve(&one, 2, 2), Ok(()));
    assert_eq!(reserve(&two, 2, 2), Ok(()));
    assert_eq!(reserve(&one, 2, 0), Err(Full::Database));
    assert_eq!(reserve(&three, 2, 1), Err(Full::User));
    assert_eq!((one.open(), two.open(), three.open()), (1, 1, 0), "all or nothing");
    assert_eq!((ledger.open_of_database("d"), ledger.open_of_user("a")), (2, 1));
    two.leave();
    let told = ledger.release(&two, Time(1));
    assert_eq!(told, [(WorkerId(1), Limit::Database("d".into()))]);
    assert_eq!(reserve(&one, 2, 0), Ok(()));
}

#[test]
fn clients_count_from_the_moment_they_name_themselves() {
    let ledger = Ledger::new(1);
    let (database, user): (Arc<str>, Arc<str>) = ("d".into(), "u".into());
    let admit = |of_database, of_user| ledger.admit((&database, of_database), (&user, of_user));
    let first = admit(1, 0).unwrap();
    assert!(matches!(admit(1, 0), Err(Full::Database)), "the database comes first");
    assert!(matches!(admit(0, 1), Err(Full::User)));
    assert_eq!((ledger.clients_of_database("d"), ledger.clients_of_user("u")), (1, 1));
    ledger.dismiss(first, &database, &user);
    assert_eq!((ledger.clients_of_database("d"), ledger.clients_of_user("u")), (0, 0));
    assert!(ledger.books().databases.is_empty(), "names that nobody uses are not kept");
    assert!(admit(1, 1).is_ok());
}

#[test]
fn a_pool_is_forgotten_with_its_last_part() {
    let ledger = Ledger::new(2);
    let (mine, other) = (ledger.slots(&key()), ledger.slots(&key()));
    ledger.forget(mine);
    assert_eq!(ledger.books().pools.len(), 1);
    ledger.forget(other);
    let books = ledger.books();
    assert!(books.pools.is_empty() && books.databases.is_empty() && books.users.is_empty());
}

#[test]
fn a_pool_is_vacant_when_client_and_server_have_left() {
    let ledger = Ledger::new(1);
    let slots = ledger.slots(&key());
    slots.client_joined();
    ledger.reserve(&slots, limits(0), WorkerId(0)).unwrap();
    slots.client_left(Time(5));
    assert_eq!((slots.vacant_since(), slots.staying()), (None, 1));
    slots.leave();
    assert_eq!((slots.vacant_since(), slots.staying(), slots.open()), (None, 0, 1));
    ledger.release(&slots, Time(7));
    assert_eq!(slots.vacant_since(), Some(Time(7)));
}

#[test]
fn old_servers_go_one_after_another() {
    let slots = Ledger::new(1).slots(&key());
    assert!(slots.expire(10, Time(0)));
    assert!(!slots.expire(10, Time(9)));
    assert!(slots.expire(10, Time(11)));
    assert!(!slots.expire(10, Time(12)));
}

#[test]
fn threads_never_exceed_the_limit() {
    const LIMIT: u32 = 3;
    let ledger = Arc::new(Ledger::new(4));
    let (held, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (ledger, held, most) = (&ledger, &held, &most);
            scope.spawn(move || {
                let slots = ledger.slots(&key());
                for _ in 0..20_000 {
                    if ledger.reserve(&slots, limits(LIMIT), WorkerId(worker)).is_ok() {
                        most.fetch_max(held.fetch_add(1, SeqCst) + 1, SeqCst);
                        held.fetch_sub(1, SeqCst);
                        give_back(ledger, &slots);
                    }
                }
            });
        }
    });
    assert!((1..=LIMIT).contains(&most.load(SeqCst)));
    assert_eq!(ledger.servers(), 0);
}

#[test]
fn the_least_loaded_worker_is_the_first_of_equals() {
    let ledger = Ledger::new(3);
    let span = || [WorkerId(0), WorkerId(1), WorkerId(2)].into_iter();
    let placed = |here| ledger.least_loaded(span(), WorkerId(here));
    assert_eq!(placed(2), Some(WorkerId(0)));
    ledger.report_load(WorkerId(0), 2);
    ledger.report_load(WorkerId(1), 1);
    ledger.report_load(WorkerId(2), 1);
    assert_eq!(placed(1), Some(WorkerId(1)));
    ledger.report_load(WorkerId(2), 2);
    ledger.report_load(WorkerId(1), 2);
    assert_eq!(placed(2), Some(WorkerId(2)), "the client itself does not count");
}
