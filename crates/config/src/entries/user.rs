//! `[users]`: what differs for one user.

use super::{
    Findings, Key, parse_entry, parse_limit, parse_mode, parse_seconds, parse_size, put, value,
};
use crate::named::HasName;
use crate::settings::{Micros, PoolMode};

/// One entry of `[users]`. What is said of pools and servers counts for the pools whose servers log
/// in as this user; what is said of clients, for the clients that do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct User {
    /// The name of the user.
    pub name: String,
    /// Overrides the pool mode of the database and of the settings.
    pub pool_mode: Option<PoolMode>,
    /// Overrides the pool size of the database and of the settings; 0 means no limit.
    pub pool_size: Option<u32>,
    /// Overrides the reserve of the database and of the settings.
    pub reserve_pool_size: Option<u32>,
    /// Overrides the setting `max_user_connections`.
    pub max_user_connections: Option<u32>,
    /// Overrides the setting `max_user_client_connections`.
    pub max_user_client_connections: Option<u32>,
    /// Overrides the setting `query_timeout`; 0 means no limit.
    pub query_timeout: Option<Micros>,
    /// Overrides the setting `query_wait_timeout`; 0 means no limit.
    pub query_wait_timeout: Option<Micros>,
    /// Overrides the setting `idle_transaction_timeout`; 0 means no limit.
    pub idle_transaction_timeout: Option<Micros>,
    /// Overrides the setting `transaction_timeout`; 0 means no limit.
    pub transaction_timeout: Option<Micros>,
    /// Overrides the setting `client_idle_timeout`; 0 means no limit.
    pub client_idle_timeout: Option<Micros>,
}

impl User {
    /// The user of an entry without keys.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

impl HasName for User {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Reads one entry of `[users]`.
pub(crate) fn parse_user(name: &str, text: &str, findings: &mut Findings) -> User {
    if name.is_empty() {
        findings.complaints.push("user name is empty".to_owned());
    }
    if name.len() > NAME_MAX {
        findings.complaints.push(format!("too long user name: {name}"));
    }
    let mut user = User::new(name);
    parse_entry(text, USER_KEYS, "unrecognized user parameter", &mut user, findings);
    user
}

/// The keys of `[users]`, in PgBouncer's order.
pub(crate) const USER_KEYS: &[Key<User>] = &[
    value("pool_mode", "Pool mode of this user's pools.", |user, text| {
        put(&mut user.pool_mode, parse_mode(text))
    }),
    value("pool_size", "Servers of one pool of this user; 0 means no limit.", |user, text| {
        put(&mut user.pool_size, parse_size("pool_size", text))
    }),
    value(
        "reserve_pool_size",
        "Further servers of a pool of this user whose clients wait for long.",
        |user, text| put(&mut user.reserve_pool_size, parse_size("reserve_pool_size", text)),
    ),
    value(
        "max_user_connections",
        "Servers of all pools of this user together; 0 means as in the settings.",
        |user, text| put(&mut user.max_user_connections, parse_limit("max_user_connections", text)),
    ),
    value(
        "max_user_client_connections",
        "Clients of this user; 0 means as in the settings.",
        |user, text| {
            let limit = parse_limit("max_user_client_connections", text);
            put(&mut user.max_user_client_connections, limit)
        },
    ),
    value(
        "query_timeout",
        "How long a query may take, in whole seconds; 0 means no limit.",
        |user, text| put(&mut user.query_timeout, parse_seconds("query_timeout", text)),
    ),
    value(
        "query_wait_timeout",
        "How long this user's clients wait for a server, in whole seconds; 0 means no limit.",
        |user, text| put(&mut user.query_wait_timeout, parse_seconds("query_wait_timeout", text)),
    ),
    value(
        "idle_transaction_timeout",
        "How long a client may be silent within a transaction, in whole seconds; 0 means no limit.",
        |user, text| {
            let timeout = parse_seconds("idle_transaction_timeout", text);
            put(&mut user.idle_transaction_timeout, timeout)
        },
    ),
    value(
        "transaction_timeout",
        "How long a transaction may take, in whole seconds; 0 means no limit.",
        |user, text| put(&mut user.transaction_timeout, parse_seconds("transaction_timeout", text)),
    ),
    value(
        "client_idle_timeout",
        "How long a client may be silent without a server, in whole seconds; 0 means no limit.",
        |user, text| put(&mut user.client_idle_timeout, parse_seconds("client_idle_timeout", text)),
    ),
];

/// The longest name of a user, in bytes (as in `auth_file`).
const NAME_MAX: usize = 127;
