//! Goals met, missed and left out.

use super::*;
use crate::sample::Sample;

fn samples(figures: &[(Target, f64)]) -> Samples {
    let sample = |(target, value): &(Target, f64)| Sample {
        target: *target,
        scenario: "peak 64".to_owned(),
        figures: [(Figure::Cpu, *value)].into(),
        calls: Default::default(),
    };
    Samples(figures.iter().map(sample).collect())
}

fn check(ours: f64, bound: Bound, expected: Option<(f64, bool)>) {
    let samples = samples(&[(Target::Pgweir(1), ours), (Target::PgBouncer(1), 10.0)]);
    let standing = cpu("peak 64", bound).standing(&samples);
    assert_eq!(standing.map(|s| (s.reached, s.is_met)), expected, "{ours} {bound:?}");
}

#[test]
fn bounds_are_judged() {
    check(8.0, Bound::AtMost(0.8, Target::PgBouncer(1)), Some((0.8, true)));
    check(8.5, Bound::AtMost(0.8, Target::PgBouncer(1)), Some((0.85, false)));
    check(10.0, Bound::AtLeast(1.0, Target::PgBouncer(1)), Some((1.0, true)));
    check(9.0, Bound::AtLeast(1.0, Target::PgBouncer(1)), Some((0.9, false)));
    check(4.3, Bound::Limit(4.3), Some((4.3, true)));
    check(4.4, Bound::Limit(4.3), Some((4.4, false)));
    check(8.0, Bound::AtMost(1.2, Target::Relay), None);
}

#[test]
fn peak_has_two_goals_for_each_number_of_clients() {
    let goals = peak(&["peak 64".to_owned(), "peak 256".to_owned()]);
    let samples = samples(&[(Target::Pgweir(1), 6.0), (Target::PgBouncer(1), 10.0)]);
    assert_eq!(goals.len(), 4);
    let judged: Vec<String> =
        goals.iter().filter_map(|goal| goal.standing(&samples)).map(|s| s.goal).collect();
    assert_eq!(judged, ["peak 64 pgweir/1: CPU µs/txn ≤ 0.80 × pgbouncer ×1"]);
}
