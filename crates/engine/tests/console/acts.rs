//! DISABLE, KILL, KILL_CLIENT, RECONNECT, WAIT_CLOSE and SET, on one worker and on several.

use engine::{Answer, Order};
use wire::write;

use crate::seat::{bytes, query, tcp, unix};
use crate::world::{Plug, SECOND, UID, World};

const INI: &str = "[databases]\napp = host=10.0.0.2\nother = host=10.0.0.2\n\
    auto_1 = host=10.0.0.3\n[pgbouncer]\nauth_type = trust\npool_mode = transaction\n\
    stats_users = bob\n";
const USERS: &str = "\"bob\" \"\"\n\"carol\" \"\"\n\"dave\" \"\"\n";
const READY: &str = "ReadyForQuery";

fn world(workers: u8) -> World {
    World::new(workers, INI, USERS)
}

fn error(text: &str) -> [String; 2] {
    [format!("ERROR 08P01 {text}"), READY.into()]
}

/// The rows of SHOW CLIENTS or SHOW SERVERS of one database: the column `name` of each.
fn column(world: &mut World, owner: Plug, what: &str, database: &str, name: &str) -> Vec<String> {
    let table = world.show(owner, what);
    let databases = table.column("database");
    let values = table.column(name).into_iter().zip(databases);
    values.filter(|(_, of)| *of == database).map(|(value, _)| value.to_owned()).collect()
}

#[test]
fn what_is_refused_and_in_which_words() {
    let table = [
        ("DISABLE", "a database is required"),
        ("ENABLE", "a database is required"),
        ("DISABLE pgbouncer", "cannot disable admin db: pgbouncer"),
        ("ENABLE pgbouncer", "cannot disable admin db: pgbouncer"),
        ("DISABLE nowhere", "no such database: nowhere"),
        ("KILL pgbouncer", "cannot kill admin db: pgbouncer"),
        ("KILL nowhere", "no such database: nowhere"),
        ("RECONNECT pgbouncer", "cannot reconnect admin db: pgbouncer"),
        ("RECONNECT nowhere", "no such database: nowhere"),
        ("WAIT_CLOSE pgbouncer", "cannot wait in admin db: pgbouncer"),
        ("WAIT_CLOSE nowhere", "no such database: nowhere"),
        ("KILL_CLIENT", "invalid client pointer supplied"),
        ("KILL_CLIENT x", "invalid client pointer supplied"),
        ("KILL_CLIENT 99999999999999999999", "invalid client pointer supplied"),
        ("KILL_CLIENT 0", "client not found"),
        ("KILL_CLIENT 18446744073709551615", "client not found"),
        ("SUSPEND now", "invalid command 'SUSPEND now', use SHOW HELP;"),
        ("KILL_CLIENT 1 2", "invalid command 'KILL_CLIENT 1 2', use SHOW HELP;"),
    ];
    let mut world = world(2);
    let owner = world.owner(0);
    for (text, why) in table {
        assert_eq!(world.ask(owner, text), error(why), "{text}");
    }
}

#[test]
fn nobody_but_an_admin_may() {
    let mut world = world(2);
    let bob = world.client(0, "bob", "pgbouncer");
    let carol = world.client(0, "carol", "app");
    for text in [
        "disable app",
        "enable app",
        "kill",
        "kill app",
        "kill_client 1",
        "pause",
        "pause app",
        "reconnect",
        "reconnect app",
        "reload",
        "resume",
        "resume app",
        "set verbose = 1",
        "shutdown",
        "suspend",
        "wait_close",
        "wait_close app",
    ] {
        assert_eq!(world.ask(bob, text), error("admin access needed"), "{text}");
    }
    assert_eq!(world.ask(carol, "select"), ["DONE", READY]);
    assert_eq!(world.orders, []);
}

#[test]
fn a_disabled_database_lets_nobody_in() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let carol = world.client(0, "carol", "app");
        let owner = world.owner(workers - 1);
        assert_eq!(world.ask(owner, "DISABLE app"), ["DISABLE", READY]);
        for worker in 0..workers {
            let late = world.enter(worker, tcp(5000), "carol", "app");
            assert_eq!(world.lines(late), ["FATAL 57P03 database \"app\" is disabled"]);
            assert!(!world.is_open(late));
            world.client(worker, "carol", "other");
        }
        // Who does not exist is not told what there is.
        let stranger = world.enter(0, tcp(5000), "nobody", "app");
        assert_eq!(world.lines(stranger), ["FATAL 28000 \"trust\" authentication failed"]);
        assert_eq!(world.ask(carol, "select"), ["DONE", READY], "who is there stays");
        let databases = world.show(owner, "databases");
        assert_eq!(databases.column("name"), ["app", "auto_1", "other", "pgbouncer"]);
        assert_eq!(databases.column("disabled"), ["1", "0", "0", "0"]);
        assert_eq!(world.ask(owner, "disable app"), ["DISABLE", READY], "twice is fine");
        assert_eq!(world.ask(owner, "enable app"), ["ENABLE", READY]);
        assert_eq!(world.ask(owner, "enable app"), ["ENABLE", READY]);
        for worker in 0..workers {
            world.client(worker, "carol", "app");
        }
        assert_eq!(world.show(owner, "databases").column("disabled"), ["0"; 4]);
    }
}

const REMOVED: [&str; 1] = ["FATAL 57P01 database removed"];

#[test]
fn kill_sends_everybody_away_and_pauses() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let mut clients: Vec<_> = (0..6).map(|_| world.client(0, "carol", "app")).collect();
        let elsewhere = world.client(0, "dave", "other");
        for client in &clients[..3] {
            world.ask(*client, "begin");
        }
        world.ask(clients[3], "select");
        world.ask(elsewhere, "begin");
        let owner = world.owner(workers - 1);
        assert_eq!(world.ask(owner, "KILL app"), ["KILL", READY]);
        for client in clients.drain(..) {
            assert_eq!(
                (world.lines(client), world.is_open(client)),
                (REMOVED.to_vec().into_iter().map(str::to_owned).collect(), false)
            );
        }
        assert_eq!(world.servers().len(), 1);
        assert_eq!(world.ask(elsewhere, "commit"), ["DONE", READY]);
        assert_eq!(world.show(owner, "databases").column("paused"), ["1", "0", "0", "0"]);
        let late = world.client(0, "carol", "app");
        assert_eq!(world.ask(late, "select"), [""; 0]);
        assert_eq!(world.ask(owner, "resume"), error("pooler is not paused/suspended"));
        assert_eq!(world.ask(owner, "resume app"), ["RESUME", READY]);
        assert_eq!(world.lines(late), ["DONE", READY]);
        assert_eq!(world.ask(owner, "kill other"), ["KILL", READY]);
        assert_eq!(world.lines(elsewhere), REMOVED);
    }
}

#[test]
fn kill_of_everything_is_of_each_database_that_has_a_pool() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let clients = [world.client(0, "carol", "app"), world.client(0, "dave", "other")];
        world.ask(clients[0], "begin");
        let (owner, second) = (world.owner(0), world.owner(workers - 1));
        assert_eq!(world.ask(owner, "kill"), ["KILL", READY]);
        for client in clients {
            assert_eq!(world.lines(client), REMOVED);
        }
        assert_eq!(world.servers(), []);
        assert_eq!(world.show(second, "databases").column("paused"), ["1", "0", "1", "0"]);
        assert_eq!(world.show(second, "state").column("value"), ["yes", "no", "no"]);
        assert_eq!(world.ask(second, "resume other"), ["RESUME", READY]);
        let late = world.client(0, "dave", "other");
        assert_eq!(world.ask(late, "select"), ["DONE", READY]);
    }
}

#[test]
fn kill_is_refused_at_rest() {
    let mut world = world(1);
    world.client(0, "carol", "app");
    let owner = world.owner(0);
    for (rest, tag) in [("pause", "PAUSE"), ("suspend", "SUSPEND")] {
        assert_eq!(world.ask(owner, rest), [tag, READY]);
        assert_eq!(world.ask(owner, "kill"), error("already suspended/paused"));
        assert_eq!(world.ask(owner, "kill app"), error("already suspended/paused"));
        assert_eq!(world.ask(owner, "resume"), ["RESUME", READY]);
    }
}

#[test]
fn a_client_is_killed_by_its_id_wherever_it_is() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        let clients: Vec<_> = (0..4).map(|_| world.client(0, "carol", "app")).collect();
        world.ask(clients[0], "begin");
        let owner = world.owner(workers - 1);
        let ids = column(&mut world, owner, "clients", "app", "id");
        assert_eq!(ids.len(), 4);
        for id in &ids {
            let open = |world: &World| clients.iter().filter(|it| world.is_open(**it)).count();
            let before = open(&world);
            assert_eq!(world.ask(owner, &format!("KILL_CLIENT {id}xyz")), ["KILL_CLIENT", READY]);
            assert_eq!(open(&world), before - 1);
            let again = world.ask(owner, &format!("KILL_CLIENT {id}"));
            assert_eq!(again, error("client not found"));
        }
        for client in clients {
            assert_eq!(world.lines(client), ["FATAL 57P01 admin forced disconnect"]);
        }
        assert_eq!(world.servers(), [], "its transaction was not over");
        // Those that come to the same places have other numbers.
        for _ in 0..4 {
            world.client(0, "carol", "app");
        }
        let later = column(&mut world, owner, "clients", "app", "id");
        assert!(later.iter().all(|id| !ids.contains(id)), "{ids:?} {later:?}");
    }
}

#[test]
fn ids_are_of_one_connection_for_ever() {
    let mut world = world(2);
    let owner = world.owner(0);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..20 {
        let client = world.client(round % 2, "carol", "app");
        world.ask(client, "begin");
        for what in ["clients", "servers"] {
            for id in column(&mut world, owner, what, "app", "id") {
                assert!(seen.insert(id.clone()), "{id} is used again");
            }
        }
        world.hang_up(client);
    }
    assert_eq!(seen.len(), 40);
}

#[test]
fn sessions_of_the_console_can_be_killed() {
    for workers in [1, 2] {
        let mut world = world(workers);
        let (owner, other) = (world.owner(0), world.owner(workers - 1));
        let ids = column(&mut world, owner, "clients", "pgbouncer", "id");
        let own: Vec<_> = ids.iter().map(|id| id.parse::<u64>().unwrap()).collect();
        let (first, last) = (own.iter().min().unwrap(), own.iter().max().unwrap());
        assert_eq!(world.ask(owner, &format!("kill_client {last}")), ["KILL_CLIENT", READY]);
        assert_eq!(world.lines(other), ["FATAL 57P01 admin forced disconnect"]);
        let own_end = world.ask(owner, &format!("kill_client {first}"));
        assert_eq!(own_end, ["FATAL 57P01 admin forced disconnect"]);
        assert!(!world.is_open(owner));
    }
}

#[test]
fn reconnect_replaces_servers_as_they_come_free() {
    for workers in [1, 2, 4] {
        for (reconnect, wait) in [("RECONNECT", "WAIT_CLOSE"), ("RECONNECT app", "WAIT_CLOSE app")]
        {
            let mut world = world(workers);
            let clients: Vec<_> = (0..4).map(|_| world.client(0, "carol", "app")).collect();
            for client in &clients {
                world.ask(*client, "begin");
            }
            world.ask(clients[3], "commit");
            let (owner, other) = (world.owner(0), world.owner(workers - 1));
            assert_eq!(world.ask(owner, wait), ["WAIT_CLOSE", READY], "nothing is marked");
            assert_eq!(world.ask(owner, reconnect), ["RECONNECT", READY]);
            assert_eq!(world.servers().len(), 3, "the idle one is closed at once");
            let needed = column(&mut world, owner, "servers", "app", "close_needed");
            assert_eq!(needed, ["1"; 3]);
            assert_eq!(world.ask(other, wait), [""; 0]);
            assert_eq!(world.ask(owner, "WAIT_CLOSE other"), ["WAIT_CLOSE", READY]);
            for client in &clients[..3] {
                world.wait(SECOND);
                assert_eq!(world.lines(other), [""; 0]);
                assert_eq!(world.ask(*client, "commit"), ["DONE", READY]);
            }
            world.wait(SECOND / 50);
            assert_eq!(world.lines(other), ["WAIT_CLOSE", READY]);
            assert_eq!(world.servers(), []);
            assert_eq!(world.ask(clients[0], "select"), ["DONE", READY]);
            assert_eq!(column(&mut world, owner, "servers", "app", "close_needed"), ["0"]);
            assert_eq!(world.ask(owner, wait), ["WAIT_CLOSE", READY]);
        }
    }
}

#[test]
fn reconnect_of_one_database_spares_the_others() {
    let mut world = world(2);
    let (carol, dave) = (world.client(0, "carol", "app"), world.client(0, "dave", "other"));
    world.ask(carol, "select");
    world.ask(dave, "select");
    let owner = world.owner(1);
    assert_eq!(world.ask(owner, "reconnect other"), ["RECONNECT", READY]);
    assert_eq!(column(&mut world, owner, "servers", "app", "state"), ["idle"]);
    assert_eq!(column(&mut world, owner, "servers", "other", "state"), [""; 0]);
}

/// Logs in and tells what the server is said to be.
fn version(world: &mut World, worker: u8) -> String {
    let plug = world.enter(worker, tcp(5000), "carol", "app");
    let lines = world.lines(plug);
    let line = lines.into_iter().find(|line| line.starts_with("server_version="));
    line.unwrap_or_default().replace("server_version=", "")
}

#[test]
fn after_a_reconnect_nobody_is_welcomed_with_what_was() {
    for workers in [1, 2, 4] {
        let mut world = world(workers);
        for worker in 0..workers {
            assert_eq!(version(&mut world, worker), "18.1");
        }
        world.version = "19.0";
        let owner = world.owner(0);
        assert_eq!(version(&mut world, workers - 1), "18.1");
        assert_eq!(world.ask(owner, "reconnect app"), ["RECONNECT", READY]);
        for worker in 0..2 * workers {
            assert_eq!(version(&mut world, worker % workers), "19.0");
        }
    }
}

#[test]
fn a_server_in_login_is_not_what_a_reconnect_wants() {
    let mut world = world(1);
    world.holds_connects = true;
    let carol = world.enter(0, tcp(5000), "carol", "app");
    let old = world.servers();
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "reconnect"), ["RECONNECT", READY]);
    assert!(!world.is_open(old[0]), "it is closed at once");
    let new = world.servers();
    assert_eq!(new.len(), 1, "another one is opened for who waits");
    world.holds_connects = false;
    world.connect(new[0]);
    assert_eq!(world.lines(carol).last().unwrap(), READY);
    assert_eq!(world.ask(owner, "wait_close"), ["WAIT_CLOSE", READY]);
}

#[test]
fn a_server_on_loan_does_not_escape_a_reconnect() {
    let mut world = World::new(
        2,
        "[databases]\napp = host=10.0.0.2 pool_size=8\n[pgbouncer]\nauth_type = trust\n\
         pool_mode = transaction\n",
        USERS,
    );
    // All servers are taken, and one client waits on a worker that has asked the other for one.
    let clients: Vec<_> = (0..9).map(|_| world.client(0, "carol", "app")).collect();
    for client in &clients {
        world.say(*client, &query("begin"));
    }
    world.wait(SECOND);
    let is_served = |world: &mut World, client: Plug| world.lines(client).len() > 1;
    let (busy, waiting): (Vec<_>, Vec<_>) =
        clients.into_iter().partition(|client| is_served(&mut world, *client));
    let [waiting] = waiting[..] else { panic!("{waiting:?} wait") };
    let asker = world.worker(waiting);
    let old = world.servers();
    assert_eq!(old.len(), 8);
    let owner = world.owner(0);
    // That worker hears of the RECONNECT first, and is lent a server before the other does.
    world.holds_mail = true;
    world.say(owner, &query("reconnect"));
    world.carry_to(asker);
    let lender = busy.iter().find(|client| world.worker(**client) != asker).unwrap();
    world.say(*lender, &query("commit"));
    world.holds_mail = false;
    world.carry();
    for client in &busy {
        world.say(*client, &query("commit"));
    }
    world.wait(SECOND);
    assert!(old.iter().all(|server| !world.is_open(*server)), "some are still there");
    assert!(is_served(&mut world, waiting));
    assert_eq!(world.lines(owner), ["RECONNECT", READY]);
    assert_eq!(world.ask(owner, "wait_close"), ["WAIT_CLOSE", READY]);
}

#[test]
fn a_wait_for_closes_can_be_cancelled() {
    let mut world = world(2);
    let carol = world.client(0, "carol", "app");
    world.ask(carol, "begin");
    let owner = world.enter(0, unix(UID), "pgbouncer", "pgbouncer");
    let welcome = crate::seat::messages(&world.hear(owner));
    let (_, key) = welcome.iter().find(|(tag, _)| *tag == b'K').unwrap();
    let pid = u32::from_be_bytes(key[..4].try_into().unwrap());
    world.ask(owner, "reconnect");
    assert_eq!(world.ask(owner, "wait_close"), [""; 0]);
    let requester = world.accept(1, tcp(5001));
    world.say(requester, &bytes(|out| write::cancel_request(out, pid, &key[4..])));
    assert!(!world.is_open(requester));
    let canceled = ["ERROR 57014 canceling statement due to user request", READY];
    assert_eq!(world.lines(owner), canceled);
    assert_eq!(world.ask(owner, "wait_close"), [""; 0]);
    world.hang_up(owner);
    world.ask(carol, "commit");
    world.wait(SECOND);
    assert_eq!(world.servers(), []);
}

#[test]
fn settings_are_set_by_the_program() {
    let mut world = world(1);
    let owner = world.owner(0);
    assert_eq!(world.ask(owner, "SET Query_Wait_Timeout = '7'"), [""; 0]);
    let (worker, ticket, order) = world.orders.pop().unwrap();
    let expected = Order::Set { key: "query_wait_timeout".into(), value: "7".into() };
    assert_eq!((worker, order), (0, expected));
    world.answered(0, ticket, Answer::Set(Ok(())));
    assert_eq!(world.lines(owner), ["SET query_wait_timeout=7", READY]);
    assert_eq!(world.ask(owner, "set auth_file to '/nowhere'"), [""; 0]);
    let (_, ticket, _) = world.orders.pop().unwrap();
    world.answered(0, ticket, Answer::Set(Err("could not open it".into())));
    assert_eq!(world.lines(owner), ["ERROR 08P01 SET failed (could not open it)", READY]);
    for (text, answer) in [
        ("SET nonsense = 1", "ERROR 08P01 SET failed (unknown parameter: pgbouncer/nonsense)"),
        ("SET auth_type = hba", "ERROR 08P01 SET failed ("),
        ("SET default_pool_size = many", "ERROR 08P01 SET failed ("),
        ("SET listen_port = none", "ERROR 08P01 SET failed ("),
    ] {
        let lines = world.ask(owner, text);
        assert!(lines[0].starts_with(answer), "{text}: {lines:?}");
        assert_eq!(lines[1..], [READY]);
    }
    let later = "NOTICE 00000 \"listen_port\" changes at a restart only";
    assert_eq!(world.ask(owner, "set listen_port=99"), [later, "SET listen_port=99", READY]);
    assert_eq!(world.orders, []);
}

#[test]
fn what_drivers_set_is_ignored_for_everybody() {
    let mut world = world(1);
    let users = [world.owner(0), world.client(0, "bob", "pgbouncer")];
    for user in users {
        for text in [
            "SET extra_float_digits = 3",
            "SET application_name = 'x'",
            "SET client_min_messages TO warning",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "SET statement_timeout = 0",
            "SET datestyle TO 'ISO, MDY'",
        ] {
            let ignored = ["NOTICE 00000 SET ignored", "SET", READY];
            assert_eq!(world.ask(user, text), ignored, "{text}");
        }
    }
}
