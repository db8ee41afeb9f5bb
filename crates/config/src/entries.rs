//! The entries of `[databases]`, `[users]` and `[peers]`: `name = key=value …`.
//!
//! ```text
//! text ──► conninfo: pairs ──► the section's table of keys ──► Database, User or Peer
//!                                                          └─► complaints; keys without effect yet
//! ```
//!
//! Each section has a table of its keys, which drives parsing and the manual. All complaints about
//! an entry are gathered; they never repeat the entry, which may hold a password.
//!
//! Knows no files and no line numbers, and does not fill in what an entry leaves to the settings.

mod database;
mod peer;
mod user;

pub(crate) use database::{DATABASE_KEYS, parse_database};
pub use database::{Database, Password};
pub use peer::Peer;
pub(crate) use peer::{PEER_KEYS, parse_peer};
pub use user::User;
pub(crate) use user::{USER_KEYS, parse_user};

use crate::conninfo::pairs;
use crate::settings::{Micros, PoolMode, Unfit, parse_decimal, parse_pool_mode};

/// What reading an entry brings to light.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// What is wrong with it.
    pub(crate) complaints: Vec<String>,
    /// Its keys that are read but do not work yet.
    pub(crate) later: Vec<&'static str>,
}

/// One key of an entry.
pub(crate) struct Key<Entry: 'static> {
    pub(crate) name: &'static str,
    /// Its line in the manual.
    pub(crate) doc: &'static str,
    pub(crate) takes: Takes<Entry>,
}

/// What a key does with its value.
pub(crate) enum Takes<Entry: 'static> {
    Value(fn(&mut Entry, &str) -> Result<(), String>),
    /// It is another name of this key.
    Alias(&'static str),
    /// Nothing yet.
    Later,
}

fn parse_entry<Entry>(
    text: &str,
    keys: &[Key<Entry>],
    unknown: &str,
    entry: &mut Entry,
    findings: &mut Findings,
) {
    let find = |name: &str| keys.iter().find(|key| key.name == name);
    let pairs = pairs(text).unwrap_or_else(|malformed| {
        findings.complaints.push(malformed.as_str().to_owned());
        Vec::new()
    });
    for (name, value) in &pairs {
        let Some(mut key) = find(name) else {
            findings.complaints.push(format!("{unknown}: {name}"));
            continue;
        };
        if let Takes::Alias(of) = key.takes {
            key = find(of).unwrap_or(key);
        }
        match key.takes {
            Takes::Value(set) => findings.complaints.extend(set(entry, value).err()),
            Takes::Later | Takes::Alias(_) => findings.later.push(key.name),
        }
    }
}

const fn value<Entry>(
    name: &'static str,
    doc: &'static str,
    set: fn(&mut Entry, &str) -> Result<(), String>,
) -> Key<Entry> {
    Key { name, doc, takes: Takes::Value(set) }
}

const fn later<Entry>(name: &'static str, doc: &'static str) -> Key<Entry> {
    Key { name, doc, takes: Takes::Later }
}

const fn alias<Entry>(name: &'static str, of: &'static str, doc: &'static str) -> Key<Entry> {
    Key { name, doc, takes: Takes::Alias(of) }
}

fn put<Value>(field: &mut Value, value: Result<Value, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

/// Takes any text; whether it names anything, only the server knows.
fn parse_text(text: &str) -> Result<Option<String>, String> {
    Ok(Some(text.to_owned()))
}

fn parse_port(text: &str) -> Result<u16, String> {
    let port = parse_decimal(text).and_then(|port| u16::try_from(port).ok());
    port.filter(|&port| port > 0).ok_or_else(|| format!("invalid port: {text}"))
}

fn parse_mode(text: &str) -> Result<Option<PoolMode>, String> {
    parse_pool_mode(text).map(Some).map_err(|_| format!("invalid pool mode: {text}"))
}

/// Reads a size; PgBouncer: a negative one stands for the setting.
fn parse_size(key: &str, text: &str) -> Result<Option<u32>, String> {
    let size = parse_decimal(text).ok_or_else(|| Unfit::Malformed.why(key, text))?;
    if size < 0 {
        return Ok(None);
    }
    u32::try_from(size).map(Some).map_err(|_| Unfit::Outside(-1, u32::MAX.into()).why(key, text))
}

/// Reads a limit; PgBouncer: 0 and less stand for the setting.
fn parse_limit(key: &str, text: &str) -> Result<Option<u32>, String> {
    Ok(parse_size(key, text)?.filter(|&limit| limit > 0))
}

/// Reads whole seconds; PgBouncer: a negative number stands for the setting.
fn parse_seconds(key: &str, text: &str) -> Result<Option<Micros>, String> {
    let seconds = parse_size(key, text)?;
    Ok(seconds.map(|seconds| Micros::from(seconds) * 1_000_000))
}

/// PostgreSQL's port, and the pooler's.
const PORT: u16 = 5432;
const PORT_OF_POOLER: u16 = 6432;

#[cfg(test)]
mod tests;
