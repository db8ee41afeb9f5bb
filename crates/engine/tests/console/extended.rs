//! The extended protocol on the console, and what drivers send on their own.

use engine::Answer;
use wire::write;

use crate::seat::{bytes, messages, query, startup, tcp};
use crate::world::{Plug, SECOND, World};

const INI: &str = "[databases]\napp = host=10.0.0.2\n[pgbouncer]\n\
    auth_type = trust\npool_mode = transaction\nadmin_users = alice\nstats_users = bob\n";
const USERS: &str = "\"alice\" \"\"\n\"bob\" \"\"\n\"carol\" \"\"\n";

const READY: &str = "ReadyForQuery";
const BEGUN: &str = "ReadyForQuery in a transaction";

/// Parse, Bind, Describe and Execute of one text.
fn batch(text: &str, formats: &[i16]) -> Vec<u8> {
    bytes(|out| {
        write::parse(out, b"", text.as_bytes(), &[]);
        write::bind(out, b"", b"", &[], &[], formats);
        write::describe(out, b'P', b"");
        write::execute(out, b"", 0);
    })
}

fn sync() -> Vec<u8> {
    bytes(write::sync)
}

fn run(world: &mut World, plug: Plug, text: &str) -> Vec<String> {
    world.say(plug, &[batch(text, &[]), sync()].concat());
    world.lines(plug)
}

/// The messages of one text in both protocols; what only one of them has is left out.
fn both(text: &str) -> [Vec<(u8, Vec<u8>)>; 2] {
    let mut world = World::new(2, INI, USERS);
    let owner = world.owner(0);
    [query(text), [batch(text, &[]), sync()].concat()].map(|said| {
        world.say(owner, &said);
        let heard = messages(&world.hear(owner));
        heard.into_iter().filter(|(tag, _)| !b"12n".contains(tag)).collect()
    })
}

#[test]
fn both_protocols_say_the_same() {
    for text in [
        "SHOW CONFIG",
        "SHOW DATABASES",
        "SHOW HELP",
        "SHOW PEERS",
        "SHOW POOLS",
        "SHOW SERVERS",
        "SHOW STATE",
        "SHOW USERS",
        "SHOW VERSION",
        "SHOW timezone",
        "SELECT 1",
        "SET timezone = 'GMT'",
        "RESUME",
        "SHOW FDS",
        "nonsense",
        "",
    ] {
        let [simple, extended] = both(text);
        assert_eq!(simple, extended, "{text}");
    }
}

#[test]
fn a_batch_waits_for_the_workers() {
    let mut world = World::new(2, INI, USERS);
    let owner = world.owner(0);
    world.holds_mail = true;
    world.say(owner, &[batch("SHOW POOLS", &[]), batch("SHOW STATE", &[]), sync()].concat());
    let described = ["ParseComplete", "BindComplete", "RowDescription"];
    assert_eq!(world.lines(owner), described);
    world.holds_mail = false;
    world.carry();
    let rest = ["DataRow", "SHOW"];
    let state = ["DataRow", "DataRow", "DataRow", "SHOW", READY];
    assert_eq!(world.lines(owner), [&rest[..], &described, &state].concat());
}

#[test]
fn a_batch_waits_for_a_pause() {
    let mut world = World::new(1, INI, USERS);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let owner = world.owner(0);
    let all = [batch("PAUSE", &[]), batch("RESUME", &[]), batch("RESUME", &[]), sync()].concat();
    world.say(owner, &all);
    let described = ["ParseComplete", "BindComplete", "NoData"];
    assert_eq!(world.lines(owner), described);
    world.ask(carol, "commit");
    world.wait(SECOND / 50);
    let no = "ERROR 08P01 pooler is not paused/suspended";
    let expected = [&["PAUSE"], &described[..], &["RESUME"], &described, &[no, READY]].concat();
    assert_eq!(world.lines(owner), expected);
}

#[test]
fn a_batch_waits_for_the_program() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    let described = ["ParseComplete", "BindComplete", "NoData"];
    for (result, last) in [
        (Ok(()), "RELOAD"),
        (Err("no".into()), "ERROR F0000 RELOAD failed, see logs for additional details (no)"),
    ] {
        world.say(owner, &[batch("RELOAD", &[]), batch("SHOW HELP", &[])].concat());
        assert_eq!(world.lines(owner), described);
        let (_, ticket, _) = world.orders.pop().unwrap();
        world.answered(0, ticket, Answer::Reloaded(result));
        world.say(owner, &sync());
        let lines = world.lines(owner);
        assert_eq!(lines[0], last);
        // An error silences what is behind it.
        assert_eq!(lines.len(), if last == "RELOAD" { 7 } else { 2 }, "{lines:?}");
    }
}

#[test]
fn rights_are_the_same() {
    let mut world = World::new(1, INI, USERS);
    let bob = world.client(0, "bob", "pgbouncer");
    for act in ["PAUSE", "RELOAD", "SHUTDOWN", "KILL_CLIENT 1", "SHOW FDS"] {
        let lines = run(&mut world, bob, act);
        assert_eq!(lines[3..], ["ERROR 08P01 admin access needed", READY], "{act}");
    }
    assert_eq!(world.orders, []);
    assert_eq!(run(&mut world, bob, "SHOW VERSION").len(), 6);
}

#[test]
fn codes_are_postgresqls_unless_pgbouncers_are_wanted() {
    for (legacy, code) in [(0, "26000"), (1, "08P01")] {
        let mut world = World::new(1, &format!("{INI}legacy_sqlstate = {legacy}\n"), USERS);
        let owner = world.owner(0);
        world.say(owner, &bytes(|out| write::bind(out, b"", b"s", &[], &[], &[])));
        let text = "prepared statement \"s\" does not exist";
        assert_eq!(world.lines(owner), [format!("ERROR {code} {text}")]);
    }
}

#[test]
fn binary_results() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    world.say(owner, &[batch("SHOW LISTS", &[0, 1]), sync()].concat());
    let heard = messages(&world.hear(owner));
    let columns = wire::backend::row_description(&heard[2].1).unwrap();
    assert_eq!(columns.map(|column| column.format).collect::<Vec<_>>(), [0, 1]);
    let row: Vec<_> = wire::backend::data_row(&heard[3].1).unwrap().collect();
    assert_eq!(row, [Some(&b"databases"[..]), Some(b"\0\0\0\x02")]);
}

#[test]
fn any_cut_of_a_batch_gives_the_same_answer() {
    let all = [batch("SHOW STATE", &[]), batch("x", &[]), sync(), query("SHOW STATE")].concat();
    let mut whole = World::new(1, INI, USERS);
    let plug = whole.owner(0);
    whole.say(plug, &all);
    let expected = whole.lines(plug);
    for step in 1..all.len() {
        let mut world = World::new(1, INI, USERS);
        let plug = world.owner(0);
        for part in all.chunks(step) {
            world.say(plug, part);
        }
        assert_eq!(world.lines(plug), expected, "in pieces of {step}");
    }
}

#[test]
fn messages_that_are_too_long() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    let long = bytes(|out| write::parse(out, b"", &[b' '; 2_000_000], &[]));
    for part in [long, batch("RELOAD", &[]), sync()].concat().chunks(16_384) {
        world.say(owner, part);
    }
    assert_eq!(world.lines(owner), ["ERROR 08P01 query is too long", READY]);
    assert_eq!(world.orders, []);
    world.say(owner, &bytes(write::flush));
    assert_eq!(world.lines(owner), [""; 0]);
}

#[test]
fn transactions_are_only_remembered() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "BEGIN"), ["BEGIN", BEGUN]);
    assert_eq!(world.ask(owner, "nonsense").last().unwrap(), BEGUN);
    assert_eq!(world.ask(owner, "SHOW STATE").last().unwrap(), BEGUN, "an error ends nothing");
    assert_eq!(run(&mut world, owner, "ROLLBACK").last().unwrap(), READY);
    let all = world.ask(owner, "BEGIN; SELECT 1; COMMIT");
    assert_eq!(all, ["BEGIN", "RowDescription", "DataRow", "SELECT 1", "COMMIT", READY]);
}

#[test]
fn what_asyncpg_sends_when_a_pool_takes_a_connection_back() {
    let mut world = World::new(1, INI, USERS);
    let bob = world.client(0, "bob", "pgbouncer");
    let reset = "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;";
    let row = ["RowDescription", "DataRow", "SELECT 1"];
    let rest = ["CLOSE CURSOR ALL", "UNLISTEN", "RESET", READY];
    assert_eq!(world.ask(bob, reset), [&row[..], &rest].concat());
}

#[test]
fn pings() {
    let mut world = World::new(1, INI, USERS);
    let bob = world.client(0, "bob", "pgbouncer");
    for text in ["", ";", "-- ping"] {
        assert_eq!(world.ask(bob, text), ["EmptyQueryResponse", READY], "{text:?}");
        let lines = run(&mut world, bob, text);
        assert_eq!(lines[3..], ["EmptyQueryResponse", READY], "{text:?}");
    }
    assert_eq!(world.ask(bob, "select version()").len(), 4);
}

#[test]
fn any_startup_parameter_is_fine() {
    let mut world = World::new(1, INI, USERS);
    let more: [(&[u8], &[u8]); 3] = [
        (b"extra_float_digits", b"2"),
        (b"options", b"-c statement_timeout=1s"),
        (b"work_mem", b"1MB"),
    ];
    let plug = world.accept(0, tcp(5000));
    world.say(plug, &startup("bob", "pgbouncer", &more));
    assert_eq!(world.lines(plug).last().unwrap(), READY);
    // A pool keeps to what it can keep.
    for parameter in more {
        let plug = world.accept(0, tcp(5000));
        world.say(plug, &startup("bob", "app", &[parameter]));
        let lines = world.lines(plug);
        assert!(lines[0].starts_with("FATAL 08P01 unsupported startup parameter"), "{lines:?}");
    }
}
