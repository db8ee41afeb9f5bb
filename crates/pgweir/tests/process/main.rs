//! The life of the process, from outside: start, signals, files, exit codes.
//!
//! ```text
//! a folder with a pgbouncer.ini ──► the program ──► signals, connections ──► log, exit code
//! ```
//!
//! Needs no PostgreSQL: what passes between clients and servers is tested elsewhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod background;
mod files;
mod place;
mod signals;
mod user;

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use rustix::process::Signal;
use scratch::unprivileged;

use place::{PATIENCE, Place, Running, answer, command, program, said};

#[test]
fn arguments_are_answered_as_by_pgbouncer() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["-V"], 0, "PgBouncer 1.25.2 (pgweir "),
        (&["--help"], 0, " is a connection pooler for PostgreSQL.\n\nUsage:\n"),
        (&[], 1, ": no configuration file specified\nTry \""),
        (&["a.ini", "b.ini"], 1, ": no configuration file specified\nTry \""),
        (&["--nope"], 1, ": unrecognized option '--nope'\nTry \""),
        (&["-R", "a.ini"], 1, "option -R (--reboot) is not supported: start the new process"),
        (&["-d", "/nonexistent.ini"], 1, "] FATAL /nonexistent.ini"),
        (&["/nonexistent.ini"], 1, "] FATAL /nonexistent.ini"),
    ];
    for (args, code, text) in cases {
        let output = command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(said(&output).contains(text), "{args:?}: {}", said(&output));
    }
}

#[test]
fn every_complaint_about_the_configuration_is_told_at_once() {
    let place = Place::new("max_client_conn = many\nnonsense = 1\n");
    let output = command(&[place.ini()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("FATAL ") && text.contains("max_client_conn"), "{text}");
    assert!(text.contains("\n\t") && text.contains("nonsense"), "{text}");
}

#[test]
fn a_second_instance_is_refused_and_a_dead_one_is_replaced() {
    let place = Place::new("");
    let mut first = Running::start(&place);
    let second = command(&[place.ini()]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).contains("FATAL unix socket is in use, cannot continue"));
    fs::remove_file(place.socket()).unwrap();
    let third = command(&[place.ini()]).output().unwrap();
    assert!(said(&third).contains("exists, another instance running?"), "{}", said(&third));

    first.signal(Signal::KILL);
    first.process.wait().unwrap();
    assert!(place.pid_file().exists(), "nobody could tidy up");
    let mut next = Running::start(&place);
    next.signal(Signal::TERM);
    assert_eq!(next.exit_code(), 0);
    assert!(place.log().contains("LOG stale pidfile, removing\n"));
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let place = Place::new("");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 50; exec \"$0\" -q \"$1\""]).arg(program()).arg(place.ini());
    unprivileged(&mut limited);
    let mut running = Running::spawn(&mut limited, &place);
    let mut clients: Vec<TcpStream> = (0..80).map(|_| place.tcp().unwrap()).collect();
    place.wait_until("nothing was logged", |place| place.log().contains("Too many open files"));
    clients.truncate(60);
    for client in clients.drain(..59) {
        drop(client);
    }
    let last = clients.pop().unwrap();
    assert_eq!(answer(last), *b"N", "the last of them is served when there is room again");
    assert!(place.log().matches("could not accept connections").count() < 20, "{}", place.log());
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn a_supervisor_hears_how_far_it_is() {
    let place = Place::new("stats_period = 1\nlog_stats = 0\n");
    let path = place.path("notify");
    let supervisor = UnixDatagram::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    supervisor.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = |expected: &str| {
        let mut bytes = [0; 300];
        loop {
            let count = supervisor.recv(&mut bytes).unwrap();
            if bytes[..count].starts_with(expected.as_bytes()) {
                return;
            }
            // How much it does is told at any time.
            assert!(bytes[..count].starts_with(b"STATUS=stats: "), "no {expected}");
        }
    };
    let mut command = command(&["-q", place.ini()]);
    let mut running = Running::spawn(command.env("NOTIFY_SOCKET", &path), &place);
    heard("READY=1");
    running.signal(Signal::HUP);
    heard("RELOADING=1\nMONOTONIC_USEC=");
    heard("READY=1");
    heard("STATUS=stats: 0 xacts/s, 0 queries/s, ");
    assert!(!place.log().contains("stats: "), "{}", place.log());
    running.signal(Signal::TERM);
    heard("STOPPING=1");
    assert_eq!(running.exit_code(), 0);
}
