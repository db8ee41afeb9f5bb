//! Medians, spreads and the order of things.

use super::*;

fn samples(values: &[f64]) -> Samples {
    let sample = |value: &f64| Sample {
        target: Target::Relay,
        scenario: "peak 64".to_owned(),
        figures: [(Figure::Cpu, *value)].into(),
        calls: [("sendto".to_owned(), *value), ("close".to_owned(), 9.0)].into(),
    };
    Samples(values.iter().map(sample).collect())
}

#[test]
fn the_middle_of_some_values() {
    assert_eq!(median(vec![]), None);
    assert_eq!(median(vec![3.0]), Some(3.0));
    assert_eq!(median(vec![9.0, 1.0, 4.0]), Some(4.0));
    assert_eq!(median(vec![9.0, 1.0, 4.0, 5.0]), Some(4.5));
}

#[test]
fn medians_and_spreads_over_rounds() {
    let samples = samples(&[8.0, 12.0, 10.0]);
    let of = |target| samples.median("peak 64", target, Figure::Cpu);
    assert_eq!(of(Target::Relay), Some(10.0));
    assert_eq!(of(Target::Direct), None);
    assert_eq!(samples.spread("peak 64", Target::Relay, Figure::Cpu), Some(0.4));
    assert_eq!(samples.median("peak 64", Target::Relay, Figure::P99), None);
    let calls = samples.calls("peak 64", Target::Relay);
    assert_eq!(calls, [("sendto".to_owned(), 10.0), ("close".to_owned(), 9.0)]);
}

#[test]
fn calls_are_taken_per_transaction() {
    let mut samples = samples(&[1.0]);
    let sample = &mut samples.0[0];
    sample.take_calls([("sendto".to_owned(), 300.0), ("recvfrom".to_owned(), 150.0)].into(), 150.0);
    assert_eq!(sample.calls["sendto"], 2.0);
    assert_eq!(sample.figures[&Figure::Syscalls], 3.0);
}
