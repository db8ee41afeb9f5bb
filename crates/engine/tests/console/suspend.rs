//! SUSPEND: nothing is read, everything that was buffered leaves, nothing is timed.

use engine::Act;
use wire::write;

use crate::seat::{bytes, messages, query, tcp, unix};
use crate::world::{Plug, SECOND, UID, World};

const INI: &str = "[databases]\napp = host=10.0.0.2\nother = host=10.0.0.2\n[pgbouncer]\n\
    auth_type = trust\npool_mode = transaction\nquery_wait_timeout = 5\nsuspend_timeout = 3\n\
    server_idle_timeout = 4\n";
const USERS: &str = "\"carol\" \"\"\n\"dave\" \"\"\n";
const READY: &str = "ReadyForQuery";

fn world(workers: u8) -> World {
    World::new(workers, INI, USERS)
}

fn state(world: &mut World, console: Plug) -> Vec<String> {
    world.show(console, "state").column("value").into_iter().map(str::to_owned).collect()
}

#[test]
fn nothing_is_read_while_suspended() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let clients: Vec<_> = (0..4).map(|_| world.client(0, "carol", "app")).collect();
        world.ask(clients[0], "begin");
        world.ask(clients[1], "select");
        let (owner, other) = (world.owner(workers - 1), world.owner(0));
        assert_eq!(world.ask(owner, "SUSPEND"), ["SUSPEND", READY]);
        for plug in clients.iter().copied().chain(world.servers()) {
            assert!(!world.is_read(plug));
        }
        for console in [owner, other] {
            assert!(world.is_read(console));
            assert_eq!(state(&mut world, console), ["no", "no", "yes"]);
        }
        let refusal = ["ERROR 08P01 already suspended/paused", READY];
        for text in ["suspend", "pause", "pause app"] {
            assert_eq!(world.ask(other, text), refusal, "{text}");
        }
        // Servers stay where they are, and nothing takes too long.
        let servers = world.servers().len();
        world.wait(60 * SECOND);
        assert_eq!(world.servers().len(), servers);
        assert_eq!(world.ask(other, "RESUME"), ["RESUME", READY]);
        assert_eq!(state(&mut world, owner), ["yes", "no", "no"]);
        for plug in clients.iter().copied().chain(world.servers()) {
            assert!(world.is_read(plug));
        }
        assert_eq!(world.ask(clients[0], "commit"), ["DONE", READY]);
        assert_eq!(world.ask(clients[2], "select"), ["DONE", READY]);
    }
}

#[test]
fn who_comes_meanwhile_is_let_in_and_waits() {
    let mut world = world(2);
    world.client(0, "carol", "app");
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "suspend"), ["SUSPEND", READY]);
    let late = world.client(1, "carol", "app");
    world.say(late, &query("select"));
    // One of a database that nobody has logged in to yet.
    let newcomer = world.enter(0, tcp(5000), "dave", "other");
    world.wait(20 * SECOND);
    assert_eq!((world.lines(late), world.lines(newcomer)), (vec![], vec![]));
    assert_eq!(world.ask(owner, "resume"), ["RESUME", READY]);
    assert_eq!(world.lines(newcomer).last().unwrap(), READY);
    assert_eq!(world.lines(late), ["DONE", READY]);
}

#[test]
fn it_waits_for_what_is_buffered() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let carol = world.client(0, "carol", "app");
        world.block(carol, true);
        world.say(carol, &query("select"));
        let owner = world.owner(workers - 1);
        assert_eq!(world.ask(owner, "suspend"), [""; 0]);
        world.wait(SECOND);
        assert_eq!(world.lines(owner), [""; 0]);
        world.block(carol, false);
        assert_eq!(world.lines(carol), ["DONE", READY]);
        world.wait(SECOND / 50);
        assert_eq!(world.lines(owner), ["SUSPEND", READY]);
        assert_eq!(world.ask(owner, "resume"), ["RESUME", READY]);
        assert_eq!(world.ask(carol, "select"), ["DONE", READY]);
    }
}

#[test]
fn who_takes_too_long_is_closed() {
    for workers in [1, 2] {
        let mut world = world(workers);
        let (carol, dave) = (world.client(0, "carol", "app"), world.client(0, "dave", "app"));
        world.block(carol, true);
        world.say(carol, &query("select"));
        let owner = world.owner(workers - 1);
        assert_eq!(world.ask(owner, "suspend"), [""; 0]);
        world.wait(2_900_000);
        assert_eq!((world.lines(owner), world.is_open(carol)), (vec![], true));
        world.wait(200_000);
        assert_eq!(world.lines(owner), ["SUSPEND", READY]);
        assert!(!world.is_open(carol));
        assert_eq!(world.lines(carol), ["DONE", READY, "FATAL 57P01 suspend_timeout"]);
        assert!(world.is_open(dave));
    }
}

#[test]
fn a_server_that_takes_nothing_is_closed_with_its_client() {
    let mut world = world(1);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let server = world.servers()[0];
    world.block(server, true);
    world.say(carol, &query("select"));
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "suspend"), [""; 0]);
    world.wait(3_100_000);
    assert_eq!(world.lines(owner), ["SUSPEND", READY]);
    assert_eq!(world.lines(carol), ["FATAL 57P01 suspend_timeout"]);
    assert!(!world.is_open(server));
}

#[test]
fn a_set_under_way_is_finished_first() {
    let mut world = world(1);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "select");
    let other = world.accept(0, tcp(5000));
    let name: &[(&[u8], &[u8])] = &[(b"application_name", b"other")];
    world.say(other, &crate::seat::startup("carol", "app", name));
    world.lines(other);
    // The server does not even take the SET.
    let server = world.servers()[0];
    world.block(server, true);
    world.say(other, &query("select"));
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "suspend"), [""; 0]);
    world.wait(SECOND);
    assert_eq!(world.lines(owner), [""; 0]);
    world.block(server, false);
    world.wait(SECOND / 10);
    assert_eq!(world.lines(owner), ["SUSPEND", READY]);
    assert!(!world.is_read(server));
    assert_eq!(world.ask(owner, "resume"), ["RESUME", READY]);
    let last = world.lines(other);
    assert_eq!(last.last().map(String::as_str), Some(READY), "{last:?}");
}

#[test]
fn not_with_paused_databases() {
    let mut world = world(1);
    let owner = world.owner(0);
    let refusal = ["ERROR 08P01 cannot suspend with paused databases", READY];
    assert_eq!(world.ask(owner, "pause app"), ["PAUSE", READY]);
    assert_eq!(world.ask(owner, "suspend"), refusal);
    assert_eq!(world.ask(owner, "resume app"), ["RESUME", READY]);
    assert_eq!(world.ask(owner, "pause"), ["PAUSE", READY]);
    assert_eq!(world.ask(owner, "suspend"), ["ERROR 08P01 already suspended/paused", READY]);
}

#[test]
fn it_ends_with_the_last_session_of_the_console() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let carol = world.client(0, "carol", "app");
        let (one, two) = (world.owner(0), world.owner(workers - 1));
        assert_eq!(world.ask(one, "suspend"), ["SUSPEND", READY]);
        world.hang_up(one);
        assert!(!world.is_read(carol), "somebody is left");
        world.hang_up(two);
        assert!(world.is_read(carol));
        assert_eq!(world.ask(carol, "select"), ["DONE", READY]);
        // Nothing happens when nothing is suspended.
        let three = world.owner(0);
        assert_eq!(world.ask(three, "pause"), ["PAUSE", READY]);
        world.hang_up(three);
        let four = world.owner(0);
        assert_eq!(state(&mut world, four), ["no", "yes", "no"]);
    }
}

#[test]
fn one_that_waits_ends_by_resume_cancel_and_departure() {
    let mut world = world(2);
    let carol = world.client(0, "carol", "app");
    world.block(carol, true);
    world.say(carol, &query("select"));
    let two = world.owner(1);
    let revoked = ["ERROR 57014 SUSPEND was revoked by RESUME", READY];
    let one = world.enter(0, unix(UID), "pgbouncer", "pgbouncer");
    let welcome = messages(&world.hear(one));
    let (_, key) = welcome.iter().find(|(tag, _)| *tag == b'K').unwrap();
    let pid = u32::from_be_bytes(key[..4].try_into().unwrap());

    assert_eq!(world.ask(one, "suspend"), [""; 0]);
    assert_eq!(world.ask(two, "resume"), ["RESUME", READY]);
    assert_eq!(world.lines(one), revoked);

    assert_eq!(world.ask(one, "suspend"), [""; 0]);
    let requester = world.accept(1, tcp(5001));
    world.say(requester, &bytes(|out| write::cancel_request(out, pid, &key[4..])));
    assert_eq!(world.lines(one), revoked);
    assert_eq!(state(&mut world, two), ["yes", "no", "no"]);

    // Who leaves in the middle leaves it to the others, and the last one ends it.
    assert_eq!(world.ask(one, "suspend"), [""; 0]);
    world.hang_up(one);
    assert_eq!(state(&mut world, two), ["no", "no", "yes"]);
    world.wait(SECOND);
    assert_eq!(state(&mut world, two), ["no", "no", "yes"]);
    world.hang_up(two);
    world.block(carol, false);
    assert_eq!(world.lines(carol), ["DONE", READY]);
    assert_eq!(world.ask(carol, "select"), ["DONE", READY]);
}

#[test]
fn of_two_that_cross_the_later_one_changes_nothing() {
    let mut world = world(2);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let (one, two) = (world.owner(0), world.owner(1));
    world.holds_mail = true;
    world.say(one, &query("pause"));
    world.say(two, &query("suspend"));
    world.holds_mail = false;
    world.carry();
    assert_eq!(world.lines(one), [""; 0]);
    assert_eq!(world.lines(two), ["ERROR 08P01 already suspended/paused", READY]);
    assert_eq!(state(&mut world, two), ["no", "yes", "no"]);
    assert_eq!(world.ask(carol, "commit"), ["DONE", READY]);
    world.wait(SECOND / 50);
    assert_eq!(world.lines(one), ["PAUSE", READY]);
    // A signal does the same as the command.
    world.announce(&Act::Resume(None));
    world.carry();
    assert_eq!(world.ask(carol, "select"), ["DONE", READY]);
}
