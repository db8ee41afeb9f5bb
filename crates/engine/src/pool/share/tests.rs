//! Who asks whom, when, and who goes first.

use super::{Ask, LAG, Request, Share, span};
use crate::ids::WorkerId;
use crate::mail::PoolKey;
use crate::time::Time;

#[test]
fn nobody_is_asked_before_the_lag_and_only_once() {
    let mut share = Share::default();
    let since = Time(1_000);
    assert_eq!(share.ask(None, since), Ask::Nothing);
    assert_eq!(share.ask(Some(since), since + (LAG - 1)), Ask::Nothing);
    assert_eq!(share.ask(Some(since), since + LAG), Ask::Borrow(since));
    assert_eq!(share.ask(Some(since), since + 100 * LAG), Ask::Nothing);
    assert_eq!(share.ask(Some(since), since + LAG + super::RENEWAL), Ask::Borrow(since));
    assert_eq!(share.ask(None, since + 301 * LAG), Ask::Withdraw);
    assert_eq!(share.ask(None, since + 302 * LAG), Ask::Nothing);
}

#[test]
fn the_next_oldest_is_announced_once_in_a_lag() {
    let mut share = Share::default();
    let (first, second) = (Time(0), Time(10));
    let at = first + LAG;
    assert_eq!(share.ask(Some(first), at), Ask::Borrow(first));
    assert_eq!(share.ask(Some(second), at + 20), Ask::Withdraw, "it is not as old as the first");
    assert_eq!(share.ask(Some(second), at + 30), Ask::Nothing);
    assert_eq!(share.next_ask(Some(second)), at + LAG);
    assert_eq!(share.ask(Some(second), at + LAG), Ask::Borrow(second));
}

#[test]
fn a_client_that_a_loan_did_not_reach_is_asked_for_again() {
    let mut share = Share::default();
    let since = Time(0);
    assert_eq!(share.ask(Some(since), since + LAG), Ask::Borrow(since));
    share.lent();
    assert_eq!(share.ask(Some(since), since + (LAG + 1)), Ask::Nothing, "not twice in a lag");
    assert_eq!(share.ask(Some(since), since + 2 * LAG), Ask::Borrow(since));
}

#[test]
fn the_oldest_request_wins_and_a_new_one_replaces_the_old() {
    let mut share = Share::default();
    let request = |by, since| Request { by: WorkerId(by), since: Time(since) };
    share.request(request(1, 50));
    share.request(request(2, 40));
    assert_eq!(share.oldest_request(), Some(request(2, 40)));
    share.request(request(2, 60));
    assert_eq!(share.oldest_request(), Some(request(1, 50)));
    share.withdraw(WorkerId(1));
    share.withdraw(WorkerId(2));
    assert_eq!(share.oldest_request(), None);
}

#[test]
fn the_span_grows_with_the_pool() {
    let check = |size, workers, width| {
        let key = PoolKey { database: "app".into(), user: "me".into() };
        let mut all: Vec<_> = span(&key, size, workers).collect();
        assert_eq!(all, span(&key, size, workers).collect::<Vec<_>>(), "the same every time");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), width, "size {size} on {workers} workers");
        assert!(all.iter().all(|worker| worker.0 < workers));
    };
    check(1, 4, 1);
    check(7, 4, 1);
    check(8, 4, 2);
    check(20, 2, 2);
    check(20, 8, 5);
    check(0, 8, 8);
    check(1000, 64, 64);
    check(20, 1, 1);
}
