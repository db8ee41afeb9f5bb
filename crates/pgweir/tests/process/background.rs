//! `-d`: who is told what, and what is left of the terminal.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

use rustix::process::{Pid, Signal, getpid, kill_process, test_kill_process};
use scratch::unprivileged;

use crate::place::{Place, Running, command, program, said};

/// A process in the background, which dies with the test.
struct Daemon(Pid);

impl Daemon {
    /// Waits for its parent, by which time it is up.
    fn start(place: &Place, name: &str) -> (Self, Output) {
        let path = place.path(name);
        symlink(program(), &path).unwrap();
        let mut command = std::process::Command::new(path);
        command.args(["-d", "pgbouncer.ini"]);
        unprivileged(&mut command);
        let output = command.current_dir(place.path("")).output().unwrap();
        let pid = fs::read_to_string(place.pid_file()).unwrap().trim().parse().unwrap();
        (Self(Pid::from_raw(pid).unwrap()), output)
    }

    /// One of its files below /proc.
    fn file(&self, name: &str) -> String {
        let path = format!("/proc/{}/{name}", self.0);
        fs::read_to_string(path).unwrap().replace('\0', " ").trim().to_owned()
    }

    fn link(&self, name: &str) -> String {
        fs::read_link(format!("/proc/{}/{name}", self.0)).unwrap().display().to_string()
    }

    /// Whether it runs; whoever has inherited it may not have noticed its end.
    fn runs(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        test_kill_process(self.0).is_ok() && !status.contains("State:\tZ")
    }

    fn end(self, place: &Place) {
        kill_process(self.0, Signal::TERM).unwrap();
        place.wait_until("it does not end", |_| !self.runs());
        assert!(!place.pid_file().exists() && !place.socket().exists());
        assert!(place.log().ends_with("LOG client connections dropped, exiting\n"));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.runs() {
            let _ = kill_process(self.0, Signal::KILL);
        }
    }
}

#[test]
fn the_parent_ends_when_it_is_up_and_nothing_of_the_terminal_is_left() {
    let place = Place::new("");
    let (daemon, output) = Daemon::start(&place, "pgbouncer");
    assert_eq!((output.status.code(), &*said(&output)), (Some(0), ""));
    assert!(place.log().contains("LOG process up: "), "{}", place.log());
    assert!(place.tcp().is_ok());

    let name = place.path("pgbouncer");
    assert_eq!(daemon.file("comm"), "pgbouncer");
    assert_eq!(daemon.file("cmdline"), format!("{} -d pgbouncer.ini", name.display()));
    for number in 0..3 {
        assert_eq!(daemon.link(&format!("fd/{number}")), "/dev/null");
    }
    // Behind the name in brackets: state, parent, group, session, terminal.
    let stat = daemon.file("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!(fields[3], daemon.0.to_string(), "a session of its own: {stat}");
    assert_eq!(fields[4], "0", "no terminal: {stat}");
    assert_ne!(fields[1], getpid().to_string());

    place.write_ini("default_pool_size = 7\n");
    kill_process(daemon.0, Signal::HUP).unwrap();
    place.wait_until("the relative path is not found again", |place| {
        place.log().contains("got SIGHUP, re-reading config")
    });
    assert!(!place.log().contains("WARNING"), "{}", place.log());
    daemon.end(&place);
}

#[test]
fn what_keeps_it_from_starting_is_told_by_the_parent() {
    let place = Place::new("pidfile =\n");
    let refused = command(&["-d", place.ini()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).ends_with(" FATAL daemon needs pidfile configured\n"));
    assert_eq!(said(&refused).lines().count(), 1, "{}", said(&refused));

    let place = Place::new("nonsense = 1\n");
    let refused = command(&["--daemon", "-q", place.ini()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains(" FATAL ") && said(&refused).contains("nonsense"));

    let place = Place::new("");
    let mut first = Running::start(&place);
    let refused = command(&["-d", place.ini()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).ends_with(" FATAL unix socket is in use, cannot continue\n"));
    first.signal(Signal::TERM);
    assert_eq!(first.exit_code(), 0);
}

#[test]
fn a_process_keeps_the_name_that_it_was_started_by() {
    let place = Place::new("");
    let path = place.path("pgbouncer");
    symlink(program(), &path).unwrap();
    let mut command = std::process::Command::new(&path);
    command.args(["-q", place.ini()]);
    unprivileged(&mut command);
    let mut running = Running::spawn(&mut command, &place);
    let comm = fs::read_to_string(format!("/proc/{}/comm", running.process.id())).unwrap();
    assert_eq!(comm, "pgbouncer\n");
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}
