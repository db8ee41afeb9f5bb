//! Waiting for something to come true: polled, with a limit, never slept for blindly.

use std::thread;
use std::time::{Duration, Instant};

/// Waits at most ten seconds until `is_so`; panics with `what` if it does not come true.
pub fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    until(what, Duration::from_secs(10), is_so);
}

/// Waits at most `limit` until `is_so`; panics with `what` if it does not come true.
pub fn until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited {limit:?} in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
