//! Who may say what.

use config::Settings;

use super::Rights;
use super::grammar::{Command, parse};
use crate::command::Peer;
use crate::setup::Setup;

fn setup() -> Setup {
    let mut pgbouncer = Settings::default();
    pgbouncer.set("admin_users", "alice, both").unwrap();
    pgbouncer.set("stats_users", "bob both").unwrap();
    let config = config::Config { pgbouncer, ..Default::default() };
    Setup { config, userlist: Default::default(), version: "".into(), host: "".into(), uid: 1000 }
}

#[test]
fn rights_by_name() {
    let setup = setup();
    let rights = |user: &str| Rights::of(user, &setup.config.pgbouncer);
    assert_eq!(rights("alice"), Some(Rights::Admin));
    assert_eq!(rights("both"), Some(Rights::Admin));
    assert_eq!(rights("bob"), Some(Rights::Stats));
    for stranger in ["", "ali", "alice, both", "Alice", "pgbouncer", "carol"] {
        assert_eq!(rights(stranger), None, "{stranger:?}");
    }
    assert_eq!(Rights::of("", &Settings::default()), None);
}

#[test]
fn the_owner_needs_no_proof() {
    let setup = setup();
    let unix = |uid| Peer::Unix { pid: 1, uid, port: 6432 };
    let address = "127.0.0.1:6432".parse().unwrap();
    let check = |user: &str, peer: Peer, expected: Option<Rights>| {
        assert_eq!(Rights::without_proof(user, peer, &setup), expected, "{user} {peer:?}");
    };
    check("pgbouncer", unix(1000), Some(Rights::Admin));
    check("pgbouncer", unix(1001), None);
    check("alice", unix(1000), None);
    check("pgbouncer", Peer::Tcp { from: address, at: address }, None);
}

#[test]
fn what_stats_users_may_say() {
    let command = |query: &str| parse(query.as_bytes()).unwrap();
    let shows = ["show pools", "show config", "show help", "show timezone", "select stats"];
    for query in shows.into_iter().chain(["show peers", "set datestyle to iso"]) {
        assert!(Rights::Stats.permit(&command(query)), "{query}");
        assert!(Rights::Admin.permit(&command(query)), "{query}");
    }
    let acts = ["pause", "pause app", "resume", "reload", "shutdown", "set verbose = 1"];
    let others = ["kill_client 1", "kill", "suspend", "disable app", "wait_close", "show fds"];
    for query in acts.into_iter().chain(others) {
        assert!(!Rights::Stats.permit(&command(query)), "{query}");
        assert!(Rights::Admin.permit(&command(query)), "{query}");
    }
    assert!(!Rights::Stats.permit(&Command::Reload));
}
