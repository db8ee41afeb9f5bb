//! The configuration: what is refused at the start, and what a reload does.

use std::fs;
use std::thread;
use std::time::Duration;

use integration::{Client, Ini, Login, database, eventually, server, until};
use wire::write;

/// The longest that a new size may take to be seen.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_bad_configuration_is_refused_with_file_line_and_setting() {
    let server = server(15);
    for (ini, complaints) in [
        (Ini::new(server).set("nonsense", 1), vec!["pgweir.ini:9", "nonsense"]),
        (
            Ini::new(server).set("default_pool_size", "many"),
            vec!["pgweir.ini:9", "default_pool_size", "many"],
        ),
        (
            Ini::new(server).set("pool_mode", "sometimes"),
            vec!["pgweir.ini", "pool_mode", "sometimes"],
        ),
        (Ini::new(server).set("server_lifetime", "-1"), vec!["pgweir.ini:9", "server_lifetime"]),
        (Ini::new(server).database("x = host=a port=none"), vec!["pgweir.ini", "port"]),
        (Ini::new(server).database("x = nonsense=1"), vec!["pgweir.ini", "nonsense"]),
        (Ini::new(server).database("pgbouncer = host=a"), vec!["pgweir.ini", "pgbouncer"]),
        (Ini::new(server).user_settings("x = nonsense=1"), vec!["pgweir.ini", "nonsense"]),
        (Ini::new(server).raw("[nonsense]\n"), vec!["pgweir.ini", "nonsense"]),
        (Ini::new(server).raw("%include /nowhere/at/all\n"), vec!["/nowhere/at/all"]),
        (Ini::new(server).raw("not a line\n"), vec!["pgweir.ini"]),
        // Better refused than less safe than it says.
        (
            Ini::new(server).set("client_tls_sslmode", "require"),
            vec!["pgweir.ini:9", "client_tls_sslmode", "less safe"],
        ),
        // All complaints at once.
        (
            Ini::new(server).set("first_one", 1).set("listen_backlog", "x").set("last_one", 1),
            vec![
                "pgweir.ini:9",
                "first_one",
                "pgweir.ini:10",
                "listen_backlog",
                "pgweir.ini:11",
                "last_one",
            ],
        ),
    ] {
        let refused = ini.refuse();
        assert_eq!(refused.code, Some(1), "{complaints:?}: {}", refused.log);
        for complaint in complaints {
            assert!(refused.log.contains(complaint), "no {complaint} in {}", refused.log);
        }
        assert!(refused.log.contains(" FATAL "), "{}", refused.log);
    }
}

#[test]
fn nowhere_to_listen_on_is_refused() {
    let refused = Ini::new(server(15)).set("listen_addr", "").set("unix_socket_dir", "").refuse();
    assert_eq!(refused.code, Some(1), "{}", refused.log);
    assert!(refused.log.contains("nowhere to listen on"), "{}", refused.log);
}

/// How many servers a database has when more clients than any limit want one.
///
/// A server that is too many is closed when it is idle; hence the pause.
fn pressed(clients: &mut [Client], database: &str) -> usize {
    thread::sleep(Duration::from_millis(400));
    for client in &mut *clients {
        client.send(|out| write::query(out, b"SELECT pg_sleep(0.1)"));
    }
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
    let mut most = 0;
    for client in clients {
        most = most.max(server(15).psql(&sql).unwrap().parse().unwrap());
        client.reply();
    }
    most
}

#[test]
fn a_reload_changes_the_size_of_pools_both_ways() {
    let server = server(15);
    let name = database(server, "resized");
    for workers in [1, 4] {
        let ini = Ini::new(server).set("worker_threads", workers);
        let sized = |size: usize| ini.clone().set("default_pool_size", size);
        let pooler = sized(2).start();
        let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in(name)).collect();
        assert_eq!(pressed(&mut clients, name), 2);
        for size in [6, 1, 3] {
            pooler.reconfigure(&sized(size));
            let what = format!("{workers} workers: the size {size} is in force");
            until(&what, PATIENCE, || pressed(&mut clients, name) == size);
        }
        drop(clients);
        drop(pooler);
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
        eventually("all have gone", || server.psql(&sql).unwrap() == "0");
    }
}

#[test]
fn a_bad_reload_changes_nothing() {
    let server = server(15);
    let name = database(server, "bad_reload");
    let ini = Ini::new(server).set("default_pool_size", 2).set("worker_threads", 4);
    let pooler = ini.start();
    let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in(name)).collect();
    assert_eq!(pressed(&mut clients, name), 2);
    let bad = ini.clone().set("default_pool_size", 5).user("otto", "").set("nonsense", 1);
    pooler.reconfigure(&bad);
    pooler.logs("nonsense");
    assert!(pooler.log().contains("pgweir.ini:10"), "{}", pooler.log());
    for _ in 0..3 {
        assert_eq!(pressed(&mut clients, name), 2);
    }
    // The userlist belongs to the same reload.
    let otto = Login::new("otto", "postgres");
    assert_eq!(Client::login(&pooler.tcp(), &otto).map(drop).unwrap_err().code, "28000");
    // A good one afterwards counts.
    pooler.reconfigure(&ini.set("default_pool_size", 4).user("otto", ""));
    until("the new size is in force", PATIENCE, || pressed(&mut clients, name) == 4);
}

#[test]
fn a_reload_knows_new_users_passwords_and_databases() {
    let server = server(15);
    let name = database(server, "reloaded");
    server.psql("CREATE ROLE reloaded LOGIN").unwrap();
    let line = format!("host=127.0.0.1 port={} dbname={name}", server.port);
    let ini = Ini::bare().set("auth_type", "scram-sha-256").set("worker_threads", 4);
    let ini = ini.database(&format!("old = {line}")).user("reloaded", "first");
    let pooler = ini.start();
    let login = |database: &str, password: &str| {
        let login = Login::new("reloaded", database).password(password);
        Client::login(&pooler.tcp(), &login).map_err(|refusal| refusal.code)
    };
    let mut early = login("old", "first").unwrap();
    assert_eq!(early.value("SELECT 1"), "1");
    assert_eq!(login("new", "first").map(drop), Err("3D000".to_owned()));

    let ini = ini.user("reloaded", "second").database(&format!("new = {line}"));
    pooler.reconfigure(&ini);
    eventually("the new password is in force", || login("new", "second").is_ok());
    assert_eq!(login("old", "first").map(drop), Err("28P01".to_owned()));
    // Who is in stays in.
    assert_eq!(early.value("SELECT 1"), "1");
}

#[test]
fn a_database_that_is_pointed_elsewhere_serves_from_there() {
    let server = server(15);
    let (one, two) = (database(server, "here"), database(server, "there"));
    let line =
        |database: &str| format!("moving = host=127.0.0.1 port={} dbname={database}", server.port);
    let ini = || Ini::bare().user("postgres", "").set("worker_threads", 4);
    let pooler = ini().database(&line(one)).start();
    let mut clients: Vec<Client> = (0..8).map(|_| pooler.client_in("moving")).collect();
    let mut in_block = pooler.client_in("moving");
    in_block.run("BEGIN");
    for client in &mut clients {
        assert_eq!(client.value("SELECT current_database()"), one);
    }
    pooler.reconfigure(&ini().database(&line(two)));
    // A transaction ends where it began; afterwards everybody is at the new place.
    eventually("it has moved", || clients[0].value("SELECT current_database()") == two);
    assert_eq!(in_block.value("SELECT current_database()"), one);
    in_block.run("COMMIT");
    clients.push(in_block);
    for client in &mut clients {
        eventually("it has moved", || client.value("SELECT current_database()") == two);
    }
}

#[test]
fn the_log_goes_to_a_file_and_can_be_rotated() {
    let server = server(15);
    let folder = scratch::Folder::new("log").unwrap();
    let path = folder.path().join("pgweir.log");
    let pooler = Ini::new(server).set("logfile", path.display()).start();
    assert_eq!(pooler.client().value("SELECT 1"), "1");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    eventually("the login is logged", || text().contains("login attempt: db=postgres"));
    fs::rename(&path, path.with_extension("1")).unwrap();
    pooler.reload();
    eventually("the file is opened again", || path.exists());
    assert_eq!(pooler.client().value("SELECT 1"), "1");
    eventually("the login is logged", || text().contains("login attempt: db=postgres"));
}

#[test]
fn users_have_pool_sizes_and_modes_of_their_own() {
    let server = server(15);
    let name = database(server, "user_settings");
    server.psql("CREATE ROLE sticky LOGIN").unwrap();
    let pooler = Ini::new(server)
        .set("default_pool_size", 1)
        .user("sticky", "")
        .user_settings("sticky = pool_mode=session pool_size=2")
        .start();
    let login = Login::new("sticky", name);
    let mut two: Vec<Client> =
        (0..2).map(|_| Client::login(&pooler.tcp(), &login).unwrap()).collect();
    for client in &mut two {
        client.run("CREATE TEMPORARY TABLE mine (n int)");
    }
    for client in &mut two {
        client.run("SELECT * FROM mine");
    }
    // In the pool of the others one server serves two clients.
    let (mut a, mut b) = (pooler.client_in(name), pooler.client_in(name));
    let pid = "SELECT pg_backend_pid()";
    assert_eq!(a.value(pid), b.value(pid));
}
