use super::*;

fn pool(user: &str) -> PoolKey {
    PoolKey { database: "d".into(), user: user.into() }
}

#[test]
fn a_gauge_names_the_refused_once() {
    let gauge = Gauge::default();
    gauge.add();
    assert!(gauge.is_full(1) && !gauge.is_full(2) && !gauge.is_full(0));
    gauge.refuse(WorkerId(3));
    gauge.refuse(WorkerId(63));
    gauge.sub();
    assert_eq!(gauge.take_refused().collect::<Vec<_>>(), [WorkerId(3), WorkerId(63)]);
    assert_eq!(gauge.take_refused().count(), 0);
}

#[test]
fn each_hungry_pool_is_fed_once_the_oldest_first() {
    let tally = Tally::default();
    assert!(!tally.is_hungry());
    assert!(tally.go_hungry(&pool("a"), WorkerId(0), Time(20), Time(30)));
    assert!(tally.go_hungry(&pool("b"), WorkerId(1), Time(10), Time(30)));
    assert!(!tally.feed(&pool("x"), Time(10)), "nobody has waited since before then");
    assert!(!tally.feed(&pool("b"), Time(15)), "no pool feeds itself");
    assert!(tally.feed(&pool("x"), Time(15)), "b");
    assert!(!tally.feed(&pool("x"), Time(15)), "b is fed");
    assert!(tally.feed(&pool("b"), Time::NEVER), "a");
    assert!(!tally.feed(&pool("x"), Time::NEVER));
    tally.has_eaten(&pool("a"), WorkerId(0));
    assert!(tally.is_hungry());
    tally.has_eaten(&pool("b"), WorkerId(1));
    assert!(!tally.is_hungry());
}

#[test]
fn what_is_meant_for_a_hungry_pool_is_taken_by_nobody_else() {
    let tally = Tally::default();
    let is_full = |user: &str, by: u8| tally.is_full(1, &pool(user), WorkerId(by));
    assert!(!is_full("x", 0));
    tally.servers.add();
    assert!(is_full("x", 0) && !tally.is_full(0, &pool("x"), WorkerId(0)));
    tally.go_hungry(&pool("a"), WorkerId(1), Time(0), Time(0));
    assert!(tally.feed(&pool("x"), Time::NEVER));
    tally.servers.sub();
    assert!(is_full("x", 0) && is_full("a", 0) && !is_full("a", 1));
    tally.has_eaten(&pool("a"), WorkerId(1));
    assert!(!is_full("x", 0));
}

#[test]
fn the_others_are_told_again_when_a_meal_was_snatched_or_forgotten() {
    let tally = Tally::default();
    let hungry = |now: u64| tally.go_hungry(&pool("a"), WorkerId(0), Time(0), Time(now));
    assert!(hungry(0));
    assert!(!hungry(1));
    assert!(tally.feed(&pool("x"), Time::NEVER));
    assert!(hungry(2), "somebody else has eaten it");
    assert!(tally.feed(&pool("x"), Time::NEVER), "it is hungry again");
    assert!(hungry(3));
    assert!(!hungry(REMINDER));
    assert!(hungry(REMINDER + 3));
}
