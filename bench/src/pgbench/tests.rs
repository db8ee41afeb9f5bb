//! What pgbench logs, and figures from it.

use super::*;

fn window(begin: u64, end: u64) -> Window {
    Window { begin: Duration::from_secs(begin), end: Duration::from_secs(end) }
}

#[test]
fn log_lines() {
    let entry = Entry { end: Duration::from_micros(1_175_850_568_995_598), latency: 2.241 };
    for (line, expected) in [
        ("0 199 2241 0 1175850568 995598", Some(entry)),
        ("0 199 2241 0 1175850568 995598 17", Some(entry)),
        ("0 199 failed 0 1175850568 995598", None),
        ("0 199 2241 0 11758505", None),
        ("", None),
    ] {
        assert_eq!(parse_line(line), expected, "{line}");
    }
}

#[test]
fn only_what_ended_in_the_window_counts() {
    let entry = |end, latency| Entry { end: Duration::from_secs(end), latency };
    let journal = Journal(vec![entry(9, 50.0), entry(10, 3.0), entry(11, 1.0), entry(12, 50.0)]);
    let excerpt = journal.within(&window(10, 12)).unwrap();
    assert_eq!(excerpt, Excerpt { latencies: vec![1.0, 3.0], seconds: 2.0 });
    assert_eq!((excerpt.throughput(), excerpt.mean()), (1.0, 2.0));
    assert!(journal.within(&window(20, 21)).is_err());
}

#[test]
fn percentiles() {
    let of = |latencies: Vec<f64>, percent| Excerpt { latencies, seconds: 1.0 }.percentile(percent);
    assert_eq!(of((1..=100).map(f64::from).collect(), 50), 50.0);
    assert_eq!(of((1..=100).map(f64::from).collect(), 99), 99.0);
    assert_eq!(of((1..=1000).map(f64::from).collect(), 99), 990.0);
    assert_eq!(of(vec![7.0], 99), 7.0);
}

#[test]
fn arguments_of_a_scenario() {
    let scenario = Scenario { name: "E1", clients: 1, work: Work::Extended };
    let line = arguments(&scenario, Duration::from_millis(2500)).join(" ");
    assert_eq!(line, "-n -l --log-prefix=log -T 3 -c 1 -j 1 -S -M extended");
}

#[test]
fn a_failing_pgbench_is_reported_with_its_words() {
    let pgbench = Pgbench::new(PathBuf::from("ls")).unwrap();
    let scenario = Scenario { name: "S1", clients: 1, work: Work::Simple };
    let playing = pgbench.play(&scenario, 1, Duration::from_secs(1)).unwrap();
    let error = playing.finish(&Interrupt::default()).unwrap_err().to_string();
    assert!(error.starts_with("pgbench ended with exit status: 2:\nls: "), "{error}");
}
