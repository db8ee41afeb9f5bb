//! Who gets in, and what others learn before they are turned away.

use auth::{ScramClient, Secret};
use wire::write;

use crate::seat::{bytes, messages, query, startup, tcp, unix};
use crate::world::{Plug, UID, World};

const TRUST: &str = "[databases]\napp = host=10.0.0.2\n[pgbouncer]\nauth_type = trust\n\
    admin_users = alice\nstats_users = bob\nmax_client_conn = 1\n";
const SCRAM: &str = "[databases]\n[pgbouncer]\nauth_type = scram-sha-256\n\
    admin_users = alice, ghost\n";
const USERS: &str = "\"alice\" \"secret\"\n\"bob\" \"\"\n\"carol\" \"secret\"\n";

const WELCOME: [&str; 10] = [
    "Authentication",
    "server_version=1.25.2/bouncer",
    "client_encoding=UTF8",
    "server_encoding=UTF8",
    "DateStyle=ISO",
    "TimeZone=GMT",
    "standard_conforming_strings=on",
    "is_superuser=on",
    "BackendKeyData",
    "ReadyForQuery",
];

#[test]
fn listed_users_are_welcome_and_others_are_not() {
    for (user, welcome) in [("alice", true), ("bob", true), ("carol", false)] {
        let mut world = World::new(1, TRUST, USERS);
        let plug = world.enter(0, tcp(5000), user, "pgbouncer");
        let lines = world.lines(plug);
        if welcome {
            assert_eq!(lines, WELCOME);
        } else {
            assert_eq!(lines, ["FATAL 28000 not allowed"]);
        }
        assert_eq!(world.is_open(plug), welcome);
    }
}

#[test]
fn who_is_not_known_hears_nothing_of_the_console() {
    let mut world = World::new(1, TRUST, USERS);
    let plug = world.enter(0, tcp(5000), "mallory", "pgbouncer");
    assert_eq!(world.lines(plug), ["FATAL 28000 \"trust\" authentication failed"]);
}

#[test]
fn the_owner_enters_by_the_unix_socket_alone() {
    let mut world = World::new(1, SCRAM, USERS);
    let plug = world.enter(0, unix(UID), "pgbouncer", "pgbouncer");
    assert_eq!(world.lines(plug), WELCOME);
    assert_eq!(world.ask(plug, "set timezone = 'GMT'")[1], "SET");
    for (peer, user) in [(unix(UID + 1), "pgbouncer"), (unix(UID), "carol"), (tcp(1), "pgbouncer")]
    {
        let plug = world.enter(0, peer, user, "pgbouncer");
        let lines = world.lines(plug);
        assert_eq!(lines, ["Authentication"], "{user} has to prove something");
    }
}

#[test]
fn rights_are_looked_at_after_the_proof() {
    assert_eq!(scram_login("alice", "secret"), WELCOME);
    assert_eq!(scram_login("carol", "secret"), ["FATAL 28000 not allowed"]);
    // A wrong password ends in the same way whoever has it, listed or not, known or not.
    for user in ["alice", "carol", "ghost", "mallory"] {
        let lines = scram_login(user, "wrong");
        assert_eq!(lines, ["FATAL 28P01 SASL authentication failed"], "{user}");
    }
}

/// What a client hears after its proof.
fn scram_login(user: &str, password: &str) -> Vec<String> {
    let mut world = World::new(1, SCRAM, USERS);
    let plug = world.enter(0, tcp(5000), user, "pgbouncer");
    let mut scram = ScramClient::new([7; 18]);
    let first = scram.first();
    expect_authentication(&mut world, plug);
    world.say(plug, &bytes(|out| write::sasl_initial_response(out, "SCRAM-SHA-256", &first)));
    let challenge = expect_authentication(&mut world, plug);
    let challenge = scram.challenge(&challenge).unwrap();
    assert!(matches!(Secret::parse(password.as_bytes()), Secret::Plain(_)));
    let keys = auth::derive(password.as_bytes(), &challenge.salt, challenge.iterations);
    let last = scram.last(&keys).unwrap();
    world.say(plug, &bytes(|out| write::sasl_response(out, &last)));
    let mut lines = world.lines(plug);
    if lines[0] == "Authentication" {
        lines.remove(0);
    }
    lines
}

/// The data of the one Authentication message that has come.
fn expect_authentication(world: &mut World, plug: Plug) -> Vec<u8> {
    let heard = messages(&world.hear(plug));
    assert_eq!((heard.len(), heard[0].0), (1, b'R'));
    heard[0].1[4..].to_vec()
}

#[test]
fn names_are_enough_where_nobody_has_to_prove_anything() {
    let any = TRUST.replace("auth_type = trust", "auth_type = any");
    for (user, welcome) in [("alice", true), ("bob", true), ("carol", false), ("nobody", false)] {
        let mut world = World::new(1, &any, "");
        let plug = world.enter(0, tcp(5000), user, "pgbouncer");
        let lines = world.lines(plug);
        match welcome {
            true => assert_eq!(lines, WELCOME, "{user}"),
            false => assert_eq!(lines, ["FATAL 28000 not allowed"], "{user}"),
        }
    }
}

#[test]
fn passwords_and_md5_responses_open_the_console() {
    for auth_type in ["plain", "md5"] {
        let ini = SCRAM.replace("scram-sha-256", auth_type);
        for (user, password, last) in [
            ("alice", "secret", "ReadyForQuery"),
            ("alice", "guess", "FATAL 28P01 password authentication failed"),
            ("carol", "secret", "FATAL 28000 not allowed"),
            ("mallory", "secret", "FATAL 28P01 password authentication failed"),
        ] {
            let mut world = World::new(1, &ini, USERS);
            let plug = world.enter(0, tcp(5000), user, "pgbouncer");
            let question = expect_authentication(&mut world, plug);
            let answer = match <[u8; 4]>::try_from(&question[..]) {
                Ok(salt) => {
                    let hash = auth::md5_hash(password.as_bytes(), user.as_bytes());
                    auth::md5_response(&hash, salt).to_vec()
                }
                Err(_) => password.as_bytes().to_vec(),
            };
            world.say(plug, &bytes(|out| write::password(out, &answer)));
            let lines = world.lines(plug);
            assert_eq!(lines.last().unwrap(), last, "{auth_type} {user} {password}");
        }
    }
}

#[test]
fn what_is_told_to_clients_of_pools_is_not_told_here() {
    let ini = format!("{TRUST}login_notify_message = hello\ndisable_pqexec = 1\n");
    let mut world = World::new(1, &ini, USERS);
    let plug = world.enter(0, tcp(5000), "alice", "pgbouncer");
    assert_eq!(world.lines(plug), WELCOME);
    assert_eq!(world.ask(plug, "show version").last().unwrap(), "ReadyForQuery");
}

#[test]
fn one_sqlstate_for_all_if_it_has_to_be() {
    let ini = format!("{TRUST}legacy_sqlstate = 1\n");
    let mut world = World::new(1, &ini, USERS);
    let plug = world.enter(0, tcp(5000), "carol", "pgbouncer");
    assert_eq!(world.lines(plug), ["FATAL 08P01 not allowed"]);
}

#[test]
fn a_full_pooler_still_lets_admins_in() {
    let mut world = World::new(1, TRUST, USERS);
    world.client(0, "carol", "app");
    let refused = world.enter(0, tcp(5000), "carol", "app");
    let no = "FATAL 53300 no more connections allowed (max_client_conn)";
    assert_eq!(world.lines(refused), [no]);
    let admin = world.enter(0, tcp(5000), "alice", "pgbouncer");
    assert_eq!(world.lines(admin), WELCOME);
}

#[test]
fn what_follows_the_startup_message_is_not_lost() {
    let mut world = World::new(1, TRUST, USERS);
    let plug = world.accept(0, tcp(5000));
    let all = [startup("alice", "pgbouncer", &[]), query("show version"), query("reload")].concat();
    world.say(plug, &all);
    let lines = world.lines(plug);
    assert_eq!(lines[..10], WELCOME);
    assert_eq!(lines[10..], ["RowDescription", "DataRow", "SHOW", "ReadyForQuery"]);
    assert_eq!(world.orders.len(), 1);
}

#[test]
fn any_cut_of_the_bytes_gives_the_same_answer() {
    let all = [startup("alice", "pgbouncer", &[]), query("show version"), query("show")].concat();
    let mut whole = World::new(1, TRUST, USERS);
    let plug = whole.accept(0, tcp(5000));
    whole.say(plug, &all);
    let expected = whole.lines(plug);
    for step in 1..all.len() {
        let mut world = World::new(1, TRUST, USERS);
        let plug = world.accept(0, tcp(5000));
        for part in all.chunks(step) {
            world.say(plug, part);
        }
        assert_eq!(world.lines(plug), expected, "in pieces of {step}");
    }
}
