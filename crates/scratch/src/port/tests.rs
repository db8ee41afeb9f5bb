use std::time::{Duration, Instant};

use super::*;

#[test]
fn a_free_port_is_below_the_range_of_outgoing_connections() {
    for _ in 0..100 {
        assert!((10_000..32_000).contains(&free_port()));
    }
}

#[test]
fn a_port_in_use_is_not_free() {
    let ports = std::iter::repeat_with(free_port);
    // Programs that other tests start hold a copy of every socket until they are under way.
    let mut bound =
        ports.filter_map(|port| Some((port, TcpListener::bind(("127.0.0.1", port)).ok()?)));
    let (port, listener) = bound.next().unwrap();
    assert!(!is_free(port));
    drop(listener);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_free(port) {
        assert!(Instant::now() < deadline, "port {port} stays in use");
    }
}
