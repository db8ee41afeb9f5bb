//! What may be said on the console, and what comes of it.

use engine::{Answer, Order, Shutdown, Ticket};
use wire::write;

use crate::seat::{bytes, messages, query, tcp, unix};
use crate::world::{Plug, SECOND, UID, World};

const INI: &str = "[databases]\napp = host=10.0.0.2\nother = host=10.0.0.2\n[pgbouncer]\n\
    auth_type = trust\npool_mode = transaction\nadmin_users = alice\nstats_users = bob\n";
const USERS: &str = "\"alice\" \"\"\n\"bob\" \"\"\n\"carol\" \"\"\n\"dave\" \"\"\n";

const READY: &str = "ReadyForQuery";

fn world() -> World {
    World::new(1, INI, USERS)
}

/// Asks as the owner and expects these messages before ReadyForQuery.
fn check(text: &str, expected: &[&str]) {
    let mut world = world();
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, text), [expected, &[READY]].concat(), "{text:?}");
}

fn refused(text: &str, why: &str) {
    check(text, &[&format!("ERROR 08P01 {why}")]);
}

#[test]
fn nonsense_is_answered() {
    refused("SHOW", "invalid command 'SHOW', use SHOW HELP;");
    refused("SELECT 2", "invalid command 'SELECT 2', use SHOW HELP;");
    refused("RELOAD now", "invalid command 'RELOAD now', use SHOW HELP;");
    refused("show pools; show stats", "invalid command 'show pools; show stats', use SHOW HELP;");
    refused("an_absurdly_long_command", "bad arguments");
    refused("SHOW FDS", "SHOW FDS is not supported: it would show passwords and keys");
    refused("PAUSE nowhere", "no such database: nowhere");
    refused("PAUSE pgbouncer", "cannot pause admin db: pgbouncer");
    refused("RESUME", "pooler is not paused/suspended");
    refused("RESUME app", "database app is not paused");
    refused("RESUME nowhere", "no such database: nowhere");
}

#[test]
fn what_drivers_say_is_answered() {
    check("SET client_encoding TO 'UTF8'", &["NOTICE 00000 SET ignored", "SET"]);
    let mut world = world();
    let owner = world.owner(0);
    let shows = [
        ("client_encoding", "UTF-8"),
        ("default_transaction_isolation", "read committed"),
        ("standard_conforming_strings", "on"),
        ("datestyle", "ISO"),
        ("timezone", "GMT"),
        ("transaction_read_only", "off"),
    ];
    for (name, value) in shows {
        let table = world.show(owner, name);
        assert_eq!(table.columns, [(name.to_owned(), 25)]);
        assert_eq!(table.column(name), [value]);
    }
}

#[test]
fn help_is_a_notice() {
    let mut world = world();
    let owner = world.owner(0);
    let lines = world.ask(owner, "show help");
    assert!(lines[0].starts_with("NOTICE 00000 Console usage (\nSHOW "), "{}", lines[0]);
    assert_eq!(lines[1..], ["SHOW", READY]);
}

#[test]
fn stats_users_only_look() {
    let mut world = world();
    let bob = world.client(0, "bob", "pgbouncer");
    assert_eq!(world.show(bob, "version").column("version"), ["PgBouncer 1.25.2 (pgweir 0.0.0)"]);
    assert_eq!(world.ask(bob, "set datestyle = 'ISO'"), ["NOTICE 00000 SET ignored", "SET", READY]);
    let denied = ["ERROR 08P01 admin access needed", READY];
    let acts = ["pause", "resume", "reload", "shutdown", "set verbose = 1", "kill_client 1"];
    for act in acts.into_iter().chain(["pause app", "show fds", "suspend"]) {
        assert_eq!(world.ask(bob, act), denied, "{act}");
    }
    assert_eq!(world.orders, []);
}

#[test]
fn other_messages() {
    let mut world = world();
    let owner = world.owner(0);
    world.say(owner, &bytes(|out| write::function_call(out, 1, &[])));
    let unsupported = "ERROR 08P01 unsupported packet type for admin console: 70";
    assert_eq!(world.lines(owner), [unsupported, READY]);
    let copy = bytes(|out| {
        write::copy_data(out, &[0; 100_000]);
        write::copy_done(out);
        write::copy_fail(out, "no");
        write::query(out, b"set timezone = 'GMT'");
    });
    world.say(owner, &copy);
    assert_eq!(world.lines(owner), ["NOTICE 00000 SET ignored", "SET", READY]);
    world.say(owner, &bytes(write::terminate));
    assert_eq!((world.is_open(owner), world.lines(owner)), (false, vec![]));
    let owner = world.owner(0);
    world.say(owner, b"y\0\0\0\x04");
    assert_eq!(world.lines(owner), ["FATAL 08P01 unknown pkt"]);
    let owner = world.owner(0);
    world.say(owner, b"Q\0\0\0\x06xx");
    assert_eq!(world.lines(owner), ["FATAL 08P01 invalid message format"]);
}

#[test]
fn long_queries() {
    let mut world = world();
    let owner = world.owner(0);
    let ask = |world: &mut World, length: usize| {
        for part in query(&" ".repeat(length)).chunks(16_384) {
            world.say(owner, part);
        }
        world.lines(owner)
    };
    let longest = 1024 * 1024 - 6;
    assert_eq!(ask(&mut world, longest), ["EmptyQueryResponse", READY]);
    assert_eq!(ask(&mut world, longest + 1), ["ERROR 08P01 query is too long", READY]);
    assert_eq!(ask(&mut world, 5_000_000), ["ERROR 08P01 query is too long", READY]);
    assert_eq!(world.ask(owner, "set timezone = 'GMT'")[1], "SET");
}

#[test]
fn one_answer_at_a_time_and_no_more_is_read_than_one_query() {
    let mut world = world();
    let owner = world.owner(0);
    world.block(owner, true);
    let many = query("show config").repeat(1000);
    let mut asked = 0;
    while world.is_read(owner) {
        world.say(owner, &many);
        asked += 1000;
        assert!(many.len() * asked / 1000 < 2_000_000, "reading never stops");
    }
    world.block(owner, false);
    let heard = messages(&world.hear(owner));
    let ready = heard.iter().filter(|(tag, _)| *tag == b'Z').count();
    assert_eq!(ready, asked);
    assert!(world.is_read(owner));
}

#[test]
fn reload_asks_the_program() {
    let mut world = world();
    let owner = world.owner(0);
    let order = |world: &mut World| {
        assert_eq!(world.ask(owner, "reload"), [""; 0]);
        let (worker, ticket, order) = world.orders.pop().unwrap();
        assert_eq!((worker, order), (0, Order::Reload));
        ticket
    };
    let ticket = order(&mut world);
    // What is said meanwhile is heard when the answer is there.
    world.say(owner, &query("set timezone = 'GMT'"));
    assert_eq!(world.lines(owner), [""; 0]);
    world.answered(0, ticket, Answer::Reloaded(Ok(())));
    assert_eq!(world.lines(owner), ["RELOAD", READY, "NOTICE 00000 SET ignored", "SET", READY]);
    let ticket = order(&mut world);
    world.answered(0, ticket, Answer::Reloaded(Err("pgweir.ini:3: no".into())));
    let failed = "ERROR F0000 RELOAD failed, see logs for additional details (pgweir.ini:3: no)";
    assert_eq!(world.lines(owner), [failed, READY]);
    // Nobody is there for this answer any more.
    let ticket = order(&mut world);
    world.hang_up(owner);
    world.answered(0, ticket, Answer::Reloaded(Ok(())));
    assert!(!world.is_open(owner));
}

#[test]
fn shutdown_asks_the_program() {
    let cases = [
        ("shutdown", Shutdown::Immediate, &[][..]),
        ("shutdown wait_for_clients", Shutdown::WaitForClients, &["SHUTDOWN", READY]),
        ("shutdown wait_for_servers", Shutdown::WaitForServers, &["SHUTDOWN", READY]),
    ];
    for (text, how, answer) in cases {
        let mut world = world();
        let owner = world.owner(0);
        assert_eq!(world.ask(owner, text), answer);
        assert_eq!(world.orders, [(0, Ticket(0), Order::Shutdown(how))]);
    }
}

#[test]
fn the_console_can_be_reached_during_a_shutdown() {
    let mut world = world();
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    world.post(0, engine::Mail::Shutdown(Shutdown::WaitForServers));
    let late = world.enter(0, tcp(5000), "carol", "app");
    assert_eq!(world.lines(late), ["FATAL 57P01 pooler is shutting down"]);
    let owner = world.owner(0);
    let no = ["ERROR 08P01 pooler is shutting down", READY];
    assert_eq!(world.ask(owner, "resume"), no);
    assert_eq!(world.ask(owner, "resume app"), no);
    assert_eq!(world.ask(owner, "pause"), ["ERROR 08P01 already suspended/paused", READY]);
    assert_eq!(world.show(owner, "state").column("value"), ["no", "yes", "no"]);
}

#[test]
fn pause_waits_for_the_last_server() {
    let mut world = world();
    let (carol, dave) = (world.client(0, "carol", "app"), world.client(0, "dave", "other"));
    world.ask(carol, "begin");
    world.ask(dave, "select");
    assert_eq!(world.servers().len(), 2);
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "pause"), [""; 0]);
    assert_eq!(world.servers().len(), 1, "the idle one is closed at once");
    world.wait(10 * SECOND);
    assert_eq!(world.lines(owner), [""; 0]);
    // Others can log in and wait, and see why.
    let late = world.client(0, "dave", "other");
    assert_eq!(world.ask(late, "select"), [""; 0]);
    let other = world.owner(0);
    assert_eq!(world.show(other, "state").column("value"), ["no", "yes", "no"]);
    assert_eq!(world.ask(other, "pause"), ["ERROR 08P01 already suspended/paused", READY]);
    world.ask(carol, "commit");
    let before = world.now;
    while world.lines(owner) != ["PAUSE", READY] {
        world.wait(SECOND / 1000);
    }
    assert!(world.now.since(before) <= SECOND / 50, "it is prompt");
    assert_eq!(world.ask(carol, "select"), [""; 0], "nobody gets a server");
    assert_eq!(world.ask(other, "resume"), ["RESUME", READY]);
    assert_eq!(world.lines(carol), ["DONE", READY]);
    assert_eq!(world.lines(late), ["DONE", READY]);
    assert_eq!(world.show(other, "state").column("value"), ["yes", "no", "no"]);
}

#[test]
fn pause_of_one_database() {
    let mut world = world();
    let (carol, dave) = (world.client(0, "carol", "app"), world.client(0, "dave", "other"));
    let eve = world.client(0, "dave", "app");
    world.ask(carol, "begin");
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "pause other"), ["PAUSE", READY], "its server is idle");
    assert_eq!(world.ask(owner, "pause other"), ["PAUSE", READY], "twice is fine");
    assert_eq!(world.ask(dave, "select"), [""; 0]);
    assert_eq!(world.ask(eve, "select"), ["DONE", READY]);
    assert_eq!(world.ask(owner, "pause app"), [""; 0]);
    let other = world.owner(0);
    let databases = world.show(other, "databases");
    assert_eq!(databases.column("name"), ["app", "other", "pgbouncer"]);
    assert_eq!(databases.column("paused"), ["1", "1", "0"]);
    assert_eq!(world.show(other, "state").column("value"), ["yes", "no", "no"]);
    assert_eq!(world.ask(carol, "commit"), ["DONE", READY]);
    world.wait(SECOND / 50);
    assert_eq!(world.lines(owner), ["PAUSE", READY]);
    assert_eq!(world.ask(other, "resume other"), ["RESUME", READY]);
    assert_eq!(world.lines(dave), ["DONE", READY]);
    assert_eq!(world.ask(eve, "select"), [""; 0], "app is still paused");
    assert_eq!(world.ask(other, "resume app"), ["RESUME", READY]);
    assert_eq!(world.lines(eve), ["DONE", READY]);
}

const REVOKED: &str = "ERROR 57014 PAUSE was revoked by RESUME";

#[test]
fn resume_revokes_a_pause_that_waits() {
    for (pause, resume) in [("pause", "resume"), ("pause app", "resume app")] {
        let mut world = world();
        let carol = world.client(0, "carol", "app");
        world.ask(carol, "begin");
        let (one, two, three) = (world.owner(0), world.owner(0), world.owner(0));
        assert_eq!(world.ask(one, pause), [""; 0]);
        if pause == "pause app" {
            assert_eq!(world.ask(two, pause), [""; 0], "two may wait for the same");
        }
        assert_eq!(world.ask(three, resume), ["RESUME", READY]);
        assert_eq!(world.lines(one), [REVOKED, READY]);
        if pause == "pause app" {
            assert_eq!(world.lines(two), [REVOKED, READY]);
        }
        assert_eq!(world.ask(carol, "commit"), ["DONE", READY]);
        world.wait(SECOND);
        assert_eq!(world.servers().len(), 1, "the server is still there");
    }
}

/// The key in the welcome of a session of the owner.
fn owner_with_key(world: &mut World, worker: u8) -> (Plug, [u8; 8]) {
    let plug = world.enter(worker, unix(UID), "pgbouncer", "pgbouncer");
    let heard = messages(&world.hear(plug));
    let (_, key) = heard.iter().find(|(tag, _)| *tag == b'K').unwrap();
    (plug, key[..].try_into().unwrap())
}

fn cancel(world: &mut World, worker: u8, key: [u8; 8]) -> Plug {
    let (pid, secret) = key.split_at(4);
    let pid = u32::from_be_bytes(pid.try_into().unwrap());
    let plug = world.accept(worker, tcp(5001));
    world.say(plug, &bytes(|out| write::cancel_request(out, pid, secret)));
    plug
}

#[test]
fn a_cancel_revokes_a_pause_that_waits() {
    let mut world = World::new(2, INI, USERS);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let (owner, key) = owner_with_key(&mut world, 0);
    assert_eq!(world.ask(owner, "pause"), [""; 0]);
    let requester = cancel(&mut world, 1, key);
    assert!(!world.is_open(requester));
    assert_eq!(world.lines(owner), [REVOKED, READY]);
    assert_eq!(world.show(owner, "state").column("value"), ["yes", "no", "no"]);
    // Nothing waits now: there is nothing to cancel.
    let requester = cancel(&mut world, 0, key);
    assert!(!world.is_open(requester));
    assert_eq!(world.lines(owner), [""; 0]);
}

#[test]
fn a_pause_outlives_its_client() {
    let mut world = world();
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "pause"), [""; 0]);
    // Not even what it has said behind it hides that it has gone.
    world.say(owner, &query("show pools"));
    assert!(world.is_read(owner));
    world.hang_up(owner);
    assert!(!world.is_open(owner));
    world.ask(carol, "commit");
    world.wait(SECOND);
    assert_eq!(world.servers(), []);
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "resume"), ["RESUME", READY]);
}

#[test]
fn what_is_said_behind_a_pause_is_heard_after_it() {
    let mut world = world();
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let owner = world.owner(0);
    world.say(owner, &[query("pause"), query("resume")].concat());
    assert_eq!(world.lines(owner), [""; 0]);
    world.ask(carol, "commit");
    world.wait(SECOND / 50);
    assert_eq!(world.lines(owner), ["PAUSE", READY, "RESUME", READY]);
}

#[test]
fn pause_is_not_over_before_all_workers_have_heard_it() {
    let mut world = World::new(2, INI, USERS);
    let owner = world.owner(0);
    world.holds_mail = true;
    assert_eq!(world.ask(owner, "pause"), [""; 0]);
    world.wait(SECOND);
    assert_eq!(world.lines(owner), [""; 0]);
    world.holds_mail = false;
    world.carry();
    assert_eq!(world.lines(owner), ["PAUSE", READY]);
}

#[test]
fn pause_waits_for_servers_of_other_workers() {
    for pause in ["pause", "pause app"] {
        let mut world = World::new(2, INI, USERS);
        let clients: Vec<_> = (0..4).map(|_| world.client(0, "carol", "app")).collect();
        for client in &clients {
            world.ask(*client, "begin");
        }
        let (one, two) = (world.owner(0), world.owner(1));
        assert_eq!(world.ask(one, pause), [""; 0]);
        for client in &clients {
            world.wait(SECOND);
            assert_eq!(world.lines(one), [""; 0]);
            assert_eq!(world.ask(*client, "commit"), ["DONE", READY]);
        }
        world.wait(SECOND / 50);
        assert_eq!(world.lines(one), ["PAUSE", READY]);
        let resume = pause.replace("pause", "resume");
        assert_eq!(world.ask(two, &resume), ["RESUME", READY]);
        for client in &clients {
            assert_eq!(world.ask(*client, "select"), ["DONE", READY]);
        }
    }
}
