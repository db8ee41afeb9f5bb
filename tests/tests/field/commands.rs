//! The commands of the console that change something, under load and with real servers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, Pooler, Refusal, database, eventually, server};
use rustix::process::Signal;
use scratch::Postgres;
use wire::write;

/// The rows of a table, each value by the name of its column.
fn table(console: &mut Client, sql: &str) -> Vec<BTreeMap<String, String>> {
    let reply = console.run(sql);
    let columns = wire::backend::row_description(&reply.messages[0].body).unwrap();
    let names: Vec<String> =
        columns.map(|column| String::from_utf8_lossy(column.name).into_owned()).collect();
    let row = |row: Vec<String>| names.iter().cloned().zip(row).collect();
    reply.rows().into_iter().map(row).collect()
}

fn login(pooler: &Pooler, name: &str) -> Result<Client, Refusal> {
    Client::login(&pooler.tcp(), &Login::new("postgres", name))
}

fn refused(console: &mut Client, sql: &str) -> String {
    let reply = console.query(sql);
    let error = &reply.errors()[0];
    assert_eq!((&*error.severity, reply.status()), ("ERROR", 'I'), "{sql}: {reply:?}");
    error.message.clone()
}

/// How many servers of a database PostgreSQL itself knows.
fn servers_of(server: &Postgres, name: &str) -> String {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
    server.psql(&sql).unwrap()
}

#[test]
fn a_killed_database_is_empty_until_it_is_resumed() {
    let server = server(15);
    let name = database(server, "killed");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut console = pooler.console();
        let mut elsewhere = pooler.client();
        elsewhere.run("BEGIN");
        for kill in [format!("KILL {name}"), "KILL".to_owned()] {
            let mut clients: Vec<Client> = (0..4).map(|_| pooler.client_in(name)).collect();
            clients[0].run("BEGIN");
            clients[1].send(|out| write::query(out, b"SELECT pg_sleep(60)"));
            clients[2].run("SELECT 1");
            eventually("the query runs", || servers_of(server, name) != "0");
            assert_eq!(console.run(&kill).commands(), ["KILL"]);
            for client in &mut clients {
                let end = client.fatal();
                assert_eq!((&*end.code, &*end.message), ("57P01", "database removed"));
            }
            // PostgreSQL looks for the end of a client only between two statements.
            eventually("servers are gone", || {
                let open = table(&mut console, "SHOW SERVERS");
                open.iter().all(|row| row["database"] != name)
            });
            let paused = table(&mut console, "SHOW DATABASES");
            let row = paused.iter().find(|row| row["name"] == name).unwrap();
            assert_eq!(row["paused"], "1");
            let mut late = pooler.client_in(name);
            late.send(|out| write::query(out, b"SELECT 'late'"));
            assert_eq!(refused(&mut console, "RESUME"), "pooler is not paused/suspended");
            console.run(&format!("RESUME {name}"));
            assert_eq!(late.reply().value(), "late");
            server
                .psql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()",
                )
                .unwrap();
            if kill == "KILL" {
                elsewhere.fatal();
                console.run("RESUME postgres");
            } else {
                assert_eq!(elsewhere.value("SELECT 'elsewhere'"), "elsewhere");
            }
        }
    }
}

#[test]
fn a_killed_client_is_the_one_that_was_meant() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut console = pooler.console();
        let mut clients: Vec<Client> = (0..6)
            .map(|number| {
                let login = Login::new("postgres", "postgres");
                let login = login.with("application_name", &format!("number {number}"));
                Client::login(&pooler.tcp(), &login).unwrap()
            })
            .collect();
        let id = |console: &mut Client, name: &str| {
            let shown = table(console, "SHOW CLIENTS");
            shown.into_iter().find(|row| row["application_name"] == name).unwrap()["id"].clone()
        };
        let ids: Vec<String> =
            (0..6).map(|number| id(&mut console, &format!("number {number}"))).collect();
        clients[3].run("BEGIN");
        assert_eq!(console.run(&format!("KILL_CLIENT {}", ids[3])).commands(), ["KILL_CLIENT"]);
        let end = clients.remove(3).fatal();
        assert_eq!((&*end.code, &*end.message), ("57P01", "admin forced disconnect"));
        // Whoever comes next is not who was meant.
        let mut next = pooler.client();
        let again = refused(&mut console, &format!("KILL_CLIENT {}", ids[3]));
        assert_eq!(again, "client not found");
        assert_eq!(next.value("SELECT 1"), "1");
        for client in &mut clients {
            assert_eq!(client.value("SELECT 1"), "1");
        }
        assert_eq!(refused(&mut console, "KILL_CLIENT x"), "invalid client pointer supplied");
        // Sessions of the console have ids, too.
        let mut second = pooler.console();
        let shown = table(&mut console, "SHOW CLIENTS");
        let consoles = shown.iter().filter(|row| row["database"] == "pgbouncer");
        let newest = consoles.map(|row| row["id"].parse::<u64>().unwrap()).max().unwrap();
        console.send(|out| write::query(out, format!("KILL_CLIENT {newest}").as_bytes()));
        let one = thread::scope(|scope| {
            let one = scope.spawn(|| second.fatal());
            one.join().unwrap()
        });
        assert_eq!(one.message, "admin forced disconnect");
        assert_eq!(console.reply().commands(), ["KILL_CLIENT"]);
    }
}

#[test]
fn reconnect_gives_every_client_a_new_server_between_two_transactions() {
    let server = server(15);
    let name = database(server, "reconnected");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut console, mut second) = (pooler.console(), pooler.console());
        let mut clients: Vec<Client> = (0..4).map(|_| pooler.client_in(name)).collect();
        let pid = "SELECT pg_backend_pid()";
        let old: Vec<String> = clients
            .iter_mut()
            .map(|client| {
                client.run("BEGIN");
                client.value(pid)
            })
            .collect();
        let reconnect = format!("RECONNECT {name}");
        let wait = format!("WAIT_CLOSE {name}");
        assert_eq!(console.run(&reconnect).commands(), ["RECONNECT"]);
        let shown = table(&mut console, "SHOW SERVERS");
        let mut of_name = shown.iter().filter(|row| row["database"] == name);
        assert!(of_name.all(|row| row["close_needed"] == "1"), "{shown:?}");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.run(&wait));
            for (client, old) in clients.iter_mut().zip(&old) {
                thread::sleep(Duration::from_millis(100));
                assert!(!waiting.is_finished());
                assert_eq!(client.value(pid), *old, "the transaction keeps its server");
                client.run("COMMIT");
            }
            assert_eq!(waiting.join().unwrap().commands(), ["WAIT_CLOSE"]);
        });
        for client in &mut clients {
            let new = client.value(pid);
            assert!(!old.contains(&new), "{new} is an old one");
        }
        assert_eq!(console.run("WAIT_CLOSE").commands(), ["WAIT_CLOSE"]);
        pooler.logs(&format!("RECONNECT '{name}' command issued"));
    }
}

#[test]
fn a_disabled_database_lets_only_those_go_on_that_are_in() {
    let server = server(15);
    let name = database(server, "disabled");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut console, mut inside) = (pooler.console(), pooler.client_in(name));
        assert_eq!(console.run(&format!("DISABLE {name}")).commands(), ["DISABLE"]);
        for _ in 0..2 * workers {
            let refusal = login(&pooler, name).map(drop).unwrap_err();
            let message = format!("database \"{name}\" is disabled");
            assert_eq!((&*refusal.severity, &*refusal.code), ("FATAL", "57P03"));
            assert_eq!(refusal.message, message);
        }
        assert_eq!(inside.value("SELECT 1"), "1");
        assert_eq!(pooler.client().value("SELECT 1"), "1");
        assert_eq!(console.run(&format!("ENABLE {name}")).commands(), ["ENABLE"]);
        assert_eq!(pooler.client_in(name).value("SELECT 1"), "1");
        assert_eq!(refused(&mut console, "DISABLE"), "a database is required");
    }
}

/// Clients that run one short transaction after the other until they are stopped; each answers how
/// many it has run.
fn under_load<T>(pooler: &Pooler, name: &str, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|number| {
                let stop = &stop;
                let mut client = pooler.client_in(name);
                scope.spawn(move || {
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        client.run("BEGIN");
                        let sql = format!("SELECT {number} + {done}");
                        assert_eq!(client.value(&sql), (number + done).to_string());
                        client.run("COMMIT");
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(100));
        let outcome = act();
        thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            assert!(client.join().unwrap() > 0);
        }
        outcome
    })
}

#[test]
fn pause_and_suspend_under_load_come_to_an_end_and_lose_nothing() {
    let server = server(15);
    let name = database(server, "loaded");
    for workers in [1, 2, 4] {
        let pooler =
            Ini::new(server).set("worker_threads", workers).set("default_pool_size", 6).start();
        let (mut console, mut second) = (pooler.console(), pooler.console());
        under_load(&pooler, name, || {
            for round in 0..12 {
                let start = Instant::now();
                let what = match round % 3 {
                    0 => "PAUSE".to_owned(),
                    1 => format!("PAUSE {name}"),
                    _ => "SUSPEND".to_owned(),
                };
                let resume =
                    if round % 3 == 1 { format!("RESUME {name}") } else { "RESUME".into() };
                let tag = what.split(' ').next().unwrap().to_owned();
                assert_eq!(console.run(&what).commands(), [tag.as_str()]);
                if tag == "PAUSE" {
                    let shown = table(&mut second, "SHOW SERVERS");
                    assert!(shown.iter().all(|row| row["database"] != name), "{what}: {shown:?}");
                }
                console.run("RECONNECT");
                assert_eq!(second.run(&resume).commands(), ["RESUME"]);
                console.run("RECONNECT");
                assert_eq!(console.run("WAIT_CLOSE").commands(), ["WAIT_CLOSE"]);
                assert!(start.elapsed() < Duration::from_secs(5), "{what} takes too long");
            }
        });
    }
}

#[test]
fn two_consoles_and_a_departure() {
    let server = server(15);
    let name = database(server, "crossed");
    for workers in [1, 2, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut one, mut two, mut three) = (pooler.console(), pooler.console(), pooler.console());
        let mut busy = pooler.client_in(name);
        // Both wait for the same end.
        busy.run("BEGIN");
        let pause = format!("PAUSE {name}");
        one.send(|out| write::query(out, pause.as_bytes()));
        two.send(|out| write::query(out, pause.as_bytes()));
        thread::sleep(Duration::from_millis(50));
        busy.run("COMMIT");
        assert_eq!(one.reply().commands(), ["PAUSE"]);
        assert_eq!(two.reply().commands(), ["PAUSE"]);
        three.run(&format!("RESUME {name}"));
        // The second one is told at once, and the first one when it is over.
        busy.run("BEGIN");
        one.send(|out| write::query(out, b"PAUSE"));
        pooler.logs("PAUSE command issued");
        eventually("it is paused", || table(&mut three, "SHOW STATE")[1]["value"] == "yes");
        assert_eq!(refused(&mut two, "PAUSE"), "already suspended/paused");
        assert_eq!(refused(&mut two, "KILL"), "already suspended/paused");
        assert_eq!(refused(&mut two, "SUSPEND"), "already suspended/paused");
        two.run("RESUME");
        assert_eq!(one.reply().errors()[0].message, "PAUSE was revoked by RESUME");
        // Who has paused goes away.
        one.send(|out| write::query(out, b"PAUSE"));
        eventually("it is paused again", || table(&mut three, "SHOW STATE")[1]["value"] == "yes");
        drop(one);
        busy.run("COMMIT");
        eventually("no server is left", || servers_of(server, name) == "0");
        two.run("RESUME");
        assert_eq!(busy.value("SELECT 1"), "1");
    }
}

#[test]
fn suspend_stops_everybody_but_the_console() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut console, mut client) = (pooler.console(), pooler.client());
        client.run("BEGIN");
        assert_eq!(console.run("SUSPEND").commands(), ["SUSPEND"]);
        thread::scope(|scope| {
            let asking = scope.spawn(|| client.value("SELECT 'after'"));
            let coming = scope.spawn(|| pooler.client().value("SELECT 'late'"));
            thread::sleep(Duration::from_millis(500));
            assert!(!asking.is_finished() && !coming.is_finished());
            let state = table(&mut console, "SHOW STATE");
            let values: Vec<_> = state.iter().map(|row| &*row["value"]).collect();
            assert_eq!(values, ["no", "no", "yes"]);
            assert_eq!(console.run("RESUME").commands(), ["RESUME"]);
            assert_eq!(asking.join().unwrap(), "after");
            assert_eq!(coming.join().unwrap(), "late");
        });
        client.run("COMMIT");
        // It ends with the last one on the console.
        console.run("SUSPEND");
        drop(console);
        assert_eq!(client.value("SELECT 1"), "1");
        pooler.logs("admin disappeared when suspended, doing RESUME");
    }
}

#[test]
fn a_client_that_takes_nothing_is_closed_by_suspend() {
    let server = server(15);
    let pooler = Ini::new(server).set("worker_threads", 2).set("suspend_timeout", 1).start();
    let (mut console, mut client) = (pooler.console(), pooler.client());
    // More than all buffers on the way hold.
    client.send(|out| {
        write::query(out, b"SELECT repeat('x', 1000000) FROM generate_series(1, 100)");
    });
    thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    assert_eq!(console.run("SUSPEND").commands(), ["SUSPEND"]);
    let time = start.elapsed();
    assert!((Duration::from_millis(900)..Duration::from_secs(5)).contains(&time), "{time:?}");
    pooler.logs("closing because: suspend_timeout");
    console.run("RESUME");
    drop(client);
    assert_eq!(pooler.client().value("SELECT 1"), "1");
}

#[test]
fn a_signal_during_suspend_ends_at_once() {
    for signal in [Signal::TERM, Signal::INT] {
        let pooler = Ini::new(server(15)).start();
        let (mut console, _client) = (pooler.console(), pooler.client());
        console.run("SUSPEND");
        pooler.signal(signal);
        let (status, log) = pooler.end();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("suspend was in progress, going down immediately"), "{log}");
    }
}

#[test]
fn a_setting_is_set_until_the_next_reload() {
    let server = server(15);
    let pooler = Ini::new(server).set("worker_threads", 4).set("default_pool_size", 1).start();
    let mut console = pooler.console();
    let shown = |console: &mut Client, key: &str| {
        let config = table(console, "SHOW CONFIG");
        config.into_iter().find(|row| row["key"] == key).unwrap()["value"].clone()
    };
    let reply = console.run("SET query_wait_timeout = 1");
    assert_eq!(reply.commands(), ["SET query_wait_timeout=1"]);
    assert_eq!(shown(&mut console, "query_wait_timeout"), "1");
    let (mut holder, mut waiting) = (pooler.client(), pooler.client());
    holder.run("BEGIN");
    waiting.send(|out| write::query(out, b"SELECT 1"));
    assert_eq!(waiting.fatal().message, "query_wait_timeout");
    holder.run("COMMIT");

    for (sql, why) in [
        ("SET nonsense = 1", "unknown parameter: pgbouncer/nonsense"),
        ("SET default_pool_size = many", ""),
        ("SET auth_file = '/nowhere/users'", "could not open auth_file /nowhere/users"),
        ("SET logfile = '/nowhere/log'", "logfile: "),
    ] {
        let reply = console.query(sql);
        assert_eq!(reply.errors()[0].message, "SET failed", "{sql}");
        let error = &reply.messages[0].body;
        let fields = wire::Fields::parse(error).unwrap();
        let detail = String::from_utf8_lossy(fields.detail().unwrap()).into_owned();
        assert!(!detail.is_empty() && detail.starts_with(why), "{sql}: {detail}");
    }
    assert_eq!(pooler.client().value("SELECT 1"), "1", "users are as they were");
    let reply = console.run("SET listen_port = 7777");
    assert_eq!(reply.tags(), "NCZ");
    assert_ne!(shown(&mut console, "listen_port"), "7777");

    console.run("SET verbose = 2");
    assert_eq!(shown(&mut console, "verbose"), "2");
    let users = pooler.folder().join("others.txt");
    std::fs::write(&users, "\"postgres\" \"\"\n\"console\" \"console\"\n\"anna\" \"\"\n").unwrap();
    let anna = || Client::login(&pooler.tcp(), &Login::new("anna", "postgres"));
    assert_eq!(anna().map(drop).unwrap_err().code, "28000");
    console.run(&format!("SET auth_file = '{}'", users.display()));
    // PostgreSQL does not know her, but the pooler does.
    assert_ne!(anna().map(drop).unwrap_err().message, "\"trust\" authentication failed");

    assert_eq!(console.run("RELOAD").commands(), ["RELOAD"]);
    assert_eq!(shown(&mut console, "query_wait_timeout"), "120");
    assert_eq!(shown(&mut console, "verbose"), "0");
    assert_eq!(anna().map(drop).unwrap_err().code, "28000");
}

#[test]
fn signals_pause_and_resume() {
    let server = server(15);
    let name = database(server, "signalled");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut console, mut client) = (pooler.console(), pooler.client_in(name));
        client.run("SELECT 1");
        pooler.signal(Signal::USR2);
        pooler.logs("got SIGUSR2, but not paused/suspended");
        pooler.signal(Signal::USR1);
        pooler.logs("got SIGUSR1, pausing all activity");
        eventually("no server is left", || servers_of(server, name) == "0");
        assert_eq!(table(&mut console, "SHOW STATE")[1]["value"], "yes");
        pooler.signal(Signal::USR1);
        pooler.logs("got SIGUSR1, but already paused/suspended");
        assert_eq!(refused(&mut console, "PAUSE"), "already suspended/paused");
        client.send(|out| write::query(out, b"SELECT 'after'"));
        pooler.signal(Signal::USR2);
        pooler.logs("got SIGUSR2, continuing from PAUSE");
        assert_eq!(client.reply().value(), "after");
        assert_eq!(refused(&mut console, "RESUME"), "pooler is not paused/suspended");
        // The console and signals speak of the same.
        console.run("SUSPEND");
        pooler.signal(Signal::USR2);
        pooler.logs("got SIGUSR2, continuing from SUSPEND");
        assert_eq!(client.value("SELECT 1"), "1");
        console.run("PAUSE");
        pooler.signal(Signal::USR2);
        eventually("it works again", || table(&mut console, "SHOW STATE")[0]["value"] == "yes");
        assert_eq!(client.value("SELECT 1"), "1");
    }
}
