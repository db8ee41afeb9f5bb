//! What an operator sees of the process: its log, as people and tools read it, and how much it
//! bears.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, eventually, must, server};

/// The lines of a log without what differs from run to run: time, process, pointers, ports.
fn plain(log: &str) -> Vec<String> {
    let line = |line: &str| {
        let (_, text) = line.split_once("] ")?;
        let mut plain = String::new();
        for word in text.split(' ') {
            let word = match word.rsplit_once(':') {
                Some((pointer, "")) if pointer[1..].starts_with("-0x") => {
                    format!("{}-0x…:", &pointer[..1])
                }
                Some((place, port)) if port.trim_end_matches(')').parse::<u16>().is_ok() => {
                    format!("{place}:…{}", &port[port.trim_end_matches(')').len()..])
                }
                _ => word.to_owned(),
            };
            plain += &word;
            plain.push(' ');
        }
        Some(plain.trim_end().to_owned())
    };
    log.lines().filter_map(line).collect()
}

/// Goal: the lines that scripts look for are PgBouncer's. Method: what PgBouncer 1.18 logs in the
/// same situations, with the endings that later versions have added.
#[test]
fn the_log_has_pgbouncers_lines() {
    let server = server(15);
    let pooler = Ini::new(server)
        .database(&format!("known = host=127.0.0.1 port={} dbname=postgres", server.port))
        .set("worker_threads", 4)
        .set("stats_period", 1)
        .set("server_idle_timeout", 1)
        .start();
    let mut one = pooler.client_in("known");
    assert_eq!(one.value("SELECT 1"), "1");
    one.hang_up();
    // Clients of several workers: the database is made once.
    let made: Vec<Client> = (0..8).map(|_| pooler.client()).collect();
    made.into_iter().for_each(Client::hang_up);
    let refused = Client::login(&pooler.tcp(), &Login::new("postgres", "nowhere"));
    assert_eq!(refused.err().unwrap().code, "3D000");
    pooler.logs("because: server idle timeout (age=");
    pooler.logs("] LOG stats: ");
    pooler.console().run("PAUSE known");
    pooler.console().run("RESUME known");
    pooler.logs("RESUME 'known' command issued");
    let log = pooler.log();
    let lines = plain(&log);
    for expected in [
        "LOG C-0x…: known/postgres@127.0.0.1:… login attempt: db=known user=postgres tls=no \
         replication=no",
        "LOG S-0x…: known/postgres@127.0.0.1:… new connection to server (from 127.0.0.1:…)",
        "LOG C-0x…: known/postgres@127.0.0.1:… closing because: client close request (age=0s)",
        "LOG registered new auto-database: db=postgres",
        "WARNING S-0x…: nowhere/postgres@127.0.0.1:… server login failed: FATAL database \
         \"nowhere\" does not exist",
        "WARNING C-0x…: nowhere/postgres@127.0.0.1:… pooler error: database \"nowhere\" does not \
         exist",
        "LOG PAUSE 'known' command issued",
        "LOG RESUME 'known' command issued",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\nis not in:\n{log}");
    }
    let count = |text: &str| log.matches(text).count();
    assert_eq!(count("registered new auto-database: db=postgres\n"), 1, "{log}");
    assert_eq!(count("registered new auto-database: db=known\n"), 0, "{log}");
    let stats = lines.iter().find(|line| line.starts_with("LOG stats: ")).unwrap();
    let words: String = stats.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    assert_eq!(
        words,
        "LOG stats:  xacts/s,  queries/s,  client parses/s,  server parses/s,  binds/s,  client \
         logins/s, in  B/s, out  B/s, xact  us, query  us, wait  us"
    );
    let limit = "LOG kernel file descriptor limit: ";
    assert!(lines.iter().any(|line| line.starts_with(limit)), "{log}");
    assert!(lines.iter().any(|line| line == "LOG listening on 127.0.0.1:…"), "{log}");
    let socket = format!("LOG listening on unix:{}/.s.PGSQL.", pooler.folder().display());
    assert!(lines.iter().any(|line| line.starts_with(&socket)), "{log}");
}

#[test]
fn pgbadger_counts_our_clients_and_errors() {
    let pooler = Ini::new(server(15)).set("auth_type", "scram-sha-256").user("ann", "x").start();
    for _ in 0..3 {
        let login = Login::new("ann", "pgbouncer").password("x");
        assert!(Client::login(&pooler.tcp(), &login).is_err(), "no admin");
    }
    for _ in 0..4 {
        pooler.console().hang_up();
    }
    eventually("all have gone", || pooler.log().matches("closing because: ").count() == 7);
    let log = pooler.folder().join("pgbouncer.log");
    fs::write(&log, pooler.log()).unwrap();
    let report = pooler.folder().join("report.json");
    // Its name for logs of PgBouncer 1.8 and later.
    let mut pgbadger = Command::new("pgbadger");
    pgbadger.args(["-q", "-j", "1", "-f", "pgbouncer3", "-x", "json", "-o"]).arg(&report).arg(&log);
    must(&mut pgbadger);
    let script = format!(
        "import json\n\
         report = json.load(open({:?}))\n\
         found = report['pgb_connection_info']\n\
         print(found['count'], found['user'].get('ann'), found['host'])\n\
         print(sorted(e for e in report['pgb_error_info'] if 'pooler error' in e))\n",
        report.display().to_string()
    );
    let said = must(Command::new("python3").args(["-c", &script]));
    let (connections, errors) = said.split_once('\n').unwrap();
    assert_eq!(connections, "7 3 {'127.0.0.1': 7}");
    assert_eq!(errors.trim(), "['WARNING:  pooler error: not allowed']");
}

#[test]
fn a_wrong_password_leaves_the_line_that_scripts_look_for() {
    for method in ["scram-sha-256", "md5", "plain"] {
        let pooler = Ini::new(server(15)).set("auth_type", method).user("ann", "right").start();
        let login = Login::new("ann", "postgres").password("wrong");
        assert_eq!(Client::login(&pooler.tcp(), &login).err().unwrap().code, "28P01");
        pooler.logs("password authentication failed\n");
    }
}

#[test]
fn a_reload_on_the_console_leaves_the_rotated_log_alone() {
    let folder = scratch::Folder::new("rotate").unwrap();
    let path = folder.path().join("pgweir.log");
    let pooler = Ini::new(server(15)).set("logfile", path.display()).start();
    let mut console = pooler.console();
    let old = path.with_extension("log.1");
    fs::rename(&path, &old).unwrap();
    console.run("RELOAD");
    assert!(path.exists(), "it is there when the command has been answered");
    eventually("the order is in the old file", || {
        fs::read_to_string(&old).unwrap().ends_with("LOG RELOAD command issued\n")
    });
    let before = fs::read(&old).unwrap();
    assert_eq!(pooler.client().value("SELECT 1"), "1");
    eventually("the login is in the new file", || {
        fs::read_to_string(&path).unwrap().contains("login attempt: db=postgres")
    });
    assert_eq!(fs::read(&old).unwrap(), before);
}

#[test]
fn a_setting_from_the_environment_is_shown_and_survives_a_reload() {
    // The test's own pooler: the environment of this process belongs to all its tests.
    let pooler = Ini::new(server(15)).environment("PGWEIR_WORKER_THREADS", "3").start();
    let workers = |console: &mut Client| {
        let rows = console.run("SHOW CONFIG").rows();
        rows.into_iter().find(|row| row[0] == "worker_threads").unwrap()[1].clone()
    };
    let mut console = pooler.console();
    assert_eq!(workers(&mut console), "3", "though the file says 2");
    console.run("RELOAD");
    assert_eq!(workers(&mut console), "3");
    assert!(!pooler.log().contains("WARNING"), "{}", pooler.log());
}

#[test]
fn ten_thousand_databases_and_users_start_in_seconds() {
    let server = server(15);
    let mut ini = Ini::new(server);
    for number in 0..10_000 {
        let port = server.port;
        ini = ini.database(&format!("db{number} = host=127.0.0.1 port={port}"));
        ini = ini.user(&format!("user{number}"), &format!("password {number}"));
    }
    let start = Instant::now();
    let pooler = ini.start();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(pooler.memory() < 200 << 20, "{} bytes", pooler.memory());
    let mut console = pooler.console();
    assert_eq!(console.run("SHOW DATABASES").rows().len(), 10_001);
    let start = Instant::now();
    console.run("RELOAD");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(pooler.client().value("SELECT 1"), "1");
}
