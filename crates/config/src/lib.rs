//! The settings of the pooler as one value.
//!
//! ```text
//! files ──► ini (lines) ──► load ──► Config, or every complaint
//!                            │
//!                            ├─ settings: [pgbouncer]; its table also feeds SHOW and the manual
//!                            └─ entries:  [databases], [users] and [peers], by way of conninfo
//! old Config, new Config ──► diff ──► what a reload has to do
//! ```
//!
//! The dialect is PgBouncer's. Knows no files, environment, clock or network: whoever calls
//! [`load_in`] brings functions that read a file and look up a variable.

#![forbid(unsafe_code)]

pub mod conninfo;
mod diff;
mod entries;
pub mod ini;
mod load;
mod manual;
mod named;
mod settings;

use std::fmt;

pub use diff::{Change, diff, keep_boot_settings};
pub use entries::{Database, Password, Peer, User};
pub use load::{load, load_in};
pub use manual::manual;
pub use named::{HasName, Named};
pub use settings::{
    AuthType, CheckQuery, HbaFile, Micros, PoolMode, Row, Settings, Standing, TABLE, TlsMode, When,
};

/// Everything that one load of the configuration yields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The section `[pgbouncer]`.
    pub pgbouncer: Settings,
    /// The section `[databases]` in file order, the template `*` included.
    pub databases: Named<Database>,
    /// The section `[users]` in file order.
    pub users: Named<User>,
    /// The section `[peers]` in file order.
    pub peers: Named<Peer>,
    /// What was accepted, but deserves a line in the log.
    pub warnings: Vec<Complaint>,
}

impl Config {
    /// The database of exactly this name; the template `*` is not a database.
    #[must_use]
    pub fn find_database(&self, name: &str) -> Option<&Database> {
        self.databases.find(name).filter(|_| name != TEMPLATE)
    }

    /// The entry `*`, from which databases that are not listed are made.
    #[must_use]
    pub fn template(&self) -> Option<&Database> {
        self.databases.find(TEMPLATE)
    }

    /// The entry of `[users]` for this user.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.find(name)
    }

    /// The rows of SHOW CONFIG, in PgBouncer's order and print.
    #[must_use]
    pub fn show(&self) -> Vec<ShowRow> {
        TABLE
            .iter()
            .map(|row| ShowRow {
                key: row.key,
                value: self.pgbouncer.show(row),
                default: row.default.map(str::to_owned),
                changeable: row.when == When::Live,
            })
            .collect()
    }
}

/// One row of SHOW CONFIG; `None` is SQL NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowRow {
    /// The setting's name.
    pub key: &'static str,
    /// The value in force.
    pub value: Option<String>,
    /// The value without a line in the file.
    pub default: Option<String>,
    /// Whether RELOAD and SET may change it.
    pub changeable: bool,
}

/// One thing that is wrong, or at least odd, with the configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The file, as the command line or `%include` spells it.
    pub file: String,
    /// The line, from 1; 0 when the complaint is about the file as a whole.
    pub line: u32,
    /// The setting, database or user; empty when the complaint is about none.
    pub key: String,
    /// What is wrong; never contains a password or a whole line of the file.
    pub why: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:", self.file)?;
        if self.line > 0 {
            write!(out, "{}:", self.line)?;
        }
        if !self.key.is_empty() {
            write!(out, " {}:", self.key)?;
        }
        write!(out, " {}", self.why)
    }
}

/// The name of the entry in `[databases]` that stands for every name not listed.
const TEMPLATE: &str = "*";

#[cfg(test)]
mod tests;
