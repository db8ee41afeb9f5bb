//! Cancel requests: the right query, on every worker, and nobody else's.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Pooler, database, eventually, server};
use rustix::process::{Pid, Signal, kill_process};
use scratch::Postgres;
use wire::write;

/// How many backends of a database run a query that contains a text.
fn running(server: &Postgres, database: &str, text: &str) -> usize {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND state = 'active'
         AND query LIKE '%{text}%' AND pid <> pg_backend_pid()"
    );
    server.psql(&sql).unwrap().parse().unwrap()
}

fn sleep(client: &mut Client, seconds: &str) {
    client.send(|out| write::query(out, format!("SELECT pg_sleep({seconds})").as_bytes()));
}

#[test]
fn queries_are_cancelled_on_every_worker() {
    for (major, workers) in [(15, 1), (15, 4), (18, 2)] {
        let server = server(major);
        let name = format!("cancelled_{workers}");
        database(server, &name);
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in(&name)).collect();
        for client in &mut clients {
            sleep(client, "60");
        }
        eventually("all queries run", || running(server, &name, "pg_sleep(60)") == 8);
        for (done, client) in clients.iter_mut().enumerate() {
            client.cancel();
            let reply = client.reply();
            assert_eq!((&*reply.codes(), reply.status()), ("57014", 'I'));
            assert_eq!(running(server, &name, "pg_sleep(60)"), 7 - done);
        }
        // In a transaction the transaction fails, and the next statement is not cancelled.
        let mut client = clients.swap_remove(0);
        client.run("BEGIN");
        sleep(&mut client, "60");
        eventually("it runs", || running(server, &name, "pg_sleep(60)") == 1);
        client.cancel();
        let reply = client.reply();
        assert_eq!((&*reply.codes(), reply.status()), ("57014", 'E'));
        assert_eq!(client.run("ROLLBACK").status(), 'I');
        assert_eq!(client.value("SELECT 1"), "1");
    }
}

#[test]
fn only_the_whole_key_cancels() {
    let server = server(15);
    let name = database(server, "wrong_keys");
    let pooler = Ini::new(server).set("worker_threads", 4).start();
    let mut client = pooler.client_in(name);
    sleep(&mut client, "1");
    eventually("it runs", || running(server, name, "pg_sleep(1)") == 1);
    let (pid, secret) = client.key.clone().unwrap();
    let changed: Vec<u8> = secret.iter().map(|byte| byte ^ 1).collect();
    for (pid, secret) in [
        (pid, changed.as_slice()),
        (pid ^ 1, &secret),
        (0, &[0; 4]),
        (pid, &[]),
        (pid, &secret[..3]),
        (pid, &[&*secret, &*secret].concat()),
        (pid, &[7; 256]),
        (pid, &[7; 300]),
    ] {
        let mut other = Client::open(&pooler.tcp()).unwrap();
        other.send(|out| write::cancel_request(out, pid, secret));
        assert!(other.rest().0.is_empty(), "an answer to a cancel request");
    }
    assert_eq!(client.reply().codes(), "");
    // An idle client has nothing to cancel.
    client.cancel();
    assert_eq!(client.value("SELECT 1"), "1");
}

#[test]
fn a_client_in_the_queue_is_not_harmed() {
    let server = server(15);
    let name = database(server, "queued_cancel");
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let (mut holder, mut waiter) = (pooler.client_in(name), pooler.client_in(name));
    sleep(&mut holder, "0.5");
    eventually("it runs", || running(server, name, "pg_sleep(0.5)") == 1);
    waiter.send(|out| write::query(out, b"SELECT 'mine'"));
    waiter.cancel();
    assert_eq!(holder.reply().codes(), "");
    let reply = waiter.reply();
    assert!(reply.codes() == "57014" || reply.value() == "mine", "{reply:?}");
    assert_eq!(waiter.value("SELECT 1"), "1");
}

/// One client cancels its short queries when they are about to end; the other never cancels.
#[test]
fn a_late_cancel_never_strikes_the_next_client() {
    for workers in [1, 4] {
        let server = server(15);
        let pooler = Ini::new(server).set("default_pool_size", 1).set("worker_threads", workers);
        let pooler = pooler.start();
        let (mut hasty, mut bystander) = (pooler.client(), pooler.client());
        let rounds = 150;
        let mut cancelled = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds {
                    bystander.run("SELECT pg_sleep(0.01)");
                }
            });
            for round in 0..rounds {
                sleep(&mut hasty, "0.01");
                let cancel = hasty.canceller();
                let pause = Duration::from_micros(5_000 + 200 * (round % 50));
                let cancelling = thread::spawn(move || {
                    thread::sleep(pause);
                    cancel();
                });
                let reply = hasty.reply();
                match reply.codes().as_str() {
                    "" => {}
                    "57014" => cancelled += 1,
                    _ => panic!("{reply:?}"),
                }
                if round % 3 == 0 {
                    cancelling.join().unwrap();
                }
            }
        });
        assert!(cancelled > 0, "no query was cancelled at all");
    }
}

#[test]
fn a_client_that_leaves_after_its_cancel_harms_nobody() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).set("worker_threads", 2).start();
    let mut bystander = pooler.client();
    for _ in 0..20 {
        let mut hasty = pooler.client();
        sleep(&mut hasty, "0.02");
        let cancelling = thread::spawn(hasty.canceller());
        drop(hasty);
        bystander.run("SELECT pg_sleep(0.01)");
        cancelling.join().unwrap();
    }
}

/// Starts a program, interrupts it as Ctrl-C does once its query runs, and returns what it said.
fn interrupt(mut command: Command, server: &Postgres, database: &str) -> String {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    eventually("its query runs", || running(server, database, "pg_sleep(60)") == 1);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

fn psql(pooler: &Pooler, server: &Postgres, database: &str) -> Command {
    let mut psql = pooler.reach(server.client("psql"));
    psql.args(["-X", "-c", "SELECT pg_sleep(60)"]).env("PGDATABASE", database);
    psql
}

#[test]
fn psql_cancels_by_control_c() {
    for major in [15, 18] {
        let server = server(major);
        let name = database(server, "control_c");
        let pooler = Ini::new(server).set("worker_threads", 4).start();
        for _ in 0..4 {
            let start = Instant::now();
            let said = interrupt(psql(&pooler, server, name), server, name);
            assert!(said.contains("canceling statement due to user request"), "{said}");
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        }
    }
}
