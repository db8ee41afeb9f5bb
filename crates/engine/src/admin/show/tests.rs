//! Tables of a large pooler: nothing is looked for once a row.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::{Config, Database, Named, User};

use super::{Facts, Show};
use crate::admin::answer::Part;
use crate::admin::report::{Census, Figures};
use crate::mail::PoolKey;
use crate::pool::ledger::Ledger;
use crate::setup::Setup;
use crate::time::Time;

const MANY: usize = 10_000;

fn name(kind: &str, number: usize) -> String {
    format!("{kind}{number}")
}

fn setup() -> Setup {
    let databases: Named<Database> =
        (0..MANY).map(|number| Database::new(&name("db", number))).collect();
    let users: Named<User> = (0..MANY).map(|number| User::new(&name("user", number))).collect();
    let list: String = (0..MANY).map(|number| format!("\"user{number}\" \"\"\n")).collect();
    let (userlist, _) = auth::Userlist::parse(list.as_bytes());
    let config = Config { databases, users, ..Config::default() };
    Setup { config, userlist: Arc::new(userlist), version: "".into(), uid: 1000, host: "".into() }
}

/// A pool for each database and its user.
fn census() -> Census {
    let mut census = Census::default();
    for number in 0..MANY {
        let user: Arc<str> = name("user", number).into();
        let key = PoolKey { database: name("db", number).into(), user: Arc::clone(&user) };
        census.pools.insert(key, Figures::default());
        census.users.insert(user, 1);
    }
    census
}

#[test]
fn ten_thousand_databases_users_and_pools() {
    let (setup, ledger) = (setup(), Ledger::new(1));
    let paused: Vec<Arc<str>> = (0..MANY).map(|number| name("db", number).into()).collect();
    let facts = Facts {
        setup: &setup,
        ledger: &ledger,
        rest: crate::act::Rest::Working,
        paused: &paused,
        disabled: &[],
        wall: 0,
        now: Time::ZERO,
    };
    for (show, rows) in [
        (Show::Databases, MANY + 1),
        (Show::Lists, 14),
        (Show::Mem, 12),
        (Show::Pools, MANY),
        (Show::Stats, MANY),
        (Show::Users, MANY),
    ] {
        let census = census();
        let before = Instant::now();
        let answer = facts.show_census(show, census);
        let mut out = Vec::new();
        answer.write(&mut out);
        assert!(out.len() > rows);
        let Some(Part::Table(sheet, _)) = answer.parts.first() else { panic!("{show:?}") };
        assert_eq!(sheet.rows(), rows, "{show:?}");
        // A hundred times what it takes, and much less than a walk of all for each.
        assert!(before.elapsed() < Duration::from_secs(10), "{show:?}: {:?}", before.elapsed());
    }
}
