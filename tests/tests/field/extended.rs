//! The extended protocol, message by message: what comes back is what PostgreSQL says.

use integration::{Client, Ini, Login, Message, Place, Reply, database, server, tags};
use wire::write;

/// Messages to send, ready as bytes.
#[derive(Default, Clone)]
struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    fn parse(mut self, name: &str, sql: &str) -> Self {
        write::parse(&mut self.bytes, name.as_bytes(), sql.as_bytes(), &[]);
        self
    }

    fn bind(mut self, portal: &str, name: &str, values: &[&str]) -> Self {
        let values: Vec<_> = values.iter().map(|value| Some(value.as_bytes())).collect();
        write::bind(&mut self.bytes, portal.as_bytes(), name.as_bytes(), &[], &values, &[]);
        self
    }

    fn describe(mut self, kind: char, name: &str) -> Self {
        write::describe(&mut self.bytes, kind as u8, name.as_bytes());
        self
    }

    fn execute(mut self, portal: &str, rows: i32) -> Self {
        write::execute(&mut self.bytes, portal.as_bytes(), rows);
        self
    }

    fn close(mut self, kind: char, name: &str) -> Self {
        write::close(&mut self.bytes, kind as u8, name.as_bytes());
        self
    }

    fn query(mut self, sql: &str) -> Self {
        write::query(&mut self.bytes, sql.as_bytes());
        self
    }

    /// An unnamed statement from Parse to Execute.
    fn run(self, sql: &str) -> Self {
        self.parse("", sql).bind("", "", &[]).describe('P', "").execute("", 0)
    }

    fn call(mut self, oid: u32, arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(|text| Some(text.as_bytes())).collect();
        write::function_call(&mut self.bytes, oid, &arguments);
        self
    }

    fn sync(mut self) -> Self {
        write::sync(&mut self.bytes);
        self
    }

    fn flush(mut self) -> Self {
        write::flush(&mut self.bytes);
        self
    }
}

fn batch() -> Batch {
    Batch::default()
}

fn send(client: &mut Client, batch: Batch) {
    client.send(|out| out.extend(batch.bytes));
}

/// Sends a batch and returns the answer up to its last ReadyForQuery.
fn play(client: &mut Client, batch: &Batch, readies: usize) -> Vec<Reply> {
    client.send_bytes(&batch.bytes).unwrap();
    (0..readies).map(|_| client.reply()).collect()
}

/// Plays batches, each with the number of answers that end in ReadyForQuery, on PostgreSQL and
/// through a pooler with one server that another client wants all the time; the answers must be
/// the same. A transaction that a batch leaves open is rolled back.
fn check(name: &str, majors: &[u32], batches: &[(Batch, usize)]) {
    for &major in majors {
        let server = server(major);
        let login = Login::new("postgres", database(server, name));
        let setup = "CREATE TABLE t (n int PRIMARY KEY, s text)";
        let play_all = |client: &mut Client, mut bystander: Option<&mut Client>| {
            client.run(setup);
            let mut answers = Vec::new();
            for (batch, readies) in batches {
                if let Some(bystander) = &mut bystander {
                    bystander.send(|out| write::query(out, b"SELECT 'bystander'"));
                }
                answers.push(show(&play(client, batch, *readies)));
                if client.is_in_block() {
                    client.run("ROLLBACK");
                }
                if let Some(bystander) = &mut bystander {
                    let reply = bystander.reply();
                    assert_eq!((reply.tags().as_str(), &*reply.value()), ("TDCZ", "bystander"));
                }
            }
            answers.push(show(&[client.run("SELECT * FROM t ORDER BY n")]));
            client.run("DROP TABLE t");
            answers
        };
        let mut direct = Client::login(&Place::Tcp(server.port), &login).unwrap();
        let expected = play_all(&mut direct, None);
        let pooler = Ini::new(server).set("default_pool_size", 1).start();
        let mut bystander = pooler.client_in(name);
        let seen = play_all(&mut pooler.client_in(name), Some(&mut bystander));
        for (seen, expected) in seen.iter().zip(&expected) {
            assert_eq!(seen, expected, "{name} on PostgreSQL {major}");
        }
    }
}

/// What is compared of an answer: tags, rows, SQLSTATEs, command tags and transaction status.
type Shown = (String, Vec<Vec<String>>, String, Vec<String>, char);

fn show(replies: &[Reply]) -> Vec<Shown> {
    let show = |reply: &Reply| {
        (reply.tags(), reply.rows(), reply.codes(), reply.commands(), reply.status())
    };
    replies.iter().map(show).collect()
}

#[test]
fn batches_are_answered_as_by_postgresql() {
    let fails = "SELECT 1 / (random() * 0)::int";
    check(
        "batches",
        &[15, 18],
        &[
            (batch().run("SELECT 1").sync(), 1),
            (batch().parse("", "SELECT $1::int").describe('S', "").bind("", "", &["5"]).sync(), 1),
            (batch().sync(), 1),
            (batch().sync().sync().sync(), 3),
            (batch().query("SELECT 1").query("SELECT 2").query("SELECT 3"), 3),
            (batch().query("SELECT 1; SELECT 2; INSERT INTO t VALUES (1)"), 1),
            (batch().query(""), 1),
            (batch().run("").sync(), 1),
            (batch().run("SELECT 1").run("SELECT 2").sync().run("SELECT 3").sync(), 2),
            // What follows an error is skipped up to Sync, and rolled back with what was before.
            (batch().run("INSERT INTO t VALUES (2)").run(fails).run("SELECT 2").sync(), 1),
            (batch().run("INSERT INTO t VALUES (3)").sync().run("SELEC").sync().sync(), 3),
            (batch().parse("", "SELEC").parse("", "SELECT 1").sync().run("SELECT 4").sync(), 2),
            (batch().bind("", "nothing", &[]).execute("", 0).sync(), 1),
            (batch().describe('S', "nothing").sync().describe('P', "nothing").sync(), 2),
            (batch().close('S', "nothing").close('P', "nothing").sync(), 1),
            // Both protocols in one segment.
            (batch().query("SELECT 5").run("SELECT 6").sync().query("SELECT 7"), 3),
            (batch().run(fails).query("SELECT 10").sync(), 1),
            // Names that live within one batch.
            (
                batch()
                    .parse("s", "SELECT 1")
                    .bind("p", "s", &[])
                    .execute("p", 0)
                    .close('S', "s")
                    .sync(),
                1,
            ),
            (batch().run("BEGIN").run("SELECT 1").sync(), 1),
            (batch().query("BEGIN; INSERT INTO t VALUES (4)").query("SELEC").query("SELECT 1"), 3),
            (
                batch()
                    .run("BEGIN")
                    .run(fails)
                    .sync()
                    .run("SELECT 1")
                    .sync()
                    .run("ROLLBACK")
                    .sync(),
                3,
            ),
            (batch().run("SELECT repeat('x', 5000000)").sync(), 1),
            (batch().run("VALUES (1), (2), (3)").sync(), 1),
        ],
    );
}

/// PostgreSQL 18 itself goes wrong here: the next statement of that session fails with XX000.
#[test]
fn a_query_that_comes_instead_of_sync_is_answered() {
    check("instead_of_sync", &[15], &[(batch().run("SELECT 8").query("SELECT 9").sync(), 2)]);
}

#[test]
fn functions_are_called() {
    const LO_CREAT: u32 = 957;
    const INT4_PLUS: u32 = 177;
    check(
        "calls",
        &[15, 18],
        &[
            (batch().call(1, &[]), 1),
            (batch().call(INT4_PLUS, &["20", "22"]), 1),
            (batch().query("BEGIN").call(INT4_PLUS, &["1", "x"]), 2),
            (batch().query("BEGIN").call(INT4_PLUS, &["1", "2"]).query("COMMIT"), 3),
            (batch().run("SELEC").call(INT4_PLUS, &["1", "2"]).sync(), 1),
            (batch().call(INT4_PLUS, &["1"]).call(INT4_PLUS, &["1", "2"]), 2),
        ],
    );
    // Its result is a new number each time.
    let pooler = Ini::new(server(15)).start();
    let replies = play(&mut pooler.client(), &batch().call(LO_CREAT, &["131072"]), 1);
    assert_eq!(replies[0].tags(), "VZ");
}

#[test]
fn a_function_call_is_the_first_message_of_a_session() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("worker_threads", workers).start();
        let mut client = pooler.client();
        assert_eq!(play(&mut client, &batch().call(999_999, &[]), 1)[0].codes(), "42883");
        assert_eq!(client.value("SELECT 1"), "1");
    }
}

#[test]
fn a_cursor_that_is_paged_with_flush_keeps_its_server() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let mut client = pooler.client();
    let series = "SELECT n, pg_backend_pid() FROM generate_series(1, 100) n";
    let open = batch().parse("", series).bind("p1", "", &[]).describe('P', "p1").flush();
    send(&mut client, open);
    client.expect("12T");

    let mut waiter = pooler.client();
    waiter.send(|out| write::query(out, b"SELECT 'after'"));
    let mut rows = Vec::new();
    for page in 1..=10 {
        send(&mut client, batch().execute("p1", 10).flush());
        let seen = client.expect("DDDDDDDDDDs");
        rows.extend(Reply { messages: seen }.rows());
        assert_eq!(rows.len(), page * 10);
    }
    send(&mut client, batch().execute("p1", 10).close('P', "p1").flush());
    client.expect("C3");
    send(&mut client, batch().sync());
    client.expect("Z");
    assert_eq!(waiter.reply().value(), "after");

    let numbers: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let expected: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    assert_eq!(numbers, expected);
    assert!(rows.iter().all(|row| row[1] == rows[0][1]), "pages came from several servers");
}

#[test]
fn an_unfinished_batch_holds_its_server_until_sync() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let (mut client, mut waiter) = (pooler.client(), pooler.client());
    send(&mut client, batch().run("SELECT 1").flush());
    client.expect("12TDC");
    waiter.send(|out| write::query(out, b"SELECT 2"));
    // The batch goes on, on the same server, although somebody waits for it.
    send(&mut client, batch().run("SELECT 3").flush());
    client.expect("12TDC");
    send(&mut client, batch().sync());
    client.expect("Z");
    assert_eq!(waiter.reply().value(), "2");
}

#[test]
fn a_batch_that_found_no_server_is_never_run() {
    let server = server(15);
    let name = database(server, "no_server");
    let pooler = Ini::new(server).set("default_pool_size", 1).set("query_wait_timeout", 1).start();
    let mut holder = pooler.client_in(name);
    holder.run("CREATE TABLE t (n int)");
    holder.run("BEGIN");
    let insert = |n: u32| batch().parse("", &format!("INSERT INTO t VALUES ({n})"));
    let insert = |n| insert(n).bind("", "", &[]).execute("", 0);

    let (mut whole, mut half) = (pooler.client_in(name), pooler.client_in(name));
    send(&mut whole, insert(1).sync());
    send(&mut half, insert(2));
    assert_eq!(whole.fatal().message, "query_wait_timeout");
    assert_eq!(half.fatal().message, "query_wait_timeout");
    let _ = half.send_bytes(&batch().sync().bytes);

    holder.run("COMMIT");
    let mut next = pooler.client_in(name);
    assert_eq!(play(&mut next, &insert(3).sync(), 1)[0].tags(), "12CZ");
    assert_eq!(next.query("SELECT n FROM t").rows(), [["3"]]);
}

#[test]
fn an_unnamed_statement_never_becomes_another_client_s() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let (mut a, mut b) = (pooler.client(), pooler.client());
    for _ in 0..100 {
        let parse = batch().parse("", "SELECT 'a' || $1").describe('S', "").sync();
        assert_eq!(play(&mut a, &parse, 1)[0].tags(), "1tTZ");
        let other = batch().parse("", "SELECT 'b' || $1").bind("", "", &["x"]).execute("", 0);
        assert_eq!(play(&mut b, &other.sync(), 1)[0].value(), "bx");
        let mine = batch().bind("", "", &["x"]).execute("", 0).sync();
        let reply = play(&mut a, &mine, 1).remove(0);
        if reply.codes().is_empty() {
            assert_eq!(reply.value(), "ax", "another client's statement was run");
        } else {
            assert_eq!(reply.codes(), "26000", "{reply:?}");
        }
    }
}

#[test]
fn prepared_statements_live_in_session_mode() {
    let server = server(15);
    let pooler = Ini::new(server).set("pool_mode", "session").set("worker_threads", 4).start();
    let mut clients: Vec<Client> = (0..8).map(|_| pooler.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let parse = batch().parse("mine", &format!("SELECT {n} + $1::int")).sync();
        assert_eq!(play(client, &parse, 1)[0].tags(), "1Z");
    }
    for round in 0..10 {
        for (n, client) in clients.iter_mut().enumerate() {
            let run = batch().bind("", "mine", &[&round.to_string()]).execute("", 0).sync();
            assert_eq!(play(client, &run, 1)[0].value(), (n + round).to_string());
        }
    }
    // The next client of a server finds nothing of the last one's.
    drop(clients);
    let mut next = pooler.client();
    let describe = batch().describe('S', "mine").sync();
    assert_eq!(play(&mut next, &describe, 1)[0].codes(), "26000");
}

#[test]
fn any_cutting_of_the_bytes_gives_the_same() {
    let server = server(15);
    let pooler = Ini::new(server).set("worker_threads", 1).start();
    let whole = batch().run("SELECT 1").sync().query("SELECT 2").run("SELEC").sync();
    let expected = show(&play(&mut pooler.client(), &whole, 3));
    let mut client = pooler.client();
    for cut in 1..whole.bytes.len() {
        for part in [&whole.bytes[..cut], &whole.bytes[cut..]] {
            client.send_bytes(part).unwrap();
        }
        let seen: Vec<Reply> = (0..3).map(|_| client.reply()).collect();
        assert_eq!(show(&seen), expected, "cut at {cut}");
    }
    for byte in &whole.bytes {
        client.send_bytes(&[*byte]).unwrap();
    }
    let seen: Vec<Reply> = (0..3).map(|_| client.reply()).collect();
    assert_eq!(show(&seen), expected, "one byte at a time");
}

#[test]
fn notices_and_parameters_come_where_they_belong() {
    let server = server(15);
    let pooler = Ini::new(server).start();
    let mut client = pooler.client();
    let seen = client.run("DO $$ BEGIN RAISE NOTICE 'one'; RAISE NOTICE 'two'; END $$");
    assert_eq!(seen.tags(), "NNCZ");
    let seen: Vec<Message> = client.run("SET application_name = 'renamed'").messages;
    assert_eq!(tags(&seen).replace('S', ""), "CZ");
    assert_eq!(client.parameters["application_name"], "renamed");
}
