//! How long queries, transactions and silences may last.

use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Refusal, Reply, database, server, tags};

/// How a client is told that its time is over, and how long it took.
fn end_of(client: &mut Client) -> (Refusal, Duration) {
    let begin = Instant::now();
    let refusal = client.fatal();
    (refusal, begin.elapsed())
}

#[track_caller]
fn check(client: &mut Client, message: &str, sqlstate: &str) {
    let (refusal, after) = end_of(client);
    assert_eq!((&*refusal.message, &*refusal.code), (message, sqlstate));
    assert!((700..5_000).contains(&after.as_millis()), "{message}: {after:?}");
}

#[test]
fn each_timeout_measures_its_own_interval() {
    let server = server(15);
    let name = database(server, "timeouts");
    let start = |setting: &str| Ini::new(server).set(setting, 1).start();
    let begin = |client: &mut Client, sql: &str| {
        client.send(|out| wire::write::query(out, sql.as_bytes()));
    };

    let pooler = start("query_timeout");
    let mut client = pooler.client_in(name);
    client.run("BEGIN");
    thread::sleep(Duration::from_millis(1_500));
    begin(&mut client, "SELECT pg_sleep(10)");
    check(&mut client, "query timeout", "57014");

    let pooler = start("idle_transaction_timeout");
    let mut client = pooler.client_in(name);
    client.run("BEGIN");
    client.run("SELECT pg_sleep(1.5)");
    check(&mut client, "idle transaction timeout", "25P03");

    let pooler = start("transaction_timeout");
    let mut client = pooler.client_in(name);
    client.run("BEGIN");
    begin(&mut client, "SELECT pg_sleep(10)");
    check(&mut client, "transaction timeout", "25P04");

    let pooler = start("client_idle_timeout");
    let mut client = pooler.client_in(name);
    client.run("BEGIN");
    thread::sleep(Duration::from_millis(1_500));
    client.run("COMMIT");
    check(&mut client, "client_idle_timeout", "57P05");
}

#[test]
fn a_query_that_is_given_up_does_not_keep_its_slot() {
    let server = server(15);
    let name = database(server, "given_up");
    let pooler = Ini::new(server).set("query_timeout", 1).set("default_pool_size", 1).start();
    let (mut one, mut two) = (pooler.client_in(name), pooler.client_in(name));
    one.send(|out| wire::write::query(out, b"SELECT pg_sleep(5)"));
    assert_eq!(one.fatal().message, "query timeout");
    assert_eq!(two.value("SELECT 1"), "1");
}

#[test]
fn a_user_may_have_timeouts_of_its_own() {
    let server = server(15);
    let name = database(server, "timed_user");
    let pooler = Ini::new(server)
        .set("idle_transaction_timeout", 1)
        .user_settings("postgres = idle_transaction_timeout=0 query_timeout=1")
        .start();
    let mut client = pooler.client_in(name);
    client.run("BEGIN");
    thread::sleep(Duration::from_secs(2));
    client.run("COMMIT");
    client.send(|out| wire::write::query(out, b"SELECT pg_sleep(5)"));
    assert_eq!(client.fatal().message, "query timeout");
}

#[test]
fn who_waits_is_told_so_by_a_notice() {
    let server = server(15);
    let name = database(server, "noticed");
    let pooler = Ini::new(server).set("query_wait_notify", 1).set("default_pool_size", 1).start();
    let (mut one, mut two) = (pooler.client_in(name), pooler.client_in(name));
    one.run("BEGIN");
    two.send(|out| wire::write::query(out, b"SELECT 1"));
    two.expect("N");
    one.run("COMMIT");
    two.expect("TDCZ");
}

#[test]
fn statement_pooling_allows_no_transaction() {
    let server = server(15);
    let name = database(server, "statements");
    let pooler = Ini::new(server).set("pool_mode", "statement").set("default_pool_size", 1).start();
    let (mut one, mut two) = (pooler.client_in(name), pooler.client_in(name));
    for _ in 0..3 {
        assert_eq!(one.value("SELECT 1"), "1");
        assert_eq!(two.value("SELECT 2"), "2");
    }
    one.run("BEGIN; SELECT 1; COMMIT");
    one.send(|out| wire::write::query(out, b"BEGIN"));
    let messages = one.rest().0;
    assert_eq!(tags(&messages), "CE");
    let message = "transaction blocks not allowed in statement pooling mode";
    let errors = Reply { messages }.errors();
    assert_eq!(errors[0].message, message);
    assert_eq!(two.value("SELECT 2"), "2");
}

#[test]
fn an_exchange_without_its_end_does_not_escape() {
    let server = server(15);
    let name = database(server, "unsynced");
    for sql in ["SELECT 1", "BEGIN"] {
        let pooler = Ini::new(server)
            .set("idle_transaction_timeout", 1)
            .set("query_timeout", 5)
            .set("default_pool_size", 1)
            .start();
        let mut client = pooler.client_in(name);
        client.run(sql);
        client.send(|out| {
            wire::write::parse(out, b"", b"SELECT 1", &[]);
            wire::write::flush(out);
        });
        client.expect("1");
        check(&mut client, "idle transaction timeout", "25P03");
        assert_eq!(pooler.client_in(name).value("SELECT 1"), "1");
    }
}
