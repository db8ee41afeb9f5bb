//! SHOW DATABASES: what is configured, and how much of it is in use.
//!
//! A database is listed when the configuration names it, or when it was made from the entry `*` and
//! has a pool. The console is one of them (PgBouncer). Limits are those that count: the entry's
//! own, else the setting.

use std::collections::BTreeSet;

use config::{Database, PoolMode};

use super::{CONSOLE_SIZE, Facts};
use crate::admin::report::Census;
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};
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
    pub(super) fn databases(&self, sheet: &mut Sheet, census: &Census) {
        let settings = &self.setup.config.pgbouncer;
        let figures = census.by_database();
        let [paused, disabled] = [self.paused, self.disabled]
            .map(|names| names.iter().map(|name| &**name).collect::<BTreeSet<&str>>());
        for name in names(self.setup, census) {
            let clients = figures.get(name).map_or(0, |figures| figures.clients.logged_in());
            let entry = route::entry(self.setup, name).filter(|_| name != CONSOLE);
            match entry {
                Some(entry) => self.database(sheet, name, entry),
                None => self.console(sheet),
            }
            let most = entry.and_then(|entry| entry.max_db_connections);
            let most_clients = entry.and_then(|entry| entry.max_db_client_connections);
            sheet.number(most.unwrap_or(settings.max_db_connections));
            sheet.number(self.ledger.open_of_database(name));
            sheet.number(most_clients.unwrap_or(settings.max_db_client_connections));
            sheet.number(clients);
            sheet.number(u32::from(paused.contains(name)));
            sheet.number(u32::from(disabled.contains(name))).end_row();
        }
    }

    fn database(&self, sheet: &mut Sheet, name: &str, entry: &Database) {
        let settings = &self.setup.config.pgbouncer;
        let lifetime = entry.server_lifetime.unwrap_or(settings.server_lifetime);
        sheet.text(name).text_or_null(entry.host.as_deref()).number(entry.port);
        sheet.text(entry.dbname.as_deref().unwrap_or(name));
        sheet.text_or_null(entry.user.as_deref());
        sheet.number(entry.pool_size.unwrap_or(settings.default_pool_size));
        sheet.number(entry.min_pool_size.unwrap_or(settings.min_pool_size));
        sheet.number(entry.reserve_pool_size.unwrap_or(settings.reserve_pool_size));
        sheet.number(lifetime / SECOND);
        // PgBouncer: a word only where a database has several hosts.
        sheet.text_or_null(entry.pool_mode.map(PoolMode::as_str)).null();
    }

    fn console(&self, sheet: &mut Sheet) {
        let settings = &self.setup.config.pgbouncer;
        sheet.text(CONSOLE).null().number(settings.listen_port).text(CONSOLE).text(CONSOLE);
        sheet.number(CONSOLE_SIZE).number(0_u32).number(0_u32);
        sheet.number(settings.server_lifetime / SECOND);
        sheet.text(PoolMode::Statement.as_str()).null();
    }
}

/// The entry that stands for every database that is not listed.
const TEMPLATE: &str = "*";

pub(super) const COLUMNS: &[Column] = &[
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
