//! psql, as people use it.

use std::fs;
use std::process::Command;

use integration::{Ini, Pooler, ask, database, must, run, server};
use scratch::Postgres;

/// A psql that reaches the pooler by TCP, in one database.
fn psql(pooler: &Pooler, server: &Postgres, database: &str) -> Command {
    let mut command = pooler.reach(server.client("psql"));
    command.env("PGDATABASE", database);
    command
}

#[test]
fn everyday_work_on_every_version_and_number_of_workers() {
    for (major, workers) in [(14, 2), (15, 1), (15, 2), (15, 4), (18, 1), (18, 4)] {
        let server = server(major);
        let name = format!("everyday_{workers}");
        let database = database(server, &name);
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let check = |sql: &str, expected: &str| {
            let said = ask(&mut psql(&pooler, server, database), sql);
            let lines = said.out.strip_suffix('\n').unwrap_or_default();
            assert_eq!((lines, said.err.as_str()), (expected, ""), "{sql}: {said}");
        };
        check("SELECT 1", "1");
        check("SELECT current_setting('server_version_num')::int / 10000", &major.to_string());
        check("CREATE TABLE t (id int PRIMARY KEY, name text)", "");
        check("INSERT INTO t SELECT n, 'name ' || n FROM generate_series(1, 3) n", "");
        check("SELECT * FROM t ORDER BY id", "1|name 1\n2|name 2\n3|name 3");
        check(
            "BEGIN; DELETE FROM t; SELECT count(*) FROM t; ROLLBACK; SELECT count(*) FROM t",
            "0\n3",
        );
        check("SELECT 'a'; SELECT 'b' WHERE false; SELECT NULL; SELECT ''", "a\n\n");
        check("SELECT 'ü€🐘', E'\\\\ \\n', $$it's$$", "ü€🐘|\\ \n|it's");
        check(&format!("SELECT length('{}')", "x".repeat(100_000)), "100000");
        if major >= 16 {
            check(r"SELECT $1::int + $2::int \bind 20 22 \g", "42");
        }
    }
}

#[test]
fn slash_commands_describe_what_is_there() {
    let server = server(15);
    let database = database(server, "described");
    server.psql_in(database, "CREATE TABLE counted (n int PRIMARY KEY, t text)").unwrap();
    let pooler = Ini::new(server).start();
    let direct = must(server.client("psql").args(["-X", "-d", database, "-c", "\\d+ counted"]));
    let pooled = must(psql(&pooler, server, database).args(["-X", "-c", "\\d+ counted"]));
    assert!(direct.contains("counted_pkey"), "{direct}");
    assert_eq!(pooled, direct);
    let conninfo = must(psql(&pooler, server, database).args(["-X", "-c", "\\conninfo"]));
    assert!(conninfo.contains(&pooler.port.to_string()), "{conninfo}");
}

#[test]
fn errors_are_the_server_s_own() {
    let server = server(15);
    let pooler = Ini::new(server).start();
    let script =
        "SELECT 1;\nSELECT nothing;\nSELECT 1/0;\n\\set VERBOSITY verbose\nSELEC;\nSELECT 2;";
    let say = |mut command: Command| {
        let said = run(command.args(["-XAt", "-c", script.lines().next().unwrap_or_default()]));
        let mut lines = vec![said.out];
        for sql in script.lines().filter(|line| !line.starts_with('\\')) {
            let said = run(command.args(["-c", sql]));
            lines.push(said.out + &said.err);
        }
        lines
    };
    let direct = say(server.client("psql"));
    assert!(direct.iter().any(|line| line.contains("division by zero")), "{direct:?}");
    assert_eq!(say(pooler.reach(server.client("psql"))), direct);
}

#[test]
fn files_are_copied_in_and_out() {
    let server = server(15);
    let database = database(server, "copied");
    let pooler = Ini::new(server).start();
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("in"), folder.path().join("out"));
    let lines: String = (0..200_000).map(|n| format!("{n}\tline {n}\n")).collect();
    fs::write(&source, &lines).unwrap();
    let script = format!(
        "CREATE TABLE t (n int, l text);\n\\copy t FROM '{}'\n\\copy t TO '{}'\n\
         SELECT count(*) FROM t;",
        source.display(),
        target.display(),
    );
    let said = ask(&mut psql(&pooler, server, database), &script);
    assert_eq!((said.out.trim(), said.err.as_str()), ("200000", ""), "{said}");
    assert!(fs::read_to_string(&target).unwrap() == lines, "the copy differs");

    // A row that does not fit ends the copy with the server's error, and psql goes on.
    fs::write(&source, "1\tone\nbad\ttwo\n").unwrap();
    let script = format!("\\copy t FROM '{}'", source.display());
    let said = run(psql(&pooler, server, database).args(["-XAt", "-c", &script, "-c", "SELECT 7"]));
    assert!(said.err.contains("invalid input syntax for type integer: \"bad\""), "{said}");
    assert_eq!(said.out, "7\n", "{said}");
}

#[test]
fn unix_sockets_on_both_sides() {
    let server = server(15);
    let line = format!("* = host={} port={}", server.socket_dir.display(), server.port);
    let pooler = Ini::bare().user("postgres", "").database(&line).start();
    let peer = "SELECT inet_client_addr() IS NULL";
    let said = ask(&mut pooler.reach_unix(server.client("psql")), peer);
    assert_eq!(said.out, "t\n", "{said}");
    let said = ask(&mut pooler.reach(server.client("psql")), peer);
    assert_eq!(said.out, "t\n", "{said}");

    let pooler = Ini::new(server).start();
    let said = ask(&mut pooler.reach_unix(server.client("psql")), peer);
    assert_eq!(said.out, "f\n", "{said}");
}

#[test]
fn a_result_of_ten_megabytes_is_whole() {
    let server = server(15);
    let pooler = Ini::new(server).start();
    let sql = "SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, 10000) n";
    let direct = ask(&mut server.client("psql"), sql);
    let pooled = ask(&mut pooler.reach(server.client("psql")), sql);
    assert!(direct.out.len() > 9_000_000, "{}", direct.out.len());
    assert!(pooled.out == direct.out, "{} bytes, {}", pooled.out.len(), pooled.err);
}
