//! The console as drivers, monitors and exporters use it. What the drivers do is in console.py,
//! Console.java and console.go.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use integration::{
    Client, Ini, Pooler, ask, database, eventually, go, java, must, python, server, until,
};
use scratch::free_port;
use wire::write;

fn drive(pooler: &Pooler, name: &str) {
    must(python("console.py").arg(name).arg(conninfo(pooler)));
}

fn conninfo(pooler: &Pooler) -> String {
    let port = pooler.port;
    format!("host=127.0.0.1 port={port} dbname=pgbouncer user=console password=console")
}

fn pooler(workers: u8) -> Pooler {
    let ini = Ini::new(server(15)).set("worker_threads", workers);
    ini.user("carol", "").raw("\n[peers]\n3 = host=10.0.0.3\n").start()
}

#[test]
fn drivers() {
    for workers in [1, 4] {
        for auth_type in ["trust", "scram-sha-256"] {
            let ini = Ini::new(server(15)).set("worker_threads", workers);
            let pooler = ini.set("auth_type", auth_type).start();
            for name in ["psycopg3", "psycopg_2", "asyncpg_"] {
                drive(&pooler, name);
            }
        }
    }
}

#[test]
fn drivers_of_java_and_go() {
    let pooler = pooler(2);
    let port = pooler.port;
    let url = format!("jdbc:postgresql://127.0.0.1:{port}/pgbouncer?user=console&password=console");
    must(java("Console.java").arg(url));
    must(go("console.go").arg(conninfo(&pooler)));
}

#[test]
fn scanners_that_read_by_position() {
    let pooler = pooler(4);
    pooler.client().run("SELECT 1");
    drive(&pooler, "scanners");
}

#[test]
fn psql_with_the_extended_protocol() {
    let pooler = pooler(2);
    let mut psql = pooler.reach(server(18).client("psql"));
    psql.env("PGUSER", "console").env("PGPASSWORD", "console").env("PGDATABASE", "pgbouncer");
    let script = "SHOW VERSION \\bind \\g\n\
        SHOW LISTS \\parse lists\n\
        \\bind_named lists \\g\n\
        \\close_prepared lists\n\
        SELECT 1;\n";
    let said = ask(&mut psql, script);
    assert!(said.status.success(), "{said}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("PgBouncer 1.25"), "{said}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("peers|1")).count(), 1, "{said}");
    assert_eq!(lines[15..], ["1"], "{said}");
}

/// PostgreSQL's answer to messages is the measure of ours, wherever it does not depend on SQL.
#[test]
fn messages_are_answered_as_postgresql_does() {
    let server = server(15);
    let pooler = pooler(2);
    let batch = |text: &'static [u8], limit: i32, times: usize| {
        move |out: &mut Vec<u8>| {
            write::parse(out, b"s", text, &[]);
            write::describe(out, b'S', b"s");
            write::bind(out, b"p", b"s", &[], &[], &[0]);
            write::describe(out, b'P', b"p");
            for _ in 0..times {
                write::execute(out, b"p", limit);
            }
            write::close(out, b'P', b"p");
            write::close(out, b'S', b"s");
            write::sync(out);
        }
    };
    type Say = Box<dyn Fn(&mut Vec<u8>)>;
    let cases: Vec<(&str, Say)> = vec![
        ("one row", Box::new(batch(b"SELECT 1", 0, 2))),
        ("one row, limited", Box::new(batch(b"SELECT 1", 1, 2))),
        ("a wide limit", Box::new(batch(b"SELECT 1", 2, 2))),
        ("nothing", Box::new(batch(b"", 0, 2))),
        ("no rows", Box::new(batch(b"RESET ALL", 0, 1))),
        ("a transaction", Box::new(batch(b"BEGIN", 0, 1))),
        ("its end", Box::new(batch(b"COMMIT", 0, 1))),
        (
            "no statement",
            Box::new(|out| {
                write::bind(out, b"", b"nowhere", &[], &[], &[]);
                write::sync(out);
            }),
        ),
        (
            "no portal",
            Box::new(|out| {
                write::execute(out, b"nowhere", 0);
                write::execute(out, b"nowhere", 0);
                write::sync(out);
            }),
        ),
        (
            "too many formats",
            Box::new(|out| {
                write::parse(out, b"", b"SELECT 1", &[]);
                write::bind(out, b"", b"", &[], &[], &[0, 0]);
                write::sync(out);
            }),
        ),
        (
            "a parameter",
            Box::new(|out| {
                write::parse(out, b"", b"SELECT 1", &[]);
                write::bind(out, b"", b"", &[], &[Some(b"1")], &[]);
                write::sync(out);
            }),
        ),
        (
            "twice",
            Box::new(|out| {
                write::parse(out, b"t", b"SELECT 1", &[]);
                write::parse(out, b"t", b"SELECT 1", &[]);
                write::sync(out);
            }),
        ),
        (
            "forgotten",
            Box::new(|out| {
                write::query(out, b"DISCARD ALL");
                write::describe(out, b'S', b"t");
                write::sync(out);
            }),
        ),
        (
            "two at once",
            Box::new(|out| {
                write::parse(out, b"", b"SELECT 1; SELECT 1", &[]);
                write::sync(out);
            }),
        ),
        (
            "malformed",
            Box::new(|out| {
                out.extend_from_slice(b"B\0\0\0\x05\0");
                write::sync(out);
            }),
        ),
        ("several", Box::new(|out| write::query(out, b"BEGIN; SELECT 1; COMMIT;"))),
    ];
    let mut console = pooler.console();
    let mut direct = direct(server.port);
    for (name, say) in cases {
        console.send(&say);
        direct.send(&say);
        let count = if name == "forgotten" { 2 } else { 1 };
        for _ in 0..count {
            let (ours, theirs) = (console.reply(), direct.reply());
            assert_eq!(ours.tags(), theirs.tags(), "{name}: {ours:?}");
            assert_eq!(ours.codes(), theirs.codes(), "{name}: {ours:?}");
            assert_eq!(ours.commands(), theirs.commands(), "{name}: {ours:?}");
            assert_eq!(ours.status(), theirs.status(), "{name}: {ours:?}");
        }
    }
}

fn direct(port: u16) -> Client {
    let place = integration::Place::Tcp(port);
    let login = integration::Login::new("postgres", "postgres");
    Client::login(&place, &login).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// An exporter for Prometheus; dropping it ends it.
struct Exporter {
    process: Child,
    port: u16,
}

impl Exporter {
    fn start(pooler: &Pooler) -> Self {
        let (port, target) = (free_port(), pooler.port);
        let config = pooler.folder().join("exporter.yml");
        let dsn = format!("postgresql://console:console@127.0.0.1:{target}/pgbouncer");
        let text =
            format!("exporter_port: {port}\npgbouncers:\n  - dsn: {dsn}\n    connect_timeout: 5\n");
        fs::write(&config, text).unwrap();
        let program = python("console.py").get_program().to_owned();
        let mut command = Command::new(program);
        command.args(["-W", "ignore", "-m", "prometheus_pgbouncer_exporter.cli", "--config"]);
        command.arg(config).arg("--log-file").arg(log(pooler)).stderr(Stdio::null());
        Self { process: command.spawn().unwrap(), port }
    }

    fn metrics(&self) -> Option<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        socket.read_to_string(&mut text).ok()?;
        Some(text)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn log(pooler: &Pooler) -> std::path::PathBuf {
    pooler.folder().join("exporter.log")
}

#[test]
fn an_exporter_for_prometheus() {
    let server = server(15);
    let name = database(server, "exported");
    let pooler = pooler(4);
    let mut clients: Vec<Client> = (0..3).map(|_| pooler.client_in(name)).collect();
    for client in &mut clients {
        client.run("BEGIN");
    }
    let exporter = Exporter::start(&pooler);
    let mut metrics = String::new();
    until("the exporter is there", std::time::Duration::from_secs(30), || {
        metrics = exporter.metrics().unwrap_or_default();
        !metrics.is_empty()
    });
    let pool = format!("{{database=\"{name}\",user=\"postgres\"}}");
    let of_database = format!("{{database=\"{name}\"}}");
    for line in [
        "pgbouncer_up 1.0".to_owned(),
        format!("pgbouncer_pools_client_active_connections{pool} 3.0"),
        format!("pgbouncer_pools_client_waiting_connections{pool} 0.0"),
        format!("pgbouncer_pools_server_active_connections{pool} 3.0"),
        format!("pgbouncer_pools_client_maxwait_seconds{pool} 0.0"),
        format!("pgbouncer_stats_transactions_total{of_database} 3.0"),
        format!("pgbouncer_stats_queries_total{of_database} 3.0"),
        "pgbouncer_config_max_client_conn 100.0".to_owned(),
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    let size = format!(
        "pgbouncer_databases_database_pool_size{{backend_database=\"{name}\",database=\"{name}\"}} 20.0"
    );
    assert!(metrics.contains(&size), "{metrics}");
    for client in &mut clients {
        client.run("COMMIT");
    }
    eventually("the figures follow", || {
        let metrics = exporter.metrics().unwrap_or_default();
        metrics.contains(&format!("pgbouncer_pools_server_active_connections{pool} 0.0"))
    });
    let log = fs::read_to_string(log(&pooler)).unwrap();
    assert!(!log.contains("ERROR") && !log.contains("Unable"), "{log}");
}
