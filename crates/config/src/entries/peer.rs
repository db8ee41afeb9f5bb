//! `[peers]`: other processes behind the same address, to which cancel requests may have to go.

use super::{
    Findings, Key, PORT_OF_POOLER, parse_entry, parse_port, parse_size, parse_text, put, value,
};
use crate::named::HasName;
use crate::settings::parse_decimal;

/// One entry of `[peers]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// The `peer_id` as it is written.
    pub name: String,
    /// Where it listens: a host name, an address or the `/directory` of a Unix socket.
    pub host: Option<String>,
    /// The port that it listens on.
    pub port: u16,
    /// The most connections to it at a time; `None` means `default_pool_size`.
    pub pool_size: Option<u32>,
}

impl HasName for Peer {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads one entry of `[peers]`.
pub(crate) fn parse_peer(name: &str, text: &str, findings: &mut Findings) -> Peer {
    if !parse_decimal(name).is_some_and(|id| (1..=ID_MAX).contains(&id)) {
        findings.complaints.push(format!("peer id must be between 1 and {ID_MAX}: {name}"));
    }
    let mut peer =
        Peer { name: name.to_owned(), host: None, port: PORT_OF_POOLER, pool_size: None };
    parse_entry(text, PEER_KEYS, "unrecognized connection parameter", &mut peer, findings);
    if peer.host.is_none() && findings.complaints.is_empty() {
        findings.complaints.push(format!("host was not provided for peer {name}"));
    }
    peer
}

/// The keys of `[peers]`.
pub(crate) const PEER_KEYS: &[Key<Peer>] = &[
    value("host", "Host name, IP address or `/directory` of its Unix socket.", |peer, text| {
        put(&mut peer.host, parse_text(text))
    }),
    value("port", "Port that it listens on; by default 6432.", |peer, text| {
        put(&mut peer.port, parse_port(text))
    }),
    value(
        "pool_size",
        "Cancel requests that may be on their way to it; by default `default_pool_size`.",
        |peer, text| put(&mut peer.pool_size, parse_size("pool_size", text)),
    ),
];

/// The largest `peer_id` (PgBouncer's parser; two bytes of a cancel key).
const ID_MAX: i64 = 65_535;
