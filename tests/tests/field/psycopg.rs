//! psycopg 3, the driver, as applications use it. What it does is in driver.py.

use integration::{Ini, Pooler, database, must, own, python, server};
use scratch::Options;

const NAMES: [&str; 8] = [
    "autocommit",
    "transactions",
    "pipeline",
    "server_side_cursors",
    "copy",
    "cancel",
    "many_threads",
    "large_objects",
];

fn drive(pooler: &Pooler, name: &str, more: &str) {
    let port = pooler.port;
    must(python("driver.py").arg(name).arg(format!("host=127.0.0.1 port={port} {more}")));
}

#[test]
fn in_transaction_mode() {
    for (major, workers) in [(14, 1), (15, 1), (15, 2), (18, 4)] {
        let server = server(major);
        let database = format!("driven_{workers}");
        integration::database(server, &database);
        let pooler =
            Ini::new(server).set("worker_threads", workers).set("default_pool_size", 3).start();
        for name in NAMES {
            drive(&pooler, name, &format!("user=postgres dbname={database}"));
        }
    }
}

#[test]
fn in_session_mode() {
    let server = server(15);
    let database = database(server, "driven_session");
    let pooler = Ini::new(server).set("pool_mode", "session").set("worker_threads", 4).start();
    for name in NAMES.iter().chain(&["prepared"]) {
        drive(&pooler, name, &format!("user=postgres dbname={database}"));
    }
}

#[test]
fn by_scram_on_both_sides() {
    let mut server = own(15, Options::default());
    server.psql("CREATE ROLE driver LOGIN PASSWORD 'it''s a secret' SUPERUSER").unwrap();
    server.add_hba("host all driver 127.0.0.1/32 scram-sha-256").unwrap();
    let stored = server.psql("SELECT rolpassword FROM pg_authid WHERE rolname = 'driver'");
    for secret in ["it's a secret", &stored.unwrap()] {
        let pooler = Ini::bare()
            .set("auth_type", "scram-sha-256")
            .database(&format!("* = host=127.0.0.1 port={}", server.port))
            .user("driver", secret)
            .start();
        for name in ["autocommit", "cancel", "many_threads"] {
            drive(&pooler, name, "user=driver dbname=postgres password='it\\'s a secret'");
        }
    }
}
