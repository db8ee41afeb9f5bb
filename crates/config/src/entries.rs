//! The entries of `[databases]` and `[users]`: `name = key=value …`.
//!
//! Each section has a table of its keys, which drives parsing and the manual. All complaints about
//! an entry are gathered; they never repeat the entry, which may hold a password.
//!
//! Knows no files and no line numbers, and does not fill in what an entry leaves to the settings.

use std::fmt;

use crate::TEMPLATE;
use crate::conninfo::pairs;
use crate::settings::{Micros, PoolMode, Unfit, parse_decimal, parse_pool_mode};

/// One entry of `[databases]`: what clients may name, and where its servers are.
#[derive(Clone, PartialEq)]
pub struct Database {
    /// The name that clients give; `*` is the template for all other names.
    pub name: String,
    /// The database on the server; `None` means the same name.
    pub dbname: Option<String>,
    /// A host name, an address or the `/directory` of a Unix socket; `None` means
    /// `unix_socket_dir`.
    pub host: Option<String>,
    /// The port of the server.
    pub port: u16,
    /// The user of all servers, whoever the client is; `None` means the client's user.
    pub user: Option<String>,
    /// The password of `user`; never part of Debug output.
    pub password: Option<String>,
    /// Overrides `default_pool_size`; 0 means no limit.
    pub pool_size: Option<u32>,
    /// Overrides the setting `pool_mode`.
    pub pool_mode: Option<PoolMode>,
    /// Overrides the setting `query_wait_timeout`; 0 means no limit.
    pub query_wait_timeout: Option<Micros>,
    /// Overrides the setting `server_lifetime`.
    pub server_lifetime: Option<Micros>,
    /// Parameters for the StartupMessage to the server, in the order of the manual.
    pub startup: Vec<(&'static str, String)>,
}

impl Database {
    /// The database of an entry without keys.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            dbname: None,
            host: None,
            port: PORT,
            user: None,
            password: None,
            pool_size: None,
            pool_mode: None,
            query_wait_timeout: None,
            server_lifetime: None,
            startup: Vec::new(),
        }
    }

    /// The name of the database on the server; the template has none of its own.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        let own = Some(self.name.as_str()).filter(|&name| name != TEMPLATE);
        self.dbname.as_deref().or(own)
    }

    /// Adds a parameter to the StartupMessage, in the order of the manual.
    fn send(&mut self, parameter: &'static str, value: &str) -> Result<(), String> {
        self.startup.retain(|(name, _)| *name != parameter);
        self.startup.push((parameter, value.to_owned()));
        self.startup
            .sort_by_key(|(name, _)| DATABASE_KEYS.iter().position(|key| key.name == *name));
        Ok(())
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Database")
            .field("name", &self.name)
            .field("dbname", &self.dbname)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("pool_size", &self.pool_size)
            .field("pool_mode", &self.pool_mode)
            .field("query_wait_timeout", &self.query_wait_timeout)
            .field("server_lifetime", &self.server_lifetime)
            .field("startup", &self.startup)
            .finish()
    }
}

/// One entry of `[users]`: what differs for one user.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The name of the user.
    pub name: String,
    /// Overrides the pool mode of the database and of the settings.
    pub pool_mode: Option<PoolMode>,
    /// Overrides the pool size of the database and of the settings; 0 means no limit.
    pub pool_size: Option<u32>,
    /// Overrides the setting `query_wait_timeout`; 0 means no limit.
    pub query_wait_timeout: Option<Micros>,
}

impl User {
    /// The user of an entry without keys.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), pool_mode: None, pool_size: None, query_wait_timeout: None }
    }
}

/// Reads one entry of `[databases]`; what is wrong with it goes to `complaints`.
pub(crate) fn parse_database(name: &str, text: &str, complaints: &mut Vec<String>) -> Database {
    if name == CONSOLE {
        complaints.push(format!("database name \"{name}\" is reserved"));
    }
    if name.is_empty() {
        complaints.push("database name is empty".to_owned());
    }
    if name.len() > DATABASE_NAME_MAX {
        complaints.push(format!("too long db name: {name}"));
    }
    let mut database = Database::new(name);
    let unknown = "unrecognized connection parameter";
    parse_entry(text, DATABASE_KEYS, unknown, &mut database, complaints);
    database
}

/// Reads one entry of `[users]`; what is wrong with it goes to `complaints`.
pub(crate) fn parse_user(name: &str, text: &str, complaints: &mut Vec<String>) -> User {
    if name.is_empty() {
        complaints.push("user name is empty".to_owned());
    }
    if name.len() > USER_NAME_MAX {
        complaints.push(format!("too long user name: {name}"));
    }
    let mut user = User::new(name);
    parse_entry(text, USER_KEYS, "unrecognized user parameter", &mut user, complaints);
    user
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
    /// PgBouncer has this key; it is not supported yet.
    NotYet,
}

fn parse_entry<Entry>(
    text: &str,
    keys: &[Key<Entry>],
    unknown: &str,
    entry: &mut Entry,
    complaints: &mut Vec<String>,
) {
    let pairs = pairs(text).unwrap_or_else(|malformed| {
        complaints.push(malformed.as_str().to_owned());
        Vec::new()
    });
    for (name, value) in &pairs {
        let outcome = match keys.iter().find(|key| key.name == *name).map(|key| &key.takes) {
            Some(Takes::Value(set)) => set(entry, value),
            Some(Takes::NotYet) => Err(format!("{name} is not supported yet")),
            None => Err(format!("{unknown}: {name}")),
        };
        complaints.extend(outcome.err());
    }
}

const fn value<Entry>(
    name: &'static str,
    doc: &'static str,
    set: fn(&mut Entry, &str) -> Result<(), String>,
) -> Key<Entry> {
    Key { name, doc, takes: Takes::Value(set) }
}

const fn not_yet<Entry>(name: &'static str) -> Key<Entry> {
    Key { name, doc: "", takes: Takes::NotYet }
}

/// The keys of `[databases]`, in PgBouncer's order.
pub(crate) const DATABASE_KEYS: &[Key<Database>] = &[
    value("dbname", "Database on the server; by default the same name.", |database, text| {
        put(&mut database.dbname, parse_text(text))
    }),
    value(
        "host",
        "Host name, IP address or `/directory` of a Unix socket; by default `unix_socket_dir`.",
        |database, text| put(&mut database.host, parse_host(text)),
    ),
    value("port", "Port of the server; by default 5432.", |database, text| {
        put(&mut database.port, parse_port(text))
    }),
    value(
        "user",
        "User of all its servers, whoever the client is; by default the client's user.",
        |database, text| put(&mut database.user, parse_text(text)),
    ),
    value(
        "password",
        "Password of `user`; by default the one in `auth_file`.",
        |database, text| put(&mut database.password, parse_text(text)),
    ),
    not_yet("auth_user"),
    not_yet("auth_query"),
    not_yet("auth_dbname"),
    value(
        "pool_size",
        "Servers of one pool; by default `default_pool_size`, 0 means no limit.",
        |database, text| put(&mut database.pool_size, parse_size("pool_size", text)),
    ),
    not_yet("min_pool_size"),
    not_yet("reserve_pool_size"),
    not_yet("reserve_pool"),
    not_yet("connect_query"),
    value("pool_mode", "Pool mode of this database.", |database, text| {
        put(&mut database.pool_mode, parse_mode(text))
    }),
    value(
        "query_wait_timeout",
        "How long a client waits for a server, in whole seconds; 0 means no limit.",
        |database, text| {
            put(&mut database.query_wait_timeout, parse_seconds("query_wait_timeout", text))
        },
    ),
    not_yet("load_balance_hosts"),
    not_yet("max_db_connections"),
    not_yet("max_db_client_connections"),
    value(
        "server_lifetime",
        "Age from which an idle server is closed, in whole seconds; 0 means as in the settings.",
        |database, text| {
            let lifetime = parse_seconds("server_lifetime", text);
            let lifetime = lifetime.map(|lifetime| lifetime.filter(|&lifetime| lifetime > 0));
            put(&mut database.server_lifetime, lifetime)
        },
    ),
    value("client_encoding", SENT, |database, text| database.send("client_encoding", text)),
    value("datestyle", SENT, |database, text| database.send("datestyle", text)),
    value("timezone", SENT, |database, text| database.send("timezone", text)),
    value("application_name", SENT, |database, text| database.send("application_name", text)),
];

/// The keys of `[users]`, in PgBouncer's order.
pub(crate) const USER_KEYS: &[Key<User>] = &[
    value("pool_mode", "Pool mode of this user's pools.", |user, text| {
        put(&mut user.pool_mode, parse_mode(text))
    }),
    value("pool_size", "Servers of one pool of this user; 0 means no limit.", |user, text| {
        put(&mut user.pool_size, parse_size("pool_size", text))
    }),
    not_yet("reserve_pool_size"),
    not_yet("max_user_connections"),
    not_yet("max_user_client_connections"),
    not_yet("query_timeout"),
    value(
        "query_wait_timeout",
        "How long this user's clients wait for a server, in whole seconds; 0 means no limit.",
        |user, text| put(&mut user.query_wait_timeout, parse_seconds("query_wait_timeout", text)),
    ),
    not_yet("idle_transaction_timeout"),
    not_yet("transaction_timeout"),
    not_yet("client_idle_timeout"),
];

fn put<Value>(field: &mut Value, value: Result<Value, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

/// Takes any text; whether it names anything, only the server knows.
fn parse_text(text: &str) -> Result<Option<String>, String> {
    Ok(Some(text.to_owned()))
}

fn parse_host(text: &str) -> Result<Option<String>, String> {
    if text.contains(',') {
        return Err("a list of hosts is not supported yet".to_owned());
    }
    if text.starts_with('@') {
        return Err("an abstract socket as host is not supported yet".to_owned());
    }
    Ok(Some(text.to_owned()))
}

fn parse_port(text: &str) -> Result<u16, String> {
    let port = parse_decimal(text).and_then(|port| u16::try_from(port).ok());
    port.filter(|&port| port > 0).ok_or_else(|| format!("invalid port: {text}"))
}

fn parse_mode(text: &str) -> Result<Option<PoolMode>, String> {
    parse_pool_mode(text).map(Some).map_err(|unfit| match unfit {
        Unfit::NotYet => format!("pool mode {text} is not supported yet"),
        _ => format!("invalid pool mode: {text}"),
    })
}

/// Reads a size; PgBouncer: a negative one stands for the setting.
fn parse_size(key: &str, text: &str) -> Result<Option<u32>, String> {
    let size = parse_decimal(text).ok_or_else(|| Unfit::Malformed.why(key, text))?;
    if size < 0 {
        return Ok(None);
    }
    u32::try_from(size).map(Some).map_err(|_| Unfit::Outside(-1, u32::MAX.into()).why(key, text))
}

/// Reads whole seconds; PgBouncer: a negative number stands for the setting.
fn parse_seconds(key: &str, text: &str) -> Result<Option<Micros>, String> {
    let seconds = parse_size(key, text)?;
    Ok(seconds.map(|seconds| Micros::from(seconds) * 1_000_000))
}

/// What the manual says of a parameter of the StartupMessage.
const SENT: &str = "Sent to the server at login.";

/// The database that is the admin console.
const CONSOLE: &str = "pgbouncer";

/// PostgreSQL's port.
const PORT: u16 = 5432;

/// The longest name of a database, in bytes (PostgreSQL's NAMEDATALEN without the final zero).
const DATABASE_NAME_MAX: usize = 63;

/// The longest name of a user, in bytes (as in `auth_file`).
const USER_NAME_MAX: usize = 127;

#[cfg(test)]
mod tests;
