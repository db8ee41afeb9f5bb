//! The ledger under real threads: limits hold at every instant, and nobody refused is forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::Ledger;
use crate::ids::WorkerId;
use crate::mail::PoolKey;

fn key() -> PoolKey {
    PoolKey { database: "d".into(), user: "u".into() }
}

#[test]
fn a_refused_worker_is_named_once() {
    let ledger = Ledger::new(3);
    let slots = ledger.slots(&key());
    assert!(ledger.reserve(&slots, 1, WorkerId(0)));
    assert!(!ledger.reserve(&slots, 1, WorkerId(2)));
    assert!(!ledger.reserve(&slots, 1, WorkerId(1)));
    assert_eq!(ledger.release(&slots).collect::<Vec<_>>(), [WorkerId(1), WorkerId(2)]);
    assert!(ledger.reserve(&slots, 1, WorkerId(1)));
    assert_eq!(ledger.release(&slots).count(), 0);
    assert_eq!((ledger.servers(), ledger.open(&key())), (0, 0));
}

#[test]
fn no_limit_means_no_limit() {
    let ledger = Ledger::new(1);
    let slots = ledger.slots(&key());
    assert!((0..1000).all(|_| ledger.reserve(&slots, 0, WorkerId(0))));
    assert_eq!(ledger.open(&key()), 1000);
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
                    if ledger.reserve(&slots, LIMIT, WorkerId(worker)) {
                        most.fetch_max(held.fetch_add(1, SeqCst) + 1, SeqCst);
                        held.fetch_sub(1, SeqCst);
                        ledger.release(&slots).count();
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
