//! SHOW PEERS and SHOW PEER_POOLS: the other processes behind the same address.

use super::Facts;
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};

impl Facts<'_> {
    pub(super) fn peers(&self, sheet: &mut Sheet) {
        let default = self.setup.config.pgbouncer.default_pool_size;
        let mut peers: Vec<_> = self
            .setup
            .config
            .peers
            .iter()
            .map(|peer| (peer.name.parse::<u32>().unwrap_or_default(), peer))
            .collect();
        peers.sort_by_key(|(id, _)| *id);
        for (id, peer) in peers {
            sheet.number(id).text_or_null(peer.host.as_deref()).number(peer.port);
            sheet.number(peer.pool_size.unwrap_or(default)).end_row();
        }
    }
}

pub(super) const COLUMNS: &[Column] =
    &[("peer_id", Int4), ("host", Text), ("port", Int4), ("pool_size", Int4)];

pub(super) const POOLS: &[Column] = &[
    ("peer_id", Int4),
    ("cl_active_cancel_req", Int4),
    ("cl_waiting_cancel_req", Int4),
    ("sv_active_cancel", Int4),
    ("sv_login", Int4),
];
