//! The files of a running process: its log, and those of its configuration.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::process::Signal;

use crate::place::{Place, Running, command, said};

#[test]
fn a_reload_opens_the_log_again_and_refuses_a_broken_file() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    fs::rename(place.path("log"), place.path("log.1")).unwrap();
    running.signal(Signal::HUP);
    place.wait_until("the log was not opened again", |place| place.path("log").exists());
    place.write_ini("nonsense = 1\n");
    running.signal(Signal::HUP);
    place.wait_until("no complaint", |place| place.log().contains("WARNING "));
    assert!(place.log().contains("nonsense"), "{}", place.log());
    assert!(place.tcp().is_ok(), "it must go on serving");

    let other = place.path("other.ini");
    place.write_ini(&format!("conffile = {}\n", other.display()));
    running.signal(Signal::HUP);
    place.wait_until("the other file was not read", |place| {
        // Each reload reads what the one before has named.
        running.signal(Signal::HUP);
        place.log().contains("other.ini")
    });
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn nothing_goes_to_a_log_that_was_rotated_away() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    let mut old = Vec::new();
    for number in 1..=5 {
        let path = place.path(&format!("log.{number}"));
        fs::rename(place.path("log"), &path).unwrap();
        running.signal(Signal::HUP);
        place.wait_until("the log was not opened again", |place| {
            let last = fs::read_to_string(&path).unwrap();
            place.path("log").exists() && last.ends_with("LOG got SIGHUP, re-reading config\n")
        });
        old.push((fs::read(&path).unwrap(), path));
    }
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    for (text, path) in old {
        assert_eq!(fs::read(&path).unwrap(), text, "{}", path.display());
    }
    assert!(place.log().contains("LOG got SIGTERM, shutting down"), "{}", place.log());
}

#[test]
fn a_log_that_cannot_be_opened_refuses_a_reload() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    place.write_ini("logfile = /nonexistent/log\nverbose = 2\n");
    running.signal(Signal::HUP);
    place.wait_until("no complaint", |place| {
        place.log().contains("could not open logfile \"/nonexistent/log\"")
    });
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    assert!(place.log().ends_with("LOG client connections dropped, exiting\n"), "{}", place.log());
    assert!(!place.log().contains(" DEBUG "), "the rest has not come into force either");
}

#[test]
fn the_socket_has_the_group_and_the_mode_of_the_settings() {
    let own = rustix::process::getegid().as_raw();
    let (group, gid) = scratch::Identity::unprivileged()
        .map_or_else(|| (own.to_string(), own), |user| (user.gid.to_string(), user.gid));
    let settings = format!("unix_socket_group = {group}\nunix_socket_mode = 0750\n");
    let place = Place::new(&settings);
    let mut running = Running::start(&place);
    let socket = fs::metadata(place.socket()).unwrap();
    assert_eq!((socket.gid(), socket.permissions().mode() & 0o777), (gid, 0o750));
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);

    let place = Place::new("unix_socket_group = no-such-group\n");
    let refused = command(&[place.ini()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("FATAL could not find group 'no-such-group'"));
}

#[test]
fn our_own_settings_may_come_from_the_environment() {
    let place = Place::new("");
    let mut command = command(&["-q", place.ini()]);
    let mut running = Running::spawn(command.env("PGWEIR_WORKER_THREADS", "3"), &place);
    assert!(place.log().contains(", worker threads: 3\n"), "{}", place.log());
    running.signal(Signal::HUP);
    place.wait_until("no reload", |place| place.log().contains("got SIGHUP"));
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    assert!(!place.log().contains("WARNING"), "nothing has changed: {}", place.log());

    let place = Place::new("");
    let mut command = crate::place::command(&[place.ini()]);
    let refused = command.env("PGWEIR_WORKER_THREADS", "many").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("PGWEIR_WORKER_THREADS"), "{}", said(&refused));
}

#[test]
fn two_processes_share_a_port_if_both_are_told_to() {
    let first = Place::new("so_reuseport = 1\n");
    let second = Place::beside(&first, "so_reuseport = 1\n");
    let mut running = [Running::start(&first), Running::start(&second)];
    for place in [&first, &second] {
        assert!(place.tcp().is_ok());
    }
    let alone = Place::beside(&first, "unix_socket_dir =\n");
    let refused = command(&[alone.ini()]).output().unwrap();
    assert!(said(&refused).contains("FATAL nowhere to listen on"), "{}", said(&refused));
    for running in &mut running {
        running.signal(Signal::TERM);
        assert_eq!(running.exit_code(), 0);
    }
}
