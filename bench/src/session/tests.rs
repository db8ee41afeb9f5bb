//! Turns, failures and the end on request.

use anyhow::bail;
use signal_hook::consts::SIGTERM;

use super::*;

const TARGETS: [Target; 3] = [Target::Direct, Target::Relay, Target::PgBouncer(1)];

#[test]
fn targets_take_turns_and_the_first_one_changes() {
    let mut order = Vec::new();
    let plan = [("a", TARGETS.to_vec()), ("b", TARGETS[..1].to_vec())];
    let session = Session::run(2, &plan, &Interrupt::default(), |round, scenario, target| {
        order.push(format!("{round} {scenario} {target}"));
        Ok(Sample::new(target, scenario))
    });
    let expected = [
        "0 a direct",
        "0 a relay",
        "0 a pgbouncer ×1",
        "0 b direct",
        "1 a relay",
        "1 a pgbouncer ×1",
        "1 a direct",
        "1 b direct",
    ];
    assert_eq!(order, expected);
    assert_eq!(session.unwrap().samples.0.len(), 8);
}

#[test]
fn a_failed_run_is_left_out() {
    let plan = [((), TARGETS.to_vec())];
    let session = Session::run(1, &plan, &Interrupt::default(), |_, (), target| match target {
        Target::Relay => bail!("no luck"),
        _ => Ok(Sample::new(target, "a")),
    });
    let session = session.unwrap();
    assert_eq!(session.samples.0.len(), 2);
    assert_eq!(session.failures, ["round 1: no luck"]);
}

#[test]
fn a_signal_ends_the_session() {
    let interrupt = Interrupt::listen().unwrap();
    let mut runs = 0;
    let session = Session::run(2, &[((), TARGETS.to_vec())], &interrupt, |_, (), target| {
        runs += 1;
        signal_hook::low_level::raise(SIGTERM)?;
        Ok(Sample::new(target, "a"))
    });
    assert_eq!(session.unwrap_err().to_string(), "interrupted");
    assert_eq!(runs, 1);
}
