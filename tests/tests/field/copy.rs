//! COPY in both protocols, also where it fails half-way.

use integration::{Client, Ini, Login, Place, Reply, database, server};
use wire::write;

/// One message of a COPY, in the order in which a client sends them.
#[derive(Clone, Copy)]
enum Step {
    Query(&'static str),
    /// Parse, Bind and Execute of an unnamed statement.
    Run(&'static str),
    Sync,
    Flush,
    Data(&'static str),
    Done,
    Fail,
    /// Wait for one message, which must have this tag.
    Hear(char),
}

use Step::{Data, Done, Fail, Flush, Hear, Query, Run, Sync};

fn say(client: &mut Client, step: Step) {
    client.send(|out| match step {
        Query(sql) => write::query(out, sql.as_bytes()),
        Run(sql) => {
            write::parse(out, b"", sql.as_bytes(), &[]);
            write::bind(out, b"", b"", &[], &[], &[]);
            write::execute(out, b"", 0);
        }
        Sync => write::sync(out),
        Flush => write::flush(out),
        Data(text) => write::copy_data(out, text.as_bytes()),
        Done => write::copy_done(out),
        Fail => write::copy_fail(out, "no more"),
        Hear(_) => {}
    });
}

/// Plays steps, and returns the answers and what is in the table then.
fn play(client: &mut Client, steps: &[Step], readies: usize) -> Vec<String> {
    let mut heard = Vec::new();
    for &step in steps {
        match step {
            Hear(tag) => heard.extend(client.expect(&tag.to_string())),
            step => say(client, step),
        }
    }
    let mut answers = Vec::new();
    for _ in 0..readies {
        let mut reply = client.reply();
        reply.messages.splice(0..0, heard.drain(..));
        answers.push(show(&reply));
    }
    if client.is_in_block() {
        client.run("ROLLBACK");
    }
    answers.push(show(&client.run("SELECT n FROM t ORDER BY n; TRUNCATE t")));
    answers
}

fn show(reply: &Reply) -> String {
    let (tags, rows, codes) = (reply.tags(), reply.rows().concat(), reply.codes());
    format!("{tags} {rows:?} {codes} {:?} {}", reply.commands(), reply.status())
}

/// Plays steps on PostgreSQL and through a pooler with one server that somebody else wants.
fn check(name: &str, cases: &[(&[Step], usize)]) {
    for major in [15, 18] {
        let server = server(major);
        database(server, name);
        server.psql_in(name, "CREATE TABLE t (n int PRIMARY KEY)").unwrap();
        let mut direct =
            Client::login(&Place::Tcp(server.port), &Login::new("postgres", name)).unwrap();
        let pooler = Ini::new(server).set("default_pool_size", 1).start();
        let (mut client, mut bystander) = (pooler.client_in(name), pooler.client_in(name));
        for (number, (steps, readies)) in cases.iter().enumerate() {
            let expected = play(&mut direct, steps, *readies);
            let seen = play(&mut client, steps, *readies);
            assert_eq!(seen, expected, "case {number} on PostgreSQL {major}");
            assert_eq!(bystander.value("SELECT 'served'"), "served");
        }
    }
}

const COPY: Step = Query("COPY t FROM STDIN");

#[test]
fn by_simple_query() {
    check(
        "copy_simple",
        &[
            (&[COPY, Hear('G'), Data("1\n2\n"), Data("3\n"), Done], 1),
            (&[COPY, Data("1\n"), Done], 1),
            (&[COPY, Hear('G'), Data("1\n"), Fail], 1),
            (&[COPY, Hear('G'), Done], 1),
            (&[COPY, Hear('G'), Data("1\n"), Data("2"), Data("2\n"), Done], 1),
            // Sync and Flush mean nothing in the middle of it.
            (&[COPY, Hear('G'), Sync, Data("1\n"), Flush, Sync, Data("2\n"), Done], 1),
            // Two in one Query, and one between other statements.
            (
                &[
                    Query("COPY t FROM STDIN; COPY t FROM STDIN"),
                    Data("1\n"),
                    Done,
                    Data("2\n"),
                    Done,
                ],
                1,
            ),
            (&[Query("SELECT 1; COPY t FROM STDIN; SELECT 2"), Data("1\n"), Done], 1),
            (&[Query("COPY (VALUES (1), (2)) TO STDOUT")], 1),
            (&[Query("COPY (SELECT 1 / 0) TO STDOUT")], 1),
            // A statement that is sent before the copy has ended.
            (&[COPY, Data("1\n"), Done, Query("SELECT 1")], 2),
        ],
    );
}

#[test]
fn that_fails_while_the_client_goes_on_sending() {
    let more = [Data("5\n"); 10];
    let bad = |start: Step, end: Step| {
        [&[start, Hear('G'), Data("bad\n"), Hear('E')], more.as_slice(), &[end]].concat()
    };
    let twice = [&[COPY, Hear('G'), Data("1\n1\n")], more.as_slice(), &[Done]].concat();
    let in_block = Query("BEGIN; COPY t FROM STDIN");
    let block = [
        &[in_block, Hear('C'), Hear('G'), Data("bad\n"), Hear('E')],
        more.as_slice(),
        &[Done, Query("SELECT 1")],
    ];
    check(
        "copy_fails",
        &[
            (&bad(COPY, Done), 1),
            (&bad(COPY, Fail), 1),
            (&twice, 1),
            (&block.concat(), 2),
            (&[COPY, Hear('G'), Data("bad\n"), Hear('E'), Hear('Z'), Done, Query("SELECT 7")], 1),
            // Not a copy at all: its messages are ignored.
            (&[Data("1\n"), Done, Query("SELECT 8")], 1),
            (&[Query("SELEC"), Data("1\n"), Done, Query("SELECT 9")], 2),
        ],
    );
}

#[test]
fn by_the_extended_protocol() {
    let run = Run("COPY t FROM STDIN");
    check(
        "copy_extended",
        &[
            (&[run, Sync, Hear('1'), Hear('2'), Hear('G'), Data("1\n"), Done, Sync], 1),
            (&[run, Flush, Hear('1'), Hear('2'), Hear('G'), Data("1\n"), Done, Sync], 1),
            (
                &[run, Sync, Hear('1'), Hear('2'), Hear('G'), Data("1\n"), Flush, Sync, Done, Sync],
                1,
            ),
            (&[run, Sync, Hear('1'), Hear('2'), Hear('G'), Fail, Sync], 1),
            (&[run, Flush, Hear('1'), Hear('2'), Hear('G'), Data("bad\n"), Done, Sync], 1),
            (
                &[
                    run,
                    Flush,
                    Hear('1'),
                    Hear('2'),
                    Hear('G'),
                    Data("bad\n"),
                    Hear('E'),
                    Done,
                    Sync,
                ],
                1,
            ),
            (&[Run("COPY (VALUES (1), (2)) TO STDOUT"), Run("SELECT 3"), Sync], 1),
            (
                &[
                    run,
                    Sync,
                    Hear('1'),
                    Hear('2'),
                    Hear('G'),
                    Data("1\n"),
                    Done,
                    Sync,
                    Run("SELECT 4"),
                    Sync,
                ],
                2,
            ),
        ],
    );
}

#[test]
fn of_many_rows_with_a_sync_in_front_again_and_again() {
    let server = server(15);
    let name = database(server, "copy_many");
    server.psql_in(name, "CREATE TABLE t (n int)").unwrap();
    let pooler = Ini::new(server).set("default_pool_size", 1).set("worker_threads", 4).start();
    let (mut client, mut bystander) = (pooler.client_in(name), pooler.client_in(name));
    let mut memory = 0;
    for round in 0..40 {
        say(&mut client, Run("COPY t FROM STDIN"));
        say(&mut client, Sync);
        client.expect("12G");
        client.send(|out| {
            for n in 0..2000 {
                write::copy_data(out, b"7\n");
                if n % 100 == 0 {
                    write::flush(out);
                }
            }
            write::copy_done(out);
            write::sync(out);
        });
        let reply = client.reply();
        assert_eq!((reply.tags().as_str(), reply.commands()), ("CZ", vec!["COPY 2000".to_owned()]));
        assert_eq!(client.value("SELECT 'mine'"), "mine");
        assert_eq!(bystander.value("SELECT 'served'"), "served");
        if round == 10 {
            memory = pooler.memory();
        }
    }
    assert_eq!(client.value("SELECT count(*) FROM t"), "80000");
    assert!(pooler.memory() < memory + 2_000_000, "{memory} became {}", pooler.memory());
}
