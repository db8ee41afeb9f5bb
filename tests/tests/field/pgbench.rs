//! pgbench: many clients at once, for long enough that something would go wrong.

use std::process::Command;

use integration::{Ini, Pooler, database, must, server};
use scratch::Postgres;

const SCALE: i64 = 2;

/// Makes a database with pgbench's tables.
fn tables<'a>(server: &Postgres, name: &'a str) -> &'a str {
    database(server, name);
    must(server.client("pgbench").args(["-i", "-q", "-s", &SCALE.to_string(), name]));
    name
}

fn pgbench(pooler: &Pooler, server: &Postgres, database: &str, options: &str) -> Command {
    let mut command = pooler.reach(server.client("pgbench"));
    command.arg("-n").args(options.split_whitespace()).arg(database);
    command
}

/// Runs pgbench; every transaction must succeed. Returns how many there were.
fn check(pooler: &Pooler, server: &Postgres, database: &str, options: &str) -> i64 {
    let report = must(&mut pgbench(pooler, server, database, options));
    let figure = |label: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(label));
        let line = line.unwrap_or_else(|| panic!("no \"{label}\" in {report}"));
        let number = line.trim().split(['/', ' ']).next();
        number.and_then(|number| number.parse::<i64>().ok()).unwrap()
    };
    // Up to version 14 a failure ends the client and is not counted.
    if report.contains("number of failed transactions:") {
        assert_eq!(figure("number of failed transactions:"), 0, "{options}: {report}");
    }
    let done = figure("number of transactions actually processed:");
    assert!(done > 0, "{options}: {report}");
    done
}

#[test]
fn selects_in_every_mode_that_the_pool_mode_allows() {
    let server = server(15);
    let database = tables(server, "bench_selects");
    for (mode, workers, protocols) in [
        ("transaction", 1, "simple extended"),
        ("transaction", 2, "simple extended"),
        ("transaction", 4, "simple extended"),
        ("session", 2, "simple extended prepared"),
        ("session", 4, "simple extended prepared"),
    ] {
        let pooler = Ini::new(server)
            .set("pool_mode", mode)
            .set("worker_threads", workers)
            .set("default_pool_size", 8)
            .start();
        for protocol in protocols.split_whitespace() {
            check(&pooler, server, database, &format!("-S -c 8 -j 2 -t 300 -M {protocol}"));
        }
    }
}

#[test]
fn more_clients_than_servers_and_every_cent_is_where_it_belongs() {
    for (major, workers) in [(14, 2), (15, 1), (15, 4), (18, 2)] {
        let server = server(major);
        let database = format!("bench_tpcb_{workers}");
        tables(server, &database);
        let ini = Ini::new(server).set("default_pool_size", 5).set("worker_threads", workers);
        let pooler = ini.start();
        let simple = check(&pooler, server, &database, "-c 32 -j 2 -t 40");
        let extended = check(&pooler, server, &database, "-c 32 -j 2 -t 40 -M extended");
        assert_eq!(simple + extended, 2 * 32 * 40);
        let sums = server.psql_in(
            &database,
            "SELECT (SELECT sum(abalance) FROM pgbench_accounts) =
                    (SELECT sum(delta) FROM pgbench_history),
                    (SELECT sum(bbalance) FROM pgbench_branches) =
                    (SELECT sum(tbalance) FROM pgbench_tellers),
                    (SELECT count(*) FROM pgbench_history)",
        );
        assert_eq!(sums.unwrap(), format!("t|t|{}", 2 * 32 * 40));
    }
}

#[test]
fn a_connection_for_each_transaction() {
    let server = server(15);
    let database = tables(server, "bench_connect");
    for workers in [1, 4] {
        let ini = Ini::new(server).set("worker_threads", workers).set("default_pool_size", 4);
        check(&ini.start(), server, database, "-S -C -c 8 -j 2 -t 40");
    }
}

#[test]
fn by_unix_sockets() {
    let server = server(15);
    let database = tables(server, "bench_unix");
    let line = format!("* = host={} port={}", server.socket_dir.display(), server.port);
    let pooler = Ini::bare().user("postgres", "").database(&line).start();
    let mut command = pooler.reach_unix(server.client("pgbench"));
    let report = must(command.args(["-n", "-S", "-c", "8", "-j", "2", "-t", "300", database]));
    assert!(report.contains("number of failed transactions: 0"), "{report}");
}
