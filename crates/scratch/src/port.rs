//! TCP ports that nobody listens on.
//!
//! A port is free when it is picked and may be taken a moment later; who needs certainty tries
//! again, as [`crate::Postgres::start`] does. Ports come from below the range from which kernels
//! draw the local ports of outgoing connections, so that a test with thousands of clients cannot
//! take the port of a server that is about to start or to restart.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

/// Picks a TCP port of 127.0.0.1 on which nobody listens, between 10000 and 31999.
#[must_use]
pub fn free_port() -> u16 {
    // A new `RandomState` has keys of its own, which is all the randomness that is needed here.
    std::iter::repeat_with(|| RandomState::new().hash_one(()) % 22_000)
        .filter_map(|offset| u16::try_from(10_000 + offset).ok())
        .find(|port| is_free(*port))
        .unwrap_or_default()
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests;
