//! The console, as people and monitoring use it.

use std::thread;
use std::time::Duration;

use integration::{Client, Ini, Login, Pooler, ask, database, eventually, must, server};
use scratch::unprivileged;
use wire::write;

/// The rows of a table, each value by the name of its column.
fn table(console: &mut Client, sql: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let reply = console.run(sql);
    let description = &reply.messages[0].body;
    let columns = wire::backend::row_description(description).unwrap();
    let names: Vec<String> =
        columns.map(|column| String::from_utf8_lossy(column.name).into_owned()).collect();
    let row = |row: Vec<String>| names.iter().cloned().zip(row).collect();
    reply.rows().into_iter().map(row).collect()
}

fn psql(pooler: &Pooler) -> std::process::Command {
    let mut psql = pooler.reach(server(15).client("psql"));
    psql.env("PGUSER", "console").env("PGPASSWORD", "console").env("PGDATABASE", "pgbouncer");
    psql
}

#[test]
fn every_table_has_the_columns_that_monitoring_knows() {
    let pooler = Ini::new(server(15)).set("worker_threads", 4).start();
    pooler.client().run("SELECT 1");
    let connections = "type|user|database|replication|state|addr|port|local_addr|local_port|\
        connect_time|request_time|wait|wait_us|close_needed|ptr|link|remote_pid|tls|\
        application_name|prepared_statements|id";
    let figures = "server_assignment_count|xact_count|query_count|bytes_received|bytes_sent|\
        xact_time|query_time|wait_time";
    let totals = format!("database|{figures}|client_parse_count|server_parse_count|bind_count");
    let averages =
        format!("database|{figures}|avg_client_parse_count|avg_server_parse_count|avg_bind_count");
    for (name, columns) in [
        (
            "POOLS",
            "database|user|cl_active|cl_waiting|cl_active_cancel_req|cl_waiting_cancel_req|\
             sv_active|sv_active_cancel|sv_being_canceled|sv_idle|sv_used|sv_tested|sv_login|\
             maxwait|maxwait_us|pool_mode|load_balance_hosts",
        ),
        ("CLIENTS", connections),
        ("SERVERS", connections),
        (
            "DATABASES",
            "name|host|port|database|force_user|pool_size|min_pool_size|reserve_pool_size|\
             server_lifetime|pool_mode|load_balance_hosts|max_connections|current_connections|\
             max_client_connections|current_client_connections|paused|disabled",
        ),
        (
            "STATS",
            "database|total_server_assignment_count|total_xact_count|total_query_count|\
             total_received|total_sent|total_xact_time|total_query_time|total_wait_time|\
             total_client_parse_count|total_server_parse_count|total_bind_count|\
             avg_server_assignment_count|avg_xact_count|avg_query_count|avg_recv|avg_sent|\
             avg_xact_time|avg_query_time|avg_wait_time|avg_client_parse_count|\
             avg_server_parse_count|avg_bind_count",
        ),
        ("STATS_TOTALS", &totals),
        ("STATS_AVERAGES", &averages),
        ("TOTALS", "name|value"),
        ("CONFIG", "key|value|default|changeable"),
        ("LISTS", "list|items"),
        ("STATE", "key|value"),
        ("VERSION", "version"),
    ] {
        for sql in [format!("SHOW {name}"), format!("select {} ;", name.to_lowercase())] {
            let shown = must(psql(&pooler).args(["-XA", "-P", "footer=off", "-c", &sql]));
            let (header, rows) = shown.split_once('\n').unwrap();
            assert_eq!(header, columns, "{sql}");
            assert!(!rows.is_empty() || name == "SERVERS", "{sql}: no rows");
        }
    }
}

#[test]
fn figures_are_of_all_workers_together() {
    let server = server(15);
    let name = database(server, "shown");
    for workers in [1, 4] {
        let pooler =
            Ini::new(server).set("worker_threads", workers).set("default_pool_size", 2).start();
        let mut console = pooler.console();
        let mut clients: Vec<Client> = (0..6).map(|_| pooler.client_in(name)).collect();
        let pids: Vec<String> = clients[..2]
            .iter_mut()
            .map(|client| {
                client.run("BEGIN");
                client.value("SELECT pg_backend_pid()")
            })
            .collect();
        clients[2].send(|out| write::query(out, b"SELECT 1"));
        let mut pool = Vec::new();
        eventually("one waits", || {
            pool = table(&mut console, "SHOW POOLS");
            pool.retain(|row| row["database"] == name);
            pool.iter().any(|row| row["cl_waiting"] == "1")
        });
        assert_eq!(pool.len(), 1, "{pool:?}");
        for (column, value) in [
            ("user", "postgres"),
            ("cl_active", "5"),
            ("sv_active", "2"),
            ("sv_idle", "0"),
            ("sv_login", "0"),
            ("pool_mode", "transaction"),
        ] {
            assert_eq!(pool[0][column], value, "{column} of {pool:?}");
        }
        let of = |table: Vec<std::collections::BTreeMap<String, String>>| {
            table.into_iter().filter(|row| row["database"] == name).collect::<Vec<_>>()
        };
        let shown = of(table(&mut console, "SHOW CLIENTS"));
        let count = |state: &str| shown.iter().filter(|row| row["state"] == state).count();
        assert_eq!((count("active"), count("waiting"), count("idle")), (2, 1, 3), "{shown:?}");
        let servers = of(table(&mut console, "SHOW SERVERS"));
        let mut seen: Vec<&String> = servers.iter().map(|row| &row["remote_pid"]).collect();
        let mut expected: Vec<&String> = pids.iter().collect();
        seen.sort();
        expected.sort();
        assert_eq!(seen, expected);
        for client in &mut clients[..2] {
            client.run("COMMIT");
        }
        clients[2].reply();
        let stats = of(table(&mut console, "SHOW STATS"));
        assert_eq!(stats.len(), 1);
        assert_eq!(stats[0]["total_xact_count"], "3", "{stats:?}");
        assert_eq!(stats[0]["total_query_count"], "7", "{stats:?}");
        let databases = table(&mut console, "SHOW DATABASES");
        let own: Vec<_> = databases.iter().filter(|row| row["name"] == name).collect();
        assert_eq!((own.len(), &*own[0]["current_connections"]), (1, "2"), "{databases:?}");
    }
}

#[test]
fn pause_waits_and_resume_lets_go() {
    let server = server(15);
    let name = database(server, "paused");
    let other = database(server, "not_paused");
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let (mut console, mut second) = (pooler.console(), pooler.console());
        let (mut busy, mut idle) = (pooler.client_in(name), pooler.client_in(name));
        let mut elsewhere = pooler.client_in(other);
        for (what, pauses_all) in [(format!("PAUSE {name}"), false), ("PAUSE".to_owned(), true)] {
            busy.run("BEGIN");
            idle.run("SELECT 1");
            let resume = what.replace("PAUSE", "RESUME");
            thread::scope(|scope| {
                let pausing = scope.spawn(|| console.run(&what));
                thread::sleep(Duration::from_millis(200));
                assert!(!pausing.is_finished(), "{what} does not wait");
                // The transaction goes on; when it ends, all is at rest.
                assert_eq!(busy.value("SELECT 1"), "1");
                busy.run("COMMIT");
                assert_eq!(pausing.join().unwrap().commands(), ["PAUSE"]);
            });
            let open = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
            eventually("no server is left", || server.psql(&open).unwrap() == "0");
            idle.send(|out| write::query(out, b"SELECT 'after'"));
            elsewhere.send(|out| write::query(out, b"SELECT 'elsewhere'"));
            if !pauses_all {
                assert_eq!(elsewhere.reply().value(), "elsewhere");
            }
            thread::sleep(Duration::from_millis(200));
            assert_eq!(second.run(&resume).commands(), ["RESUME"]);
            assert_eq!(idle.reply().value(), "after");
            if pauses_all {
                assert_eq!(elsewhere.reply().value(), "elsewhere");
            }
            assert_eq!(second.query(&resume).errors().len(), 1, "resumed twice");
        }
    }
}

#[test]
fn a_pause_that_is_revoked_ends() {
    let server = server(15);
    let pooler = Ini::new(server).set("worker_threads", 4).start();
    let (mut console, mut second) = (pooler.console(), pooler.console());
    let mut busy = pooler.client();
    busy.run("BEGIN");
    thread::scope(|scope| {
        let pausing = scope.spawn(|| console.query("PAUSE"));
        thread::sleep(Duration::from_millis(200));
        second.run("RESUME");
        let reply = pausing.join().unwrap();
        assert_eq!(reply.errors().len(), 1, "{reply:?}");
    });
    assert_eq!(console.run("SHOW STATE").tags().matches('D').count(), 3);
    // One whose console leaves in the middle is not for ever.
    console.send(|out| write::query(out, b"PAUSE"));
    thread::sleep(Duration::from_millis(100));
    drop(console);
    busy.run("COMMIT");
    let _ = second.query("RESUME");
    assert_eq!(busy.value("SELECT 1"), "1");
}

#[test]
fn reload_and_shutdown() {
    let server = server(15);
    let ini = Ini::new(server).set("worker_threads", 4);
    let pooler = ini.start();
    let mut console = pooler.console();
    let size = |console: &mut Client| {
        let config = table(console, "SHOW CONFIG");
        let row = config.into_iter().find(|row| row["key"] == "default_pool_size");
        row.unwrap()["value"].clone()
    };
    assert_eq!(size(&mut console), "20");
    pooler.configure(&ini.clone().set("default_pool_size", 7));
    assert_eq!(console.run("RELOAD").commands(), ["RELOAD"]);
    assert_eq!(size(&mut console), "7");
    pooler.configure(&ini.clone().set("default_pool_size", 9).set("nonsense", 1));
    let reply = console.query("RELOAD");
    let error = &reply.errors()[0];
    assert_eq!((&*error.severity, &*error.code), ("ERROR", "F0000"), "{reply:?}");
    assert_eq!(size(&mut console), "7");

    let client = pooler.client();
    assert_eq!(console.run("SHUTDOWN WAIT_FOR_CLIENTS").commands(), ["SHUTDOWN"]);
    thread::sleep(Duration::from_millis(400));
    assert!(pooler.is_running());
    drop(client);
    drop(console);
    let (status, log) = pooler.end();
    assert_eq!(status.code(), Some(0), "{log}");

    let pooler = ini.start();
    let mut console = pooler.console();
    console.send(|out| write::query(out, b"SHUTDOWN"));
    console.rest();
    let (status, log) = pooler.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn who_may_enter_and_do_what() {
    let server = server(15);
    let ini = Ini::new(server).set("stats_users", "watcher").user("watcher", "w").user("anna", "a");
    let pooler = ini.set("auth_type", "scram-sha-256").set("worker_threads", 4).start();
    let enter = |user: &str, password: &str| {
        let login = Login::new(user, "pgbouncer").password(password);
        Client::login(&pooler.tcp(), &login)
    };
    for (user, password, code) in [
        ("console", "wrong", "28P01"),
        ("anna", "wrong", "28P01"),
        ("nobody", "wrong", "28P01"),
        ("pgbouncer", "", "28P01"),
        ("anna", "a", "28000"),
    ] {
        let refusal = enter(user, password).map(drop).unwrap_err();
        assert_eq!(refusal.code, code, "{user}: {refusal:?}");
    }
    let mut watcher = enter("watcher", "w").unwrap();
    watcher.run("SHOW POOLS");
    for sql in ["PAUSE", "RESUME", "RELOAD", "SHUTDOWN", "SET verbose = 1"] {
        assert_eq!(watcher.query(sql).errors().len(), 1, "{sql}");
    }
    watcher.run("SHOW STATE");
    // Who runs the process may enter by the Unix socket.
    let mut psql = pooler.reach_unix(server.client("psql"));
    psql.env("PGUSER", "pgbouncer").env("PGDATABASE", "pgbouncer").env_remove("PGPASSWORD");
    unprivileged(&mut psql);
    assert!(must(psql.args(["-XAt", "-w", "-c", "SHOW VERSION"])).starts_with("PgBouncer 1.25"));
}

#[test]
fn careless_people() {
    let pooler = Ini::new(server(15)).start();
    let mut console = pooler.console();
    let long = format!("SHOW {}", "x".repeat(1_000_000));
    for sql in [
        "SELECT 2",
        "nonsense",
        "SHOW",
        "SHOW nonsense",
        "SHOW FDS",
        "SHOW POOLS; SHOW POOLS",
        "SHOW \"POOLS",
        "DROP TABLE t",
        "SHOW POOLS extra",
        "BEGIN; SHOW POOLS",
        "/* SHOW POOLS",
        "ü",
        &long,
    ] {
        let reply = console.query(sql);
        assert!(reply.tags().starts_with('E'), "{sql:.40}: {reply:?}");
        assert_eq!(reply.status(), 'I');
        console.run("SHOW VERSION");
    }
    for sql in ["", ";", ";;;;", "-- nothing", "\u{0}"] {
        assert_eq!(console.query(sql).tags(), "IZ", "{sql}");
    }
    for sql in [
        "SHOW HELP",
        "show  Pools ;",
        "SHOW POOLS -- all of them",
        "SET client_encoding = 'UTF8'",
        "SHOW client_encoding",
        "BEGIN",
        "ROLLBACK",
        "SELECT 1",
        "DISCARD ALL",
    ] {
        console.run(sql);
    }
    let said = ask(&mut psql(&pooler), "SHOW LISTS;\n\\echo done\n");
    assert!(said.out.contains("databases|") && said.out.contains("done"), "{said}");
}
