use super::*;

const CONNECTING: &str = "\
latency average = 13.184 ms
average connection time = 6.393 ms
tps = 303.387663 (including reconnection times)
";
const STAYING: &str = "\
number of transactions actually processed: 29135
latency average = 12.646 ms
initial connection time = 16.068 ms
tps = 15814.937133 (without initial connection time)
";
const OLD: &str = "\
latency average = 2.000 ms
tps = 400.000000 (including connections establishing)
tps = 500.000000 (excluding connections establishing)
";

fn read(connects: bool, summary: &str) -> Option<(f64, f64)> {
    let speed = Load { clients: 1, connects, seconds: 1 }.read(summary).ok()?;
    Some((speed.per_second, speed.milliseconds))
}

#[test]
fn summaries_of_all_versions_are_read() {
    let cases = [
        (true, CONNECTING, Some((303.387_663, 13.184))),
        (false, STAYING, Some((15_814.937_133, 12.646))),
        (true, OLD, Some((400.0, 2.0))),
        (false, OLD, Some((500.0, 2.0))),
        (false, "", None),
        (false, "latency average = 1 ms\ntps = nan (without initial connection time)", None),
        (false, "latency average = 0.000 ms\ntps = 1 (without initial connection time)", None),
    ];
    for (connects, summary, expected) in cases {
        assert_eq!(read(connects, summary), expected, "{connects} {summary}");
    }
}

#[test]
fn the_load_is_told_to_pgbench() {
    let told = |connects| {
        let mut pgbench = Command::new("pgbench");
        Load { clients: 7, connects, seconds: 3 }.fill_in(&mut pgbench);
        let args = pgbench.get_args().map(|arg| arg.to_string_lossy().into_owned());
        args.collect::<Vec<_>>().join(" ")
    };
    let staying = "--no-vacuum --select-only --jobs=2 --client=7 --time=3";
    assert_eq!(told(false), staying);
    assert_eq!(told(true), format!("{staying} --connect"));
}

/// Runs a shell in pgbench's place, which takes the options for its own arguments.
fn play(script: &str) -> Result<Speed, Unfinished> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "pgbench"]);
    let load = Load { clients: 1, connects: false, seconds: 1 };
    load.run(shell, &Interrupt::listen()?, || Ok(()))
}

#[test]
fn a_failure_is_told_in_its_first_lines() {
    let complaints = "for i in 1 2 3 4 5 6 7; do echo no such $i >&2; done; exit 1";
    let Err(Unfinished::Failed(why)) = play(complaints) else { panic!("it did not fail") };
    assert_eq!(why, "pgbench failed: no such 1\nno such 2\nno such 3\nno such 4\nno such 5");
}

#[test]
fn a_summary_is_waited_for() {
    let script = format!("sleep 0.1; printf '%s' '{STAYING}'");
    assert_eq!(play(&script).ok().map(|speed| speed.milliseconds), Some(12.646));
}

#[test]
fn it_ends_with_its_owner() {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "sleep 60", "pgbench"]);
    let load = Load { clients: 1, connects: false, seconds: 1 };
    let began = Instant::now();
    let failing = || Err(Unfinished::Failed("enough".into()));
    let outcome = Interrupt::listen().and_then(|interrupt| load.run(shell, &interrupt, failing));
    assert!(matches!(outcome, Err(Unfinished::Failed(why)) if why == "enough"));
    assert!(began.elapsed() < Duration::from_secs(30));
}
