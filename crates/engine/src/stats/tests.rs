//! Rolls at the multiples of a period, and what is divided by what.

use super::{Counters, Window, Windows};
use crate::time::{SECOND, Time};

const PERIOD: u64 = 60 * SECOND;

fn queries(queries: u64) -> Counters {
    Counters { queries, ..Counters::default() }
}

fn check(windows: &Windows, at: u64, expected: u64) {
    let expected = Window { at: Time(at * SECOND), counters: queries(expected) };
    assert_eq!(windows.older(), expected);
}

fn roll(windows: &mut Windows, counted: u64, at: u64) {
    windows.roll(&queries(counted), PERIOD, Time(at * SECOND));
}

#[test]
fn the_last_roll_but_one() {
    let mut windows = Windows::new();
    roll(&mut windows, 0, 5);
    check(&windows, 0, 0);
    roll(&mut windows, 7, 59);
    check(&windows, 0, 0);
    roll(&mut windows, 10, 60);
    check(&windows, 0, 0);
    roll(&mut windows, 15, 61);
    check(&windows, 0, 0);
    roll(&mut windows, 30, 120);
    check(&windows, 60, 10);
    roll(&mut windows, 90, 181);
    check(&windows, 120, 30);
}

#[test]
fn a_pool_that_comes_late_has_counted_nothing_before() {
    let mut windows = Windows::new();
    roll(&mut windows, 3, 1000);
    check(&windows, 900, 0);
    roll(&mut windows, 8, 1020);
    check(&windows, 960, 0);
    roll(&mut windows, 9, 1080);
    check(&windows, 1020, 8);
}

#[test]
fn who_has_slept_has_counted_nothing_meanwhile() {
    let mut windows = Windows::new();
    roll(&mut windows, 0, 5);
    roll(&mut windows, 10, 60);
    roll(&mut windows, 25, 1000);
    check(&windows, 900, 25);
    roll(&mut windows, 40, 1020);
    check(&windows, 960, 25);
}

#[test]
fn a_longer_period_begins_anew() {
    let mut windows = Windows::new();
    roll(&mut windows, 10, 600);
    windows.roll(&queries(20), 3600 * SECOND, Time(620 * SECOND));
    check(&windows, 0, 20);
}

#[test]
fn averages() {
    let counted = Counters {
        assignments: 4,
        transactions: 119,
        queries: 240,
        received: 6_000,
        sent: 600_000,
        transaction_time: 1_190,
        query_time: 241,
        wait_time: 9,
        logins: 61,
    };
    let expected = Counters {
        assignments: 0,
        transactions: 1,
        queries: 4,
        received: 100,
        sent: 10_000,
        transaction_time: 10,
        query_time: 1,
        wait_time: 2,
        logins: 1,
    };
    assert_eq!(counted.averages(PERIOD), expected);
    assert_eq!(Counters::default().averages(PERIOD), Counters::default());
    assert_eq!(queries(2).averages(0), queries(2 * SECOND));
    assert_eq!(queries(u64::MAX).averages(1), queries(u64::MAX));
}

#[test]
fn sums_and_differences() {
    let (mut one, two) = (queries(3), Counters { logins: 2, ..queries(4) });
    one.add(&two);
    assert_eq!(one, Counters { logins: 2, ..queries(7) });
    assert_eq!(one.since(&two), queries(3));
    assert_eq!(queries(1).since(&one), Counters::default());
}
