//! Clients that vanish, at the worst moments.

use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Pooler, database, eventually, server};
use scratch::Postgres;
use wire::write;

/// The ways to go.
#[derive(Debug, Clone, Copy)]
enum Exit {
    Terminate,
    Close,
    Reset,
}

const EXITS: [Exit; 3] = [Exit::Terminate, Exit::Close, Exit::Reset];

fn leave(client: Client, exit: Exit) {
    match exit {
        Exit::Terminate => client.hang_up(),
        Exit::Close => drop(client),
        Exit::Reset => client.reset(),
    }
}

/// A pooler with one server, and a table to leave traces in.
fn one_server(server: &Postgres, name: &str, workers: u32) -> Pooler {
    database(server, name);
    server.psql_in(name, "CREATE TABLE t (n int)").unwrap();
    Ini::new(server).set("default_pool_size", 1).set("worker_threads", workers).start()
}

/// The next client is served soon, by a server that is in no transaction, and the table is empty.
fn nothing_is_left(pooler: &Pooler, name: &str, what: &str) {
    let start = Instant::now();
    let mut next = pooler.client_in(name);
    let reply = next.run("SELECT count(*) FROM t");
    assert_eq!((&*reply.value(), reply.status()), ("0", 'I'), "{what}");
    assert_eq!(next.run("BEGIN").tags(), "CZ", "{what}: there was a transaction already");
    next.run("ROLLBACK");
    assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:?}", start.elapsed());
}

#[test]
fn in_a_transaction() {
    let server = server(15);
    for workers in [1, 4] {
        let name = format!("leaving_{workers}");
        let pooler = one_server(server, &name, workers);
        for exit in EXITS {
            let mut client = pooler.client_in(&name);
            client.run("BEGIN; INSERT INTO t VALUES (1)");
            leave(client, exit);
            nothing_is_left(&pooler, &name, &format!("{exit:?} in a transaction"));

            let mut client = pooler.client_in(&name);
            client.run("BEGIN; INSERT INTO t VALUES (1)");
            assert_eq!(client.query("SELEC").status(), 'E');
            leave(client, exit);
            nothing_is_left(&pooler, &name, &format!("{exit:?} in a failed transaction"));

            let mut client = pooler.client_in(&name);
            client.send(|out| {
                write::parse(out, b"", b"INSERT INTO t VALUES (1)", &[]);
                write::bind(out, b"", b"", &[], &[], &[]);
                write::execute(out, b"", 0);
                write::flush(out);
            });
            client.expect("12C");
            leave(client, exit);
            nothing_is_left(&pooler, &name, &format!("{exit:?} in a batch without Sync"));
        }
    }
}

#[test]
fn while_its_query_runs() {
    let server = server(15);
    let name = "leaving_busy";
    let pooler = one_server(server, name, 2);
    for exit in [Exit::Close, Exit::Reset] {
        let mut client = pooler.client_in(name);
        client.run("BEGIN; INSERT INTO t VALUES (1)");
        client.send(|out| write::query(out, b"SELECT pg_sleep(30)"));
        thread::sleep(Duration::from_millis(50));
        leave(client, exit);
        nothing_is_left(&pooler, name, &format!("{exit:?} while a query runs"));
    }
    let rest = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()";
    server.psql(rest).unwrap();
}

#[test]
fn killed_psql() {
    let server = server(15);
    let name = "leaving_psql";
    let pooler = one_server(server, name, 2);
    let mut psql = pooler.reach(server.client("psql"));
    psql.args(["-Xq"]).env("PGDATABASE", name).stdin(Stdio::piped());
    let mut psql = psql.spawn().unwrap();
    let input = psql.stdin.as_mut().unwrap();
    input.write_all(b"BEGIN;\nINSERT INTO t VALUES (1);\n").unwrap();
    let open = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'
         AND state = 'idle in transaction' AND query LIKE 'INSERT%'"
    );
    eventually("psql is in a transaction", || server.psql(&open).unwrap() == "1");
    psql.kill().unwrap();
    psql.wait().unwrap();
    nothing_is_left(&pooler, name, "kill -9");
}

#[test]
fn again_and_again_while_others_work() {
    let server = server(15);
    let name = "leaving_loop";
    database(server, name);
    server.psql_in(name, "CREATE TABLE t (n int)").unwrap();
    let pooler = Ini::new(server).set("default_pool_size", 3).set("worker_threads", 4).start();
    thread::scope(|scope| {
        for worker in 0..8 {
            let pooler = &pooler;
            scope.spawn(move || {
                for round in 0..25 {
                    let mut client = pooler.client_in(name);
                    client.run("BEGIN; INSERT INTO t VALUES (1)");
                    leave(client, EXITS[(worker + round) % EXITS.len()]);
                }
            });
        }
        let mut bystander = pooler.client_in(name);
        for _ in 0..100 {
            assert_eq!(bystander.value("SELECT count(*) FROM t"), "0");
        }
    });
    nothing_is_left(&pooler, name, "after the loop");
}

/// The clients that the pooler knows, as its log tells them.
fn known_clients(pooler: &Pooler) -> usize {
    let log = pooler.log();
    let closed = |line: &&str| line.contains(" C-0x") && line.contains("closing because");
    log.matches("login attempt").count() - log.lines().filter(closed).count()
}

#[test]
fn in_the_queue() {
    let server = server(15);
    for exit in [Exit::Reset, Exit::Close] {
        let name = format!("leaving_queue_{exit:?}").to_lowercase();
        database(server, &name);
        server.psql_in(&name, "CREATE TABLE t (n int)").unwrap();
        let ini = Ini::new(server).set("default_pool_size", 1).set("max_client_conn", 50);
        let pooler = ini.set("worker_threads", 4).start();
        let mut holder = pooler.client_in(&name);
        holder.run("BEGIN");
        for round in 1..=400 {
            let mut client = pooler.client_in(&name);
            client.send(|out| write::query(out, b"INSERT INTO t VALUES (1)"));
            leave(client, exit);
            if round % 40 == 0 {
                eventually("they are known to have gone", || known_clients(&pooler) == 1);
            }
        }
        // Their statements were not run, and all their slots are back.
        holder.run("COMMIT");
        assert_eq!(holder.value("SELECT count(*) FROM t"), "0", "{exit:?}");
        let full: Vec<Client> = (0..49).map(|_| pooler.client_in(&name)).collect();
        assert_eq!(full.len(), 49);
    }
}

#[test]
fn in_a_large_result() {
    let server = server(15);
    let name = "leaving_large";
    let pooler = one_server(server, name, 2);
    let large = b"SELECT repeat('x', 1000) FROM generate_series(1, 200000)".as_slice();
    let one_row = b"SELECT repeat('x', 50000000)".as_slice();
    let copy = b"COPY (SELECT repeat('x', 1000) FROM generate_series(1, 200000)) TO STDOUT";
    for sql in [large, one_row, copy] {
        for exit in [Exit::Close, Exit::Reset] {
            let mut client = pooler.client_in(name);
            client.send(|out| write::query(out, sql));
            client.byte();
            leave(client, exit);
            nothing_is_left(&pooler, name, &format!("{exit:?} in a large result"));
        }
    }
}

#[test]
fn having_said_all_it_wanted() {
    let server = server(15);
    let pooler = Ini::new(server).start();
    // As `echo … | nc` does: the answer to what was sent before the end still comes, or nothing.
    let mut client = pooler.client();
    client.send(|out| {
        write::query(out, b"SELECT 1");
        write::terminate(out);
    });
    let (messages, lost) = client.rest();
    let tags = integration::tags(&messages);
    assert!(["TDCZ", ""].contains(&tags.as_str()), "{tags} {lost:?}");
}
