//! The life of the process: its start, its signals, its end.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, eventually, pgweir, run, server};
use rustix::process::Signal;
use wire::write;

/// Whether anybody listens.
fn is_open(place: &integration::Place) -> bool {
    Client::open(place).is_ok()
}

#[test]
fn term_waits_for_clients() {
    for workers in [1, 4] {
        let pooler = Ini::new(server(15)).set("worker_threads", workers).start();
        let socket = pooler.folder().join(format!(".s.PGSQL.{}", pooler.port));
        let mut idle = pooler.client();
        let mut busy = pooler.client();
        busy.run("BEGIN");
        pooler.signal(Signal::TERM);
        eventually("its TCP port is closed", || !is_open(&pooler.tcp()));
        // Those who are in go on, for as long as they like.
        assert_eq!(idle.value("SELECT 1"), "1");
        assert_eq!(busy.run("COMMIT").status(), 'I');
        assert_eq!(idle.value("SELECT 2"), "2");
        assert!(socket.exists(), "the Unix socket is for the console");
        let refusal = Client::login(&pooler.unix(), &Login::new("postgres", "postgres"));
        assert_eq!(refusal.map(drop).unwrap_err().message, "pooler is shutting down");
        assert!(pooler.is_running());
        idle.hang_up();
        drop(busy);
        let (status, log) = pooler.end();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("client connections dropped, exiting"), "{log}");
        assert!(!socket.exists());
    }
}

#[test]
fn int_waits_for_servers() {
    for workers in [1, 4] {
        let pooler =
            Ini::new(server(15)).set("worker_threads", workers).set("default_pool_size", 1).start();
        let mut busy = pooler.client();
        busy.run("BEGIN");
        let mut waiting = pooler.client();
        waiting.send(|out| write::query(out, b"SELECT 1"));
        let mut idle = pooler.client();
        pooler.signal(Signal::INT);
        // Those who wait are told; a transaction ends in order, and then everything does.
        let refusal = waiting.fatal();
        assert_eq!((&*refusal.code, &*refusal.message), ("57P01", "server shutting down"));
        thread::sleep(Duration::from_millis(500));
        assert!(pooler.is_running());
        assert_eq!(busy.value("SELECT 1"), "1");
        assert_eq!(busy.run("COMMIT").status(), 'I');
        let (status, log) = pooler.end();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("server connections dropped, exiting"), "{log}");
        let (messages, _) = idle.rest();
        assert!(messages.len() <= 1, "{messages:?}");
    }
}

#[test]
fn quit_and_a_second_signal_end_it_at_once() {
    for signals in [
        [Signal::QUIT, Signal::QUIT],
        [Signal::TERM, Signal::TERM],
        [Signal::INT, Signal::INT],
        [Signal::TERM, Signal::INT],
        [Signal::INT, Signal::QUIT],
    ] {
        let pooler = Ini::new(server(15)).set("worker_threads", 4).start();
        let socket = pooler.folder().join(format!(".s.PGSQL.{}", pooler.port));
        let mut client = pooler.client();
        client.run("BEGIN");
        let start = Instant::now();
        pooler.signal(signals[0]);
        if signals[0] != Signal::QUIT {
            pooler.logs("shutting down");
            assert!(pooler.is_running());
            pooler.signal(signals[1]);
        }
        let (status, log) = pooler.end();
        assert_eq!(status.code(), Some(0), "{signals:?}: {log}");
        assert!(log.contains("fast exit"), "{signals:?}: {log}");
        assert!(start.elapsed() < Duration::from_secs(5), "{signals:?}: {:?}", start.elapsed());
        assert!(!socket.exists(), "{signals:?}");
        client.rest();
    }
}

#[test]
fn pause_and_resume_by_signal() {
    let pooler = Ini::new(server(15)).set("worker_threads", 4).start();
    let mut clients: Vec<Client> = (0..8).map(|_| pooler.client()).collect();
    let mut busy = pooler.client();
    busy.run("BEGIN");
    pooler.signal(Signal::USR1);
    pooler.logs("got SIGUSR1");
    thread::sleep(Duration::from_millis(100));
    assert_eq!(busy.value("SELECT 1"), "1");
    busy.run("COMMIT");
    thread::scope(|scope| {
        let waiting: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(|| client.value("SELECT 1"))).collect();
        thread::sleep(Duration::from_millis(300));
        assert!(waiting.iter().all(|one| !one.is_finished()), "served while paused");
        pooler.signal(Signal::USR2);
        for one in waiting {
            assert_eq!(one.join().unwrap(), "1");
        }
    });
}

#[test]
fn the_process_id_is_in_its_file() {
    let folder = scratch::Folder::new("pid").unwrap();
    let path = folder.path().join("pgweir.pid");
    let ini = Ini::new(server(15)).set("pidfile", path.display());
    // Left by one that has crashed, which had an id that is free again.
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    fs::write(&path, format!("{}\n", child.id())).unwrap();
    let pooler = ini.clone().start();
    eventually("it is written", || path.exists());
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), pooler.pid().to_string());
    let refused = ini.refuse();
    assert_eq!(refused.code, Some(1), "{}", refused.log);
    assert!(refused.log.contains("another instance running?"), "{}", refused.log);
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), pooler.pid().to_string());
    pooler.signal(Signal::TERM);
    let (status, log) = pooler.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!path.exists());
}

#[test]
fn a_unix_socket_that_nobody_answers_is_replaced() {
    let folder = scratch::Folder::new("sock").unwrap();
    let port = scratch::free_port();
    let path = folder.path().join(format!(".s.PGSQL.{port}"));
    let ini = Ini::new(server(15))
        .set("unix_socket_dir", folder.path().display())
        .set("listen_port", port);
    // Closed without being removed, as by a crash.
    drop(UnixListener::bind(&path).unwrap());
    let place = integration::Place::Unix(path.clone());
    assert!(path.exists());
    // A program that another test starts has the socket for the moment between fork and exec.
    eventually("the socket is closed", || !is_open(&place));
    let pooler = ini.clone().start();
    let mut client = Client::login(&place, &Login::new("postgres", "postgres")).unwrap();
    assert_eq!(client.value("SELECT 1"), "1");

    let refused = ini.refuse();
    assert_eq!(refused.code, Some(1), "{}", refused.log);
    assert!(refused.log.contains("unix socket is in use, cannot continue"), "{}", refused.log);
    assert_eq!(client.value("SELECT 2"), "2");
    drop(client);
    drop(pooler);
    assert!(!path.exists());
}

#[test]
fn root_is_refused_with_what_to_do() {
    let pooler = Ini::new(server(15)).start();
    let ini = pooler.folder().join("pgweir.ini");
    // Only root can try it as root; everybody else is refused because the place is taken.
    let said = run(Command::new(pgweir()).arg(&ini));
    assert_eq!(said.status.code(), Some(1), "{said}");
    let expected = if rustix::process::geteuid().is_root() {
        "pgweir should not run as root: start it as another user"
    } else {
        "unix socket is in use, cannot continue"
    };
    assert!(said.err.contains(expected), "{said}");
}

#[test]
fn the_command_line() {
    for (arguments, code, text) in [
        (vec!["--version"], 0, "PgBouncer 1.25"),
        (vec!["-V"], 0, "PgBouncer 1.25"),
        (vec!["--help"], 0, "Usage:"),
        (vec![], 1, "no configuration file specified"),
        (vec!["a", "b"], 1, "no configuration file specified"),
        (vec!["--nonsense"], 1, "unrecognized option '--nonsense'"),
        (vec!["/nowhere/at/all.ini"], 1, "/nowhere/at/all.ini"),
        (vec!["-R", "x.ini"], 1, "so_reuseport"),
    ] {
        let said = run(Command::new(pgweir()).args(&arguments));
        assert_eq!(said.status.code(), Some(code), "{arguments:?}: {said}");
        let stream = if code == 0 { &said.out } else { &said.err };
        assert!(stream.contains(text), "{arguments:?}: {said}");
    }
}
