//! What changed between two configurations, as a list of values.
//!
//! ```text
//! old, new ──► diff ──► settings · databases removed · databases added or changed · users
//! ```
//!
//! Only the meaning counts: a list that is spaced differently, or `dbname` spelled out, is no
//! change. Knows nothing of what a change does to clients and servers.

use crate::settings::{TABLE, When};
use crate::{Config, Database};

/// One difference between two configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A database that was not there.
    DatabaseAdded(String),
    /// A database that is there no more.
    DatabaseRemoved(String),
    /// A database whose `dbname`, `host`, `port`, `user` or `connect_query` differ: its servers are
    /// no longer the right ones.
    DatabaseRetargeted(String),
    /// A database that differs in anything else: its servers are still the right ones.
    DatabaseTuned(String),
    /// An entry of `[users]` that was added, removed or changed.
    UserTuned(String),
    /// A setting that may change while running.
    Setting(&'static str),
    /// A setting that only a restart changes.
    BootOnly(&'static str),
}

/// Lists what differs: settings in table order, then databases, the removed ones first, then users.
#[must_use]
pub fn diff(old: &Config, new: &Config) -> Vec<Change> {
    let mut changes = Vec::new();
    for row in TABLE.iter().filter(|row| !old.pgbouncer.agrees(&new.pgbouncer, row)) {
        changes.push(match row.when {
            When::Boot => Change::BootOnly(row.key),
            When::Live => Change::Setting(row.key),
        });
    }
    diff_databases(old, new, &mut changes);
    diff_users(old, new, &mut changes);
    changes
}

/// The new configuration with the settings that only a restart changes as they were.
#[must_use]
pub fn keep_boot_settings(old: &Config, new: Config) -> Config {
    let mut kept = new;
    for row in TABLE.iter().filter(|row| row.when == When::Boot) {
        kept.pgbouncer.copy(&old.pgbouncer, row);
    }
    kept
}

fn diff_databases(old: &Config, new: &Config, changes: &mut Vec<Change>) {
    for database in &old.databases {
        if new.databases.find(&database.name).is_none() {
            changes.push(Change::DatabaseRemoved(database.name.clone()));
        }
    }
    for database in &new.databases {
        let name = || database.name.clone();
        match old.databases.find(&database.name) {
            None => changes.push(Change::DatabaseAdded(name())),
            Some(earlier) if target(earlier) != target(database) => {
                changes.push(Change::DatabaseRetargeted(name()));
            }
            Some(earlier) if is_tuned(earlier, database) => {
                changes.push(Change::DatabaseTuned(name()));
            }
            Some(_) => {}
        }
    }
}

/// What decides which server a connection leads to, and as whom.
fn target(database: &Database) -> (Option<&str>, Option<&str>, u16, [Option<&str>; 2]) {
    let (user, query) = (database.user.as_deref(), database.connect_query.as_deref());
    (database.server_name(), database.host.as_deref(), database.port, [user, query])
}

/// Whether two entries with the same target differ.
fn is_tuned(old: &Database, new: &Database) -> bool {
    let spelled_alike = Database { dbname: new.dbname.clone(), ..old.clone() };
    spelled_alike != *new
}

fn diff_users(old: &Config, new: &Config, changes: &mut Vec<Change>) {
    for user in old.users.iter().filter(|user| new.user(&user.name).is_none()) {
        changes.push(Change::UserTuned(user.name.clone()));
    }
    for user in new.users.iter().filter(|user| old.user(&user.name) != Some(user)) {
        changes.push(Change::UserTuned(user.name.clone()));
    }
}

#[cfg(test)]
mod tests;
