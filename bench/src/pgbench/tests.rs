//! What pgbench prints and logs.

use super::*;

#[test]
fn summaries() {
    let text = "pgbench (15.18)\ntransaction type: <builtin: select only>\n\
                number of transactions actually processed: 73215\n\
                number of failed transactions: 0 (0.000%)\nlatency average = 2.618 ms\n\
                initial connection time = 23.481 ms\n\
                tps = 24442.123456 (without initial connection time)\n";
    let expected = Summary { transactions: 73215.0, throughput: 24442.123456, mean: 2.618 };
    assert_eq!(parse_summary(text), Some(expected));
    let of_some = text.replace("73215", "100/100");
    assert_eq!(parse_summary(&of_some).map(|s| s.transactions), Some(100.0));
    assert_eq!(parse_summary("pgbench: error: connection failed\n"), None);
}

#[test]
fn log_lines() {
    assert_eq!(parse_latency("0 199 2241 0 1175850568 995598"), Some(2.241));
    assert_eq!(parse_latency("0 199 failed 0 1175850568 995598"), None);
    assert_eq!(parse_latency(""), None);
}

#[test]
fn percentiles() {
    let summary = Summary { transactions: 0.0, throughput: 0.0, mean: 0.0 };
    let of = |latencies: &[f64], share| {
        Outcome { summary, latencies: latencies.to_vec() }.percentile(share)
    };
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(of(&hundred, 0.50), Some(50.0));
    assert_eq!(of(&hundred, 0.99), Some(99.0));
    assert_eq!(of(&[7.0], 0.99), Some(7.0));
    assert_eq!(of(&[], 0.50), None);
}

#[test]
fn arguments_of_a_scenario() {
    let scenario = Scenario { name: "E1", clients: 1, work: Work::Extended };
    let line = arguments(&scenario, Duration::from_millis(2500)).join(" ");
    let expected = "-n -l --log-prefix=log -T 3 -c 1 -j 1 -S -M extended --sampling-rate=0.2";
    assert_eq!(line, expected);
}

#[test]
fn a_failing_pgbench_is_reported_with_its_words() {
    let pgbench = Pgbench::new(PathBuf::from("ls")).unwrap();
    let scenario = Scenario { name: "S1", clients: 1, work: Work::Simple };
    let run = pgbench.run(&scenario, 1, Duration::from_secs(1), &Interrupt::default());
    let error = run.unwrap_err().to_string();
    assert!(error.starts_with("pgbench ended with exit status: 2:\nls: "), "{error}");
}
