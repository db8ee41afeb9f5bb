//! SHOW DATABASES and SHOW USERS: what is configured, and how much of it is in use.
//!
//! A database is listed when the configuration names it, or when it was made from the entry `*` and
//! has a pool. The console is one of them (PgBouncer).

use std::collections::BTreeSet;
use std::sync::Arc;

use config::{Database, PoolMode};

use super::{CONSOLE_SIZE, Facts};
use crate::admin::answer::Column;
use crate::admin::answer::Sheet;
use crate::admin::answer::Type::{Int4, Text};
use crate::admin::report::Census;
use crate::pool::route::{self, CONSOLE};
use crate::setup::Setup;
use crate::time::SECOND;

/// Whether clients may name this database.
pub(super) fn is_known(setup: &Setup, database: &str) -> bool {
    database == CONSOLE || route::entry(setup, database).is_some()
}

/// All databases.
pub(super) fn names<'a>(setup: &'a Setup, census: &'a Census) -> BTreeSet<&'a str> {
    let configured = setup.config.databases.iter().map(|database| database.name.as_str());
    let used = census.pools.keys().map(|key| &*key.database);
    configured.filter(|name| *name != TEMPLATE).chain(used).chain([CONSOLE]).collect()
}

impl Facts<'_> {
    pub(super) fn databases(&self, census: &Census) -> Vec<u8> {
        let figures = census.by_database();
        let mut sheet = Sheet::new(DATABASES);
        for name in names(self.setup, census) {
            let clients = figures.get(name).map_or(0, |figures| figures.clients.logged_in());
            let servers = self.servers(census, |key| &*key.database == name);
            match route::entry(self.setup, name).filter(|_| name != CONSOLE) {
                Some(entry) => self.database(&mut sheet, name, entry),
                None => self.console(&mut sheet),
            }
            // No limit on servers or clients of a database can be set yet.
            sheet.number(0_u32).number(servers).number(0_u32).number(clients);
            let paused = self.paused.iter().any(|paused| &**paused == name);
            sheet.number(u32::from(paused)).number(DISABLED).end_row();
        }
        sheet.finish()
    }

    fn database(&self, sheet: &mut Sheet, name: &str, entry: &Database) {
        let settings = &self.setup.config.pgbouncer;
        let lifetime = entry.server_lifetime.unwrap_or(settings.server_lifetime);
        sheet.text(name).text_or_null(entry.host.as_deref()).number(entry.port);
        sheet.text(entry.dbname.as_deref().unwrap_or(name));
        sheet.text_or_null(entry.user.as_deref());
        sheet.number(entry.pool_size.unwrap_or(settings.default_pool_size));
        sheet.number(MIN_POOL_SIZE).number(RESERVE_POOL_SIZE).number(lifetime / SECOND);
        sheet.text_or_null(entry.pool_mode.map(PoolMode::as_str)).null();
    }

    fn console(&self, sheet: &mut Sheet) {
        let settings = &self.setup.config.pgbouncer;
        sheet.text(CONSOLE).null().number(settings.listen_port).text(CONSOLE).text(CONSOLE);
        sheet.number(CONSOLE_SIZE).number(MIN_POOL_SIZE).number(RESERVE_POOL_SIZE);
        sheet.number(settings.server_lifetime / SECOND);
        sheet.text(PoolMode::Statement.as_str()).null();
    }

    /// The servers of some of the pools, those under way between two workers included.
    fn servers(&self, census: &Census, of: impl Fn(&crate::mail::PoolKey) -> bool) -> u32 {
        census.pools.keys().filter(|key| of(key)).map(|key| self.ledger.open(key)).sum()
    }

    /// The users of `auth_file`, of `[users]`, and of the pools.
    pub(super) fn user_names(&self, census: &Census) -> BTreeSet<Arc<str>> {
        let listed = self.setup.userlist.users();
        let listed = listed.map(|(name, _)| String::from_utf8_lossy(name).into());
        let configured = self.setup.config.users.iter().map(|user| user.name.as_str().into());
        let used = census.pools.keys().map(|key| Arc::clone(&key.user));
        let logged_in = census.users.keys().map(Arc::clone);
        listed.chain(configured).chain(used).chain(logged_in).collect()
    }

    pub(super) fn users(&self, census: &Census) -> Vec<u8> {
        let mut sheet = Sheet::new(USERS);
        for name in self.user_names(census) {
            let user = self.setup.config.user(&name);
            let size = user.and_then(|user| user.pool_size);
            let mode = user.and_then(|user| user.pool_mode);
            let servers = self.servers(census, |key| key.user == name);
            let clients = census.users.get(&name).copied().unwrap_or_default();
            // PgBouncer: sizes are text, aligned to the right, and empty where there is none.
            sheet.text(&name).text(&size.map_or(String::new(), |size| format!("{size:9}")));
            sheet.text("").text_or_null(mode.map(PoolMode::as_str));
            sheet.number(0_u32).number(servers).number(0_u32).number(clients).end_row();
        }
        sheet.finish()
    }
}

/// The entry that stands for every database that is not listed.
const TEMPLATE: &str = "*";
/// None of these can be set yet.
const MIN_POOL_SIZE: u32 = 0;
const RESERVE_POOL_SIZE: u32 = 0;
const DISABLED: u32 = 0;

const DATABASES: &[Column] = &[
    ("name", Text),
    ("host", Text),
    ("port", Int4),
    ("database", Text),
    ("force_user", Text),
    ("pool_size", Int4),
    ("min_pool_size", Int4),
    ("reserve_pool_size", Int4),
    ("server_lifetime", Int4),
    ("pool_mode", Text),
    ("load_balance_hosts", Text),
    ("max_connections", Int4),
    ("current_connections", Int4),
    ("max_client_connections", Int4),
    ("current_client_connections", Int4),
    ("paused", Int4),
    ("disabled", Int4),
];

const USERS: &[Column] = &[
    ("name", Text),
    ("pool_size", Text),
    ("reserve_pool_size", Text),
    ("pool_mode", Text),
    ("max_user_connections", Int4),
    ("current_connections", Int4),
    ("max_user_client_connections", Int4),
    ("current_client_connections", Int4),
];
