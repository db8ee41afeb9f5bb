//! Targets without and with processes.

use super::*;

fn settings(server: u16) -> Settings {
    Settings { server, auth_type: "trust", users: String::new(), core: None }
}

fn programs(pgbouncer: &str) -> Programs {
    Programs { pgbouncer: PathBuf::from(pgbouncer), pgweir: None }
}

#[test]
fn names() {
    let names = [Target::Direct, Target::Relay, Target::PgBouncer(2), Target::Pgweir(1)]
        .map(|target| target.to_string());
    assert_eq!(names, ["direct", "relay", "pgbouncer ×2", "pgweir/1"]);
}

#[test]
fn nothing_stands_before_a_direct_target() {
    let running = Target::Direct.start(&programs("true"), &settings(5432)).unwrap();
    assert_eq!((running.port, running.pids()), (5432, vec![]));
    assert_eq!(running.cpu().unwrap(), Cpu::default());
}

#[test]
fn a_pooler_that_ends_at_once_is_reported() {
    // cat prints the settings it was given and is done.
    let error = Target::PgBouncer(1).start(&programs("cat"), &settings(5432)).unwrap_err();
    assert_eq!(error.to_string(), "pgbouncer ×1 does not start");
    let why = error.root_cause().to_string();
    assert!(why.starts_with("it ended with exit status: 0"), "{why}");
}

#[test]
fn every_pooler_reads_the_same() {
    let text = ini(Path::new("/tmp/x"), 6432, "worker_threads = 2\n", &settings(5433));
    assert!(text.contains("bench = host=127.0.0.1 port=5433 dbname=bench\n"), "{text}");
    assert!(text.contains("auth_file = /tmp/x/userlist.txt\n"), "{text}");
    assert!(text.ends_with("ignore_startup_parameters = extra_float_digits\nworker_threads = 2\n"));
}
