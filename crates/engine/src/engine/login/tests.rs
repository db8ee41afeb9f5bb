//! Where clients come from, and how many passwords are checked at a time.

use super::{CHECKS_MAX, Checks, origin};
use crate::client::Client;
use crate::command::Peer;
use crate::ids::{Id, Slab};
use crate::time::Time;

#[test]
fn origins() {
    let tcp = |from: &str| {
        let at = "10.0.0.1:6432".parse().unwrap();
        origin(Peer::Tcp { from: from.parse().unwrap(), at }, "db1")
    };
    assert_eq!(tcp("10.0.0.9:5000"), "10.0.0.9:5000");
    assert_eq!(tcp("[2001:db8::1]:5000"), "[2001:db8::1]:5000");
    let unix = Peer::Unix { pid: 77, uid: 1000, port: 6432 };
    assert_eq!(origin(unix, "db1"), "unix(77@db1):6432");
}

#[test]
fn checks_take_turns() {
    let mut clients = Slab::new();
    let mut client = || -> Id<Client> {
        clients.insert(Client::new(Peer::Unix { pid: 0, uid: 0, port: 1 }, 1, Time::ZERO))
    };
    let mut checks = Checks::default();
    for _ in 0..CHECKS_MAX {
        assert!(checks.begin(client()));
    }
    let (first, second) = (client(), client());
    assert!(!checks.begin(first) && !checks.begin(second));
    assert_eq!(checks.next(), None);
    checks.end();
    assert_eq!(checks.next(), Some(first));
    assert!(checks.begin(first));
    assert_eq!(checks.next(), None);
    checks.end();
    assert_eq!(checks.next(), Some(second));
    assert_eq!(checks.next(), None);
}
