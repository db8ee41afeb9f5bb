//! Servers that vanish, refuse or come back.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use integration::{
    Client, Ini, Login, Lost, Message, database, eventually, own, server, tags, until,
};
use rustix::process::{Pid, Signal, kill_process};
use scratch::{Options, Stop, free_port};
use wire::write;

/// The SQLSTATE of the one error that a client got last before it was closed.
fn one_fatal(client: &mut Client) -> String {
    let (messages, lost) = client.rest();
    // A result may have begun, and PostgreSQL may have warned first.
    let tags = tags(&messages).replace(['T', 'N'], "");
    assert_eq!((tags.as_str(), lost), ("E", Lost::Closed), "{messages:?}");
    let body = &messages.last().unwrap().body;
    let code = wire::Fields::parse(body).unwrap().code().unwrap_or_default();
    String::from_utf8_lossy(code).into_owned()
}

#[test]
fn idle_servers_that_have_gone_are_not_handed_out() {
    for workers in [1, 4] {
        let server = server(15);
        let name = format!("stale_{workers}");
        database(server, &name);
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in(&name)).collect();
        for _ in 0..3 {
            clients.iter_mut().for_each(|client| drop(client.run("BEGIN")));
            clients.iter_mut().for_each(|client| drop(client.run("COMMIT")));
            let of_pool = format!("FROM pg_stat_activity WHERE datname = '{name}'");
            server.psql(&format!("SELECT count(pg_terminate_backend(pid)) {of_pool}")).unwrap();
            eventually("they have gone", || {
                server.psql(&format!("SELECT count(*) {of_pool}")).unwrap() == "0"
            });
            thread::sleep(Duration::from_millis(50));
            for client in &mut clients {
                assert_eq!(client.value("SELECT 1"), "1");
            }
        }
    }
}

#[test]
fn a_server_that_is_terminated_in_mid_query_gives_one_error() {
    let server = server(15);
    let name = database(server, "terminated");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let batch = |sql: &[u8]| {
            let mut out = Vec::new();
            write::parse(&mut out, b"", sql, &[]);
            write::bind(&mut out, b"", b"", &[], &[], &[]);
            write::describe(&mut out, b'P', b"");
            write::execute(&mut out, b"", 0);
            write::sync(&mut out);
            out
        };
        let mut simple = Vec::new();
        write::query(&mut simple, b"SELECT pg_sleep(60)");
        let twice = [batch(b"SELECT pg_sleep(60)"), batch(b"SELECT 2")].concat();
        for bytes in [simple, batch(b"SELECT pg_sleep(60)"), twice] {
            let mut bystander = pooler.client_in(name);
            bystander.run("BEGIN");
            let mut client = pooler.client_in(name);
            client.send_bytes(&bytes).unwrap();
            let kill = format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE datname = '{name}' AND query LIKE '%pg_sleep(60)%' AND state = 'active'"
            );
            eventually("its query runs", || server.psql(&kill).unwrap() == "1");
            let (messages, lost) = client.rest();
            let errors: Vec<&Message> = messages.iter().filter(|m| m.tag == b'E').collect();
            assert_eq!((errors.len(), lost), (1, Lost::Closed), "{messages:?}");
            let last = String::from_utf8_lossy(&messages.last().unwrap().body);
            assert!(last.contains("57P01"), "{messages:?}");
            assert!(["TE", "12TE"].contains(&&*tags(&messages)), "{messages:?}");
            assert_eq!(bystander.run("COMMIT").status(), 'I');
            assert_eq!(bystander.value("SELECT 1"), "1");
        }
    }
}

#[test]
fn a_server_that_is_killed_says_nothing_and_the_client_hears_it_once() {
    let server = own(15, Options::default());
    let pooler = Ini::new(&server).set("server_login_retry", 1).start();
    let mut client = pooler.client();
    let backend = client.value("SELECT pg_backend_pid()").parse().unwrap();
    client.send(|out| write::query(out, b"SELECT pg_sleep(60)"));
    let mut idle = pooler.client();
    kill_process(Pid::from_raw(backend).unwrap(), Signal::KILL).unwrap();
    let code = one_fatal(&mut client);
    assert!(code.starts_with("08") || code.starts_with("57"), "{code}");
    // PostgreSQL restarts by itself; who was idle has not lost anything.
    until("it is served again", Duration::from_secs(20), || {
        let reply = idle.query("SELECT 1");
        reply.codes().is_empty()
    });
}

#[test]
fn an_immediate_shutdown_gives_one_error_and_a_restart_is_noticed() {
    let mut server = own(15, Options::default());
    let pooler = Ini::new(&server)
        .set("worker_threads", 4)
        .set("default_pool_size", 4)
        .set("server_login_retry", 1)
        .start();
    for stop in [Stop::Immediate, Stop::Fast] {
        let mut busy: Vec<Client> = (0..4).map(|_| pooler.client()).collect();
        for client in &mut busy {
            client.send(|out| write::query(out, b"SELECT pg_sleep(60)"));
        }
        let count = "SELECT count(*) FROM pg_stat_activity
                     WHERE query LIKE '%pg_sleep(60)%' AND state = 'active'
                     AND pid <> pg_backend_pid()";
        eventually("their queries run", || server.psql(count).unwrap() == "4");
        let mut idle = pooler.client();
        server.stop(stop).unwrap();
        for client in &mut busy {
            let code = one_fatal(client);
            assert!(["57P01", "57P02", "08006"].contains(&&*code), "{stop:?}: {code}");
        }
        server.launch().unwrap();
        until("clients are let in again", Duration::from_secs(5), || {
            Client::login(&pooler.tcp(), &Login::new("postgres", "postgres")).is_ok()
        });
        assert_eq!(idle.value("SELECT 1"), "1");
    }
}

/// Reads the rest of an answer; false when it ends with the server's last words.
fn is_whole(client: &mut Client) -> bool {
    loop {
        match client.try_message() {
            Ok(message) if message.tag == b'Z' => return true,
            Ok(message) if message.tag == b'E' => {
                let (more, lost) = client.rest();
                assert!(more.is_empty() && lost == Lost::Closed, "{more:?} {lost:?}");
                return false;
            }
            Ok(_) => {}
            Err(lost) => panic!("{lost:?} without a word"),
        }
    }
}

#[test]
fn a_restart_under_load_costs_each_client_one_error_at_most() {
    let mut server = own(15, Options::default());
    let pooler = Ini::new(&server)
        .set("worker_threads", 4)
        .set("default_pool_size", 5)
        .set("server_login_retry", 1)
        .start();
    let is_over = AtomicBool::new(false);
    let work = || {
        let (mut done, mut since) = (0_u32, None);
        let mut client = None;
        while !is_over.load(Relaxed) || since.is_some() {
            let Some(mut connected) = client.take() else {
                let login = Login::new("postgres", "postgres");
                client = Client::login(&pooler.tcp(), &login).ok();
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            connected.send(|out| write::query(out, b"SELECT 1"));
            match connected.try_message() {
                Ok(first) if first.tag == b'T' => {
                    // The server's end may come in the middle of its answer.
                    if is_whole(&mut connected) {
                        done += 1;
                        since = None;
                        client = Some(connected);
                    } else {
                        since.get_or_insert_with(Instant::now);
                    }
                }
                // The server's last words, or ours, and then the end.
                Ok(first) => {
                    assert_eq!(first.tag, b'E', "{first:?}");
                    let (more, lost) = connected.rest();
                    assert!(more.is_empty() && lost == Lost::Closed, "{first:?} {more:?} {lost:?}");
                    let start = *since.get_or_insert_with(Instant::now);
                    assert!(start.elapsed() < Duration::from_secs(15), "no recovery: {first:?}");
                }
                Err(lost) => panic!("{lost:?} without a word"),
            }
        }
        done
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..12).map(|_| scope.spawn(work)).collect();
        for stop in [Stop::Fast, Stop::Immediate] {
            thread::sleep(Duration::from_millis(300));
            server.restart(stop).unwrap();
        }
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Relaxed);
        for client in clients {
            assert!(client.join().unwrap() > 0, "a client was never served");
        }
    });
    assert_eq!(pooler.client().value("SELECT 1"), "1");
}

#[test]
fn a_database_that_is_not_there_is_reported_at_once() {
    let server = server(15);
    let name = database(server, "dropped");
    let pooler = Ini::new(server).set("worker_threads", 4).start();
    let start = Instant::now();
    for _ in 0..8 {
        let login = Login::new("postgres", "never_was");
        let refusal = Client::login(&pooler.tcp(), &login).map(drop).unwrap_err();
        assert_eq!((&*refusal.severity, &*refusal.code), ("FATAL", "3D000"), "{refusal:?}");
    }
    // Clients that are in already are told as well, all of them.
    let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in(name)).collect();
    let gone = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'dropped'";
    server.psql("DROP DATABASE dropped WITH (FORCE)").unwrap();
    eventually("its servers have gone", || server.psql(gone).unwrap() == "0");
    for client in &mut clients {
        client.send(|out| write::query(out, b"SELECT 1"));
    }
    for client in &mut clients {
        assert_eq!(one_fatal(client), "3D000");
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(pooler.client().value("SELECT 1"), "1");
}

#[test]
fn a_server_that_refuses_connections_is_reported_at_once() {
    for workers in [1, 4] {
        let mut ini = Ini::bare().set("worker_threads", workers).user("postgres", "");
        let port = free_port();
        ini = ini.database(&format!("tcp = host=127.0.0.1 port={port}"));
        ini = ini.database(&format!("unix = host=/nowhere port={port}"));
        ini = ini.database(&format!("name = host=host.invalid port={port}"));
        let pooler = ini.start();
        for database in ["tcp", "unix", "name"] {
            for _ in 0..4 {
                let start = Instant::now();
                let login = Login::new("postgres", database);
                let refusal = Client::login(&pooler.tcp(), &login).map(drop).unwrap_err();
                assert_eq!(refusal.code, "08006", "{database}: {refusal:?}");
                assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
            }
        }
    }
}

#[test]
fn a_server_without_free_connections_makes_clients_wait() {
    let options = Options {
        settings: vec![("max_connections".to_owned(), "8".to_owned())],
        ..Options::default()
    };
    let server = own(15, options);
    server.psql("CREATE ROLE common LOGIN").unwrap();
    let direct = Login::new("common", "postgres");
    let place = integration::Place::Tcp(server.port);
    let mut hogs = Vec::new();
    while let Ok(hog) = Client::login(&place, &direct) {
        hogs.push(hog);
    }
    assert!(!hogs.is_empty());
    let pooler = Ini::new(&server).set("server_login_retry", 0.2).user("common", "").start();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| Client::login(&pooler.tcp(), &direct));
        thread::sleep(Duration::from_millis(500));
        assert!(!waiting.is_finished(), "it was not waited");
        hogs.clear();
        let mut client = waiting.join().unwrap().unwrap();
        assert_eq!(client.value("SELECT session_user"), "common");
    });
}
