//! SHOW POOLS: the clients and servers of each pool by state.

use super::Facts;
use crate::admin::report::{Census, Figures};
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};
use crate::mail::PoolKey;
use crate::time::SECOND;

impl Facts<'_> {
    pub(super) fn pools(&self, sheet: &mut Sheet, census: &Census) {
        for (key, figures) in &census.pools {
            self.pool(sheet, key, figures);
        }
    }

    fn pool(&self, sheet: &mut Sheet, key: &PoolKey, figures: &Figures) {
        let Figures { clients, servers, .. } = figures;
        let wait = figures.oldest.map_or(0, |since| self.now.since(since));
        sheet.text(&key.database).text(&key.user);
        sheet.number(clients.active).number(clients.waiting);
        sheet.number(clients.active_cancel).number(clients.waiting_cancel);
        sheet.number(servers.active).number(servers.active_cancel).number(servers.being_canceled);
        sheet.number(servers.idle).number(servers.used).number(servers.tested);
        sheet.number(servers.login);
        sheet.number(wait / SECOND).number(wait % SECOND);
        sheet.text(figures.mode.as_str());
        // PgBouncer: a word only where a database has several hosts.
        sheet.null();
        sheet.end_row();
    }
}

pub(super) const COLUMNS: &[Column] = &[
    ("database", Text),
    ("user", Text),
    ("cl_active", Int4),
    ("cl_waiting", Int4),
    ("cl_active_cancel_req", Int4),
    ("cl_waiting_cancel_req", Int4),
    ("sv_active", Int4),
    ("sv_active_cancel", Int4),
    ("sv_being_canceled", Int4),
    ("sv_idle", Int4),
    ("sv_used", Int4),
    ("sv_tested", Int4),
    ("sv_login", Int4),
    ("maxwait", Int4),
    ("maxwait_us", Int4),
    ("pool_mode", Text),
    ("load_balance_hosts", Text),
];
