//! Command lines and what is made of them.

use super::*;

fn check(line: &str) -> Result<Request> {
    parse(lexopt::Parser::from_args(line.split_whitespace()))
}

fn options_of(line: &str) -> (Runs, Options) {
    match check(line).unwrap() {
        Request::Measure(runs, options) => (runs, options),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn runs_and_options() {
    let (runs, options) = options_of("peak --pgbouncer /bin/true --clients 4,8 --seconds 1.5");
    assert_eq!(runs, Runs::Peak);
    assert_eq!(options.clients, [4, 8]);
    assert_eq!(options.seconds, Duration::from_millis(1500));
    assert_eq!(options.rounds, 3);
    let (runs, options) = options_of("real --only S64,BIG4 --pgbouncer true --pgweir true --quick");
    assert_eq!(runs, Runs::Real);
    assert_eq!(options.only, ["S64", "BIG4"]);
    assert_eq!(options.rounds, 1);
    assert!(options.programs.pgweir.is_some());
}

#[test]
fn the_parts_of_a_peak_run() {
    assert!(matches!(check("load"), Ok(Request::Load)));
    assert!(matches!(check("relay 1 2"), Ok(Request::Relay(1, 2))));
    assert!(matches!(check(""), Ok(Request::Help)));
}

#[test]
fn nonsense_is_refused() {
    for line in [
        "fast",
        "peak --rounds none",
        "peak --pgbouncer true --rounds 0",
        "peak --pgbouncer true --seconds 0",
        "peak --pgbouncer true --clients 0",
        "peak --pgbouncer true --clients 4,,8",
        "peak --pgbouncer /no/such/program",
        "peak --pgbouncer true --pgweir /no/such/program",
        "relay 1 99999",
    ] {
        assert!(check(line).is_err(), "{line}");
    }
}
