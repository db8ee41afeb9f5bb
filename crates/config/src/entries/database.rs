//! `[databases]`: what clients may name, and where its servers are.

use std::fmt;

use super::{
    Findings, Key, PORT, alias, later, parse_entry, parse_limit, parse_mode, parse_port,
    parse_seconds, parse_size, parse_text, put, value,
};
use crate::TEMPLATE;
use crate::named::HasName;
use crate::settings::{Micros, PoolMode};

/// One entry of `[databases]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Database {
    /// The name that clients give; `*` is the template for all other names.
    pub name: String,
    /// The database on the server; `None` means the same name.
    pub dbname: Option<String>,
    /// A host name, an address or the `/directory` or `@abstract` one of a Unix socket; `None`
    /// means `unix_socket_dir`.
    pub host: Option<String>,
    /// The port of the server.
    pub port: u16,
    /// The user of all servers, whoever the client is; `None` means the client's user.
    pub user: Option<String>,
    /// The password of `user`.
    pub password: Option<Password>,
    /// Overrides `default_pool_size`; 0 means no limit.
    pub pool_size: Option<u32>,
    /// Overrides the setting `min_pool_size`.
    pub min_pool_size: Option<u32>,
    /// Overrides the setting `reserve_pool_size`.
    pub reserve_pool_size: Option<u32>,
    /// Overrides the setting `max_db_connections`.
    pub max_db_connections: Option<u32>,
    /// Overrides the setting `max_db_client_connections`.
    pub max_db_client_connections: Option<u32>,
    /// SQL that every server runs when it has logged in.
    pub connect_query: Option<String>,
    /// Overrides the setting `pool_mode`.
    pub pool_mode: Option<PoolMode>,
    /// Overrides the setting `query_wait_timeout`; 0 means no limit.
    pub query_wait_timeout: Option<Micros>,
    /// Overrides the setting `server_lifetime`.
    pub server_lifetime: Option<Micros>,
    /// Parameters for the StartupMessage to the server, in the order of the manual.
    pub startup: Vec<(&'static str, String)>,
}

/// A password; Debug output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("…")
    }
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
            min_pool_size: None,
            reserve_pool_size: None,
            max_db_connections: None,
            max_db_client_connections: None,
            connect_query: None,
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

impl HasName for Database {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads one entry of `[databases]`.
pub(crate) fn parse_database(name: &str, text: &str, findings: &mut Findings) -> Database {
    if name == CONSOLE {
        findings.complaints.push(format!("database name \"{name}\" is reserved"));
    }
    if name.is_empty() {
        findings.complaints.push("database name is empty".to_owned());
    }
    if name.len() > NAME_MAX {
        findings.complaints.push(format!("too long db name: {name}"));
    }
    let mut database = Database::new(name);
    let unknown = "unrecognized connection parameter";
    parse_entry(text, DATABASE_KEYS, unknown, &mut database, findings);
    if let Some(first) = database.host.as_deref().and_then(first_of_many) {
        database.host = Some(first);
        findings.later.push("all hosts but the first");
    }
    database
}

/// The first of a list of hosts.
fn first_of_many(host: &str) -> Option<String> {
    host.split_once(',').map(|(first, _)| first.trim().to_owned())
}

/// The keys of `[databases]`, in PgBouncer's order.
pub(crate) const DATABASE_KEYS: &[Key<Database>] = &[
    value("dbname", "Database on the server; by default the same name.", |database, text| {
        put(&mut database.dbname, parse_text(text))
    }),
    value(
        "host",
        "Host name, IP address, or `/directory` or `@abstract` name of a Unix socket; by default \
         `unix_socket_dir`. Of a list of hosts only the first is used yet.",
        |database, text| put(&mut database.host, parse_text(text)),
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
        |database, text| put(&mut database.password, Ok(Some(Password(text.to_owned())))),
    ),
    later("auth_user", "Role that runs `auth_query` for this database."),
    later("auth_query", "Query for the password of a user that `auth_file` does not name."),
    later("auth_dbname", "Database in which `auth_query` runs."),
    value(
        "pool_size",
        "Servers of one pool; by default `default_pool_size`, 0 means no limit.",
        |database, text| put(&mut database.pool_size, parse_size("pool_size", text)),
    ),
    value(
        "min_pool_size",
        "Servers that a pool keeps open; by default `min_pool_size`.",
        |database, text| put(&mut database.min_pool_size, parse_size("min_pool_size", text)),
    ),
    value(
        "reserve_pool_size",
        "Further servers of a pool whose clients wait for long; by default `reserve_pool_size`.",
        |database, text| {
            put(&mut database.reserve_pool_size, parse_size("reserve_pool_size", text))
        },
    ),
    alias("reserve_pool", "reserve_pool_size", "Another name of `reserve_pool_size`."),
    value(
        "connect_query",
        "SQL that every server runs when it has logged in; its errors are only logged.",
        |database, text| put(&mut database.connect_query, parse_text(text)),
    ),
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
    later("load_balance_hosts", "Which host of a list to connect to."),
    value(
        "max_db_connections",
        "Servers of all its pools together; by default, and when 0, `max_db_connections`.",
        |database, text| {
            put(&mut database.max_db_connections, parse_limit("max_db_connections", text))
        },
    ),
    value(
        "max_db_client_connections",
        "Clients; by default, and when 0, `max_db_client_connections`.",
        |database, text| {
            let limit = parse_limit("max_db_client_connections", text);
            put(&mut database.max_db_client_connections, limit)
        },
    ),
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

/// What the manual says of a parameter of the StartupMessage.
const SENT: &str = "Sent to the server at login.";

/// The database that is the admin console.
const CONSOLE: &str = "pgbouncer";

/// The longest name of a database, in bytes (PostgreSQL's NAMEDATALEN without the final zero).
const NAME_MAX: usize = 63;
