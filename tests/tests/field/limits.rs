//! How many servers there are, and who gets them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, Place, database, eventually, server};
use wire::write;

/// Counts the servers that PostgreSQL sees in one database.
fn servers(observer: &mut Client, database: &str) -> usize {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
    observer.value(&sql).parse().unwrap()
}

fn observer(port: u16) -> Client {
    Client::login(&Place::Tcp(port), &Login::new("postgres", "postgres")).unwrap()
}

#[test]
fn a_hundred_clients_share_five_servers_fairly() {
    let server = server(15);
    for workers in [1, 2, 4] {
        let name = format!("pressed_{workers}");
        database(server, &name);
        let pooler = Ini::new(server)
            .set("worker_threads", workers)
            .set("default_pool_size", 5)
            .set("max_client_conn", 200)
            .start();
        let mut clients: Vec<Client> = (0..100).map(|_| pooler.client_in(&name)).collect();
        let is_over = AtomicBool::new(false);
        let mut observer = observer(server.port);
        let (most, waits) = thread::scope(|scope| {
            let running: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(|| {
                        let mut waits = Vec::new();
                        while !is_over.load(Relaxed) {
                            let start = Instant::now();
                            client.run("SELECT pg_sleep(0.005)");
                            waits.push(start.elapsed());
                        }
                        waits
                    })
                })
                .collect();
            let end = Instant::now() + Duration::from_secs(3);
            let mut most = 0;
            while Instant::now() < end {
                most = most.max(servers(&mut observer, &name));
            }
            is_over.store(true, Relaxed);
            let waits: Vec<_> = running.into_iter().map(|one| one.join().unwrap()).collect();
            (most, waits)
        });
        assert_eq!(most, 5, "{workers} workers");
        let counts: Vec<usize> = waits.iter().map(Vec::len).collect();
        let total: usize = counts.iter().sum();
        let (least, mean) = (counts.iter().min().unwrap(), total / counts.len());
        assert!(least * 2 >= mean, "{workers} workers: some were served {least} times, of {mean}");
        let mut waits: Vec<Duration> = waits.into_iter().flatten().collect();
        waits.sort();
        let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
        assert!(longest < median * 4, "{workers} workers: {longest:?} at most, {median:?} mostly");
    }
}

#[test]
fn clients_of_all_workers_get_the_one_server_that_is_left() {
    let server = server(15);
    let name = database(server, "lent");
    for workers in [2, 4] {
        let pooler = Ini::new(server)
            .set("worker_threads", workers)
            .set("default_pool_size", 8)
            .set("server_idle_timeout", 600)
            .start();
        let mut holders: Vec<Client> = (0..7).map(|_| pooler.client_in(name)).collect();
        for holder in &mut holders {
            holder.run("BEGIN");
        }
        let mut others: Vec<Client> = (0..16).map(|_| pooler.client_in(name)).collect();
        let start = Instant::now();
        for round in 0..5 {
            for other in &mut others {
                other.send(|out| write::query(out, format!("SELECT {round}").as_bytes()));
            }
            for other in &mut others {
                assert_eq!(other.reply().value(), round.to_string());
            }
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(servers(&mut observer(server.port), name) <= 8);
        for holder in &mut holders {
            assert_eq!(holder.run("COMMIT").status(), 'I');
        }
    }
}

#[test]
fn one_long_transaction_keeps_nobody_waiting() {
    let server = server(15);
    let name = database(server, "long_transaction");
    let pooler = Ini::new(server).set("worker_threads", 4).set("default_pool_size", 2).start();
    let mut long = pooler.client_in(name);
    long.run("BEGIN");
    let mut others: Vec<Client> = (0..12).map(|_| pooler.client_in(name)).collect();
    for other in &mut others {
        let start = Instant::now();
        assert_eq!(other.value("SELECT 1"), "1");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
    long.run("ROLLBACK");
}

#[test]
fn waiters_are_served_in_the_order_of_their_coming() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).set("default_pool_size", 1);
        let pooler = pooler.start();
        let mut holder = pooler.client();
        holder.run("DROP SEQUENCE IF EXISTS served; CREATE SEQUENCE served");
        holder.run("BEGIN");
        let mut waiters: Vec<Client> = (0..8).map(|_| pooler.client()).collect();
        for waiter in &mut waiters {
            waiter.send(|out| write::query(out, b"SELECT nextval('served')"));
            // The order is promised to within some milliseconds, of workers among each other.
            thread::sleep(Duration::from_millis(30));
        }
        holder.run("COMMIT");
        let order: Vec<String> = waiters.iter_mut().map(|waiter| waiter.reply().value()).collect();
        assert_eq!(order, ["1", "2", "3", "4", "5", "6", "7", "8"], "{workers} workers");
        holder.run("DROP SEQUENCE served");
    }
}

#[test]
fn pools_of_several_databases_and_users_have_limits_of_their_own() {
    let server = server(15);
    let (one, two) = (database(server, "own_limit_1"), database(server, "own_limit_2"));
    server.psql("CREATE ROLE own_limit LOGIN").unwrap();
    let pooler = Ini::new(server)
        .set("default_pool_size", 1)
        .database(&format!("{two} = host=127.0.0.1 port={} pool_size=3", server.port))
        .user("own_limit", "")
        .start();
    let mut clients = Vec::new();
    let mut begin = |user: &str, database: &str, expected: usize| {
        for _ in 0..expected + 2 {
            let mut client = Client::login(&pooler.tcp(), &Login::new(user, database)).unwrap();
            client.send(|out| write::query(out, b"BEGIN"));
            clients.push(client);
        }
    };
    begin("postgres", one, 1);
    begin("own_limit", one, 1);
    begin("postgres", two, 3);
    let mut observer = observer(server.port);
    let sql = "SELECT datname, usename, count(*) FROM pg_stat_activity
               WHERE datname LIKE 'own_limit_%' GROUP BY 1, 2 ORDER BY 1, 2";
    let expected = [[one, "own_limit", "1"], [one, "postgres", "1"], [two, "postgres", "3"]];
    eventually("every pool has reached its limit", || observer.query(sql).rows() == expected);
    for _ in 0..20 {
        assert_eq!(observer.query(sql).rows(), expected);
    }
}

#[test]
fn a_client_that_waits_too_long_is_told() {
    let server = server(15);
    let name = database(server, "waits");
    let line = format!("{name} = host=127.0.0.1 port={} query_wait_timeout=1", server.port);
    let pooler = Ini::new(server).set("default_pool_size", 1).database(&line).start();
    let mut holder = pooler.client_in(name);
    holder.run("BEGIN");
    let mut waiter = pooler.client_in(name);
    let start = Instant::now();
    waiter.send(|out| write::query(out, b"SELECT 1"));
    assert_eq!(waiter.fatal().message, "query_wait_timeout");
    let waited = start.elapsed();
    assert!(waited > Duration::from_millis(990) && waited < Duration::from_secs(4), "{waited:?}");
    assert_eq!(holder.run("COMMIT").status(), 'I');
}

#[test]
fn servers_are_kept_and_closed_as_the_settings_say() {
    let server = server(15);
    let name = database(server, "timed");
    let mut observer = observer(server.port);
    let pooler = Ini::new(server).set("server_idle_timeout", 1).start();
    let mut client = pooler.client_in(name);
    let first = client.value("SELECT pg_backend_pid()");
    assert_eq!(client.value("SELECT pg_backend_pid()"), first);
    eventually("an idle server is closed", || servers(&mut observer, name) == 0);
    pooler.logs("closing because: server idle timeout");
    assert_ne!(client.value("SELECT pg_backend_pid()"), first);
    drop(client);
    drop(pooler);

    let pooler = Ini::new(server).set("server_lifetime", 1).start();
    let mut client = pooler.client_in(name);
    let first = client.value("SELECT pg_backend_pid()");
    eventually("an old server is replaced", || client.value("SELECT pg_backend_pid()") != first);
    pooler.logs("closing because: server lifetime over");
}
