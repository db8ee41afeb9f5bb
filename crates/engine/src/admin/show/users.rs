//! SHOW USERS: the users that there are, and how much of what they may have is in use.
//!
//! Those of `auth_file` and `[users]`, and all that have a pool or have logged in. Limits on
//! connections are those that count: the entry's own, else the setting. Sizes are shown only where
//! the entry says them (PgBouncer).

use std::collections::BTreeSet;
use std::sync::Arc;

use config::PoolMode;

use super::Facts;
use crate::admin::report::Census;
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};

impl Facts<'_> {
    pub(super) fn user_names(&self, census: &Census) -> BTreeSet<Arc<str>> {
        let listed = self.setup.userlist.users();
        let listed = listed.map(|(name, _)| String::from_utf8_lossy(name).into());
        let configured = self.setup.config.users.iter().map(|user| user.name.as_str().into());
        let used = census.pools.keys().map(|key| Arc::clone(&key.user));
        let logged_in = census.users.keys().map(Arc::clone);
        listed.chain(configured).chain(used).chain(logged_in).collect()
    }

    pub(super) fn users(&self, sheet: &mut Sheet, census: &Census) {
        let settings = &self.setup.config.pgbouncer;
        for name in self.user_names(census) {
            let user = self.setup.config.user(&name);
            let most = user.and_then(|user| user.max_user_connections);
            let most_clients = user.and_then(|user| user.max_user_client_connections);
            sheet.text(&name);
            sheet.text(&padded(user.and_then(|user| user.pool_size)));
            sheet.text(&padded(user.and_then(|user| user.reserve_pool_size)));
            sheet.text_or_null(user.and_then(|user| user.pool_mode).map(PoolMode::as_str));
            sheet.number(most.unwrap_or(settings.max_user_connections));
            sheet.number(self.ledger.open_of_user(&name));
            sheet.number(most_clients.unwrap_or(settings.max_user_client_connections));
            sheet.number(census.users.get(&name).copied().unwrap_or_default()).end_row();
        }
    }
}

/// PgBouncer: sizes are text, aligned to the right, and empty where there is none.
fn padded(size: Option<u32>) -> String {
    size.map_or(String::new(), |size| format!("{size:9}"))
}

pub(super) const COLUMNS: &[Column] = &[
    ("name", Text),
    ("pool_size", Text),
    ("reserve_pool_size", Text),
    ("pool_mode", Text),
    ("max_user_connections", Int4),
    ("current_connections", Int4),
    ("max_user_client_connections", Int4),
    ("current_client_connections", Int4),
];
