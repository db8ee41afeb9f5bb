//! The sweep of every test run, and that a seed is a run.

use crate::plan::Plan;
use crate::sweep;

#[test]
fn every_promise_is_kept_and_was_put_to_the_test() {
    let tally = sweep::sweep(0, 256).unwrap_or_else(|(seed, why)| panic!("sim {seed}: {why}"));
    let never: Vec<_> = tally.rows().into_iter().filter(|(.., count)| *count == 0).collect();
    assert!(never.is_empty(), "in 256 seeds there were no {never:?}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in [1, 7, 40, 99] {
        let [one, two] = [(); 2].map(|()| sweep::run(Plan::new(seed), 0));
        assert_eq!((one.digest, one.tally), (two.digest, two.tally), "seed {seed}");
        assert_ne!(one.digest, sweep::run(Plan::new(seed + 1), 0).digest, "seed {seed}");
    }
}
