//! Messages larger than any buffer, and the memory that they may cost.

use std::thread;
use std::time::Duration;

use integration::{Client, Ini, Pooler, database, eventually, server};
use wire::write;

const MEGABYTE: u64 = 1_000_000;

/// Reads an answer of which only the size is of interest, and returns how much it was.
fn swallow(client: &mut Client, mut after_each: impl FnMut()) -> usize {
    let mut size = 0;
    loop {
        let message = client.next_message();
        size += message.body.len();
        after_each();
        match message.tag {
            b'Z' => return size,
            b'E' => panic!("{message:?}"),
            _ => {}
        }
    }
}

/// Runs something, in which the memory of the pooler may grow by less than 20 MB.
fn bounded(pooler: &Pooler, what: &str, run: impl FnOnce(&mut dyn FnMut())) {
    let before = pooler.memory();
    let mut most = before;
    run(&mut || most = most.max(pooler.memory()));
    most = most.max(pooler.memory());
    assert!(most < before + 20 * MEGABYTE, "{what}: {before} bytes became {most}");
}

#[test]
fn results_of_a_hundred_megabytes_pass_through() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut client = pooler.client();
        for (what, sql) in [
            ("100 rows", "SELECT repeat('x', 1000000) FROM generate_series(1, 100)"),
            ("100,000 rows", "SELECT repeat('x', 1000) FROM generate_series(1, 100000)"),
            ("one row", "SELECT repeat('x', 100000000)"),
            ("COPY", "COPY (SELECT repeat('x', 1000000) FROM generate_series(1, 100)) TO STDOUT"),
        ] {
            bounded(&pooler, what, |look| {
                client.send(|out| write::query(out, sql.as_bytes()));
                let mut count = 0;
                let size = swallow(&mut client, || {
                    count += 1;
                    if count % 10_000 == 0 {
                        look();
                    }
                });
                assert!(size > 100_000_000, "{what}: {size}");
            });
        }
    }
}

#[test]
fn a_slow_reader_holds_up_its_server_and_not_the_pooler() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 2).set("worker_threads", 1).start();
    let (mut slow, mut bystander) = (pooler.client(), pooler.client());
    bounded(&pooler, "a client that does not read", |look| {
        let sql = b"SELECT repeat('x', 100000) FROM generate_series(1, 1000)";
        slow.send(|out| write::query(out, sql));
        slow.byte();
        for _ in 0..100 {
            assert_eq!(bystander.value("SELECT 1"), "1");
            thread::sleep(Duration::from_millis(5));
            look();
        }
    });
    slow.reset();
    assert_eq!(bystander.value("SELECT 1"), "1");
}

#[test]
fn statements_of_sixty_megabytes_arrive() {
    let server = server(15);
    let name = database(server, "large_statements");
    server.psql_in(name, "CREATE TABLE t (s text)").unwrap();
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut client = pooler.client_in(name);
        let text = "x".repeat(60_000_000);
        bounded(&pooler, "a simple INSERT", |_| {
            assert_eq!(client.run(&format!("INSERT INTO t VALUES ('{text}')")).tags(), "CZ");
        });
        bounded(&pooler, "Parse and Bind", |_| {
            client.send(|out| {
                write::parse(
                    out,
                    b"",
                    format!("SELECT length('{text}'), length($1)").as_bytes(),
                    &[],
                );
                write::bind(out, b"", b"", &[], &[Some(text.as_bytes())], &[]);
                write::execute(out, b"", 0);
                write::sync(out);
            });
            assert_eq!(client.reply().rows(), [["60000000", "60000000"]]);
        });
        bounded(&pooler, "COPY", |_| {
            client.send(|out| write::query(out, b"COPY t FROM STDIN"));
            client.expect("G");
            client.send(|out| {
                write::copy_data(out, text.as_bytes());
                write::copy_data(out, b"\n");
                write::copy_done(out);
            });
            assert_eq!(client.reply().tags(), "CZ");
        });
        let seen = client.run("SELECT length(s) FROM t; TRUNCATE t").rows();
        assert_eq!(seen, [["60000000"], ["60000000"]]);
    }
}

#[test]
fn as_many_parameters_as_there_can_be() {
    let server = server(15);
    let pooler = Ini::new(server).start();
    let mut client = pooler.client();
    let places: Vec<String> = (1..=65_535).map(|n| format!("${n}::text")).collect();
    let sql = format!("SELECT num_nulls({}), $65535::text", places.join(","));
    let value = |n: usize| n.is_multiple_of(2).then_some(b"value".as_slice());
    let values: Vec<_> = (0..65_535).map(value).collect();
    client.send(|out| {
        write::parse(out, b"", sql.as_bytes(), &[]);
        write::bind(out, b"", b"", &[], &values, &[]);
        write::execute(out, b"", 0);
        write::sync(out);
    });
    let reply = client.reply();
    // A function takes a hundred arguments; that PostgreSQL says so shows that all have arrived.
    assert_eq!(reply.codes(), "54023", "{reply:?}");
    let sql = format!("SELECT cardinality(ARRAY[{}]), $65535::text", places.join(","));
    client.send(|out| {
        write::parse(out, b"", sql.as_bytes(), &[]);
        write::bind(out, b"", b"", &[], &values, &[]);
        write::execute(out, b"", 0);
        write::sync(out);
    });
    assert_eq!(client.reply().rows(), [["65535", "value"]]);
}

#[test]
fn memory_is_given_back() {
    let server = server(15);
    let pooler = Ini::new(server).set("max_client_conn", 300).set("worker_threads", 2).start();
    let text = "x".repeat(2_000_000);
    let mut clients: Vec<Client> = (0..100).map(|_| pooler.client()).collect();
    clients[0].run(&format!("SELECT length('{text}')"));
    let before = pooler.memory();
    for client in &mut clients {
        assert_eq!(client.value(&format!("SELECT length('{text}')")), "2000000");
        // What the server could not take at once had to wait somewhere.
        client.send(|out| write::query(out, b"SELECT repeat('y', 2000000)"));
    }
    for client in &mut clients {
        assert_eq!(client.reply().value().len(), 2_000_000);
    }
    eventually("the memory is given back", || pooler.memory() < before + 20 * MEGABYTE);
}
