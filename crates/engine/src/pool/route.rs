//! From the names that a client gives to the pool that serves it.

use std::sync::Arc;

use auth::Secret;
use config::{Database, PoolMode};

use crate::command::Address;
use crate::mail::PoolKey;
use crate::setup::Setup;

/// The name of the console's database (PgBouncer).
pub(crate) const CONSOLE: &str = "pgbouncer";

/// PostgreSQL cuts names at this many bytes.
pub(crate) const NAME_MAX: usize = 63;

/// Everything that a pool takes from the configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) address: Address,
    /// The database on the server.
    pub(crate) dbname: String,
    /// Parameters of the server's StartupMessage, `database` and `user` aside.
    pub(crate) startup: Vec<(&'static str, String)>,
    /// SQL that every server runs when it has logged in.
    pub(crate) connect_query: Option<String>,
    /// The password of the entry, when it forces the user.
    pub(crate) forced: Option<Secret>,
    pub(crate) mode: PoolMode,
    /// `server_round_robin`.
    pub(crate) round_robin: bool,
    /// The most servers; 0 means no limit.
    pub(crate) size: u32,
    /// How many more there may be when a client has waited for `reserve_pool_timeout`.
    pub(crate) reserve: u32,
    /// How many are kept open.
    pub(crate) minimum: u32,
    /// Whether the database forces its user.
    pub(crate) forces_user: bool,
    /// The most servers of the database and of the user; 0 means no limit.
    pub(crate) most_of_database: u32,
    pub(crate) most_of_user: u32,
    /// What the database says, microseconds; 0 means no limit. The user of a client goes first.
    pub(crate) query_wait_timeout: u64,
    /// Microseconds; 0 means that a server is used once.
    pub(crate) server_lifetime: u64,
    /// How long a query, a transaction, and the silence of a client within one may last, in
    /// microseconds; 0 means no limit.
    pub(crate) query_timeout: u64,
    pub(crate) transaction_timeout: u64,
    pub(crate) idle_transaction_timeout: u64,
}

impl Target {
    /// Whether servers opened for `other` are connected to something else, or as somebody else.
    pub(crate) fn leads_elsewhere(&self, other: &Self) -> bool {
        (&self.address, &self.dbname, &self.forced, &self.connect_query)
            != (&other.address, &other.dbname, &other.forced, &other.connect_query)
    }
}

/// The entry of the configuration for a database that clients name; the one called `*` stands for
/// all that have none.
pub(crate) fn entry<'a>(setup: &'a Setup, database: &str) -> Option<&'a Database> {
    setup.config.find_database(database).or_else(|| setup.config.template())
}

/// The pool for a login user: a database with a forced user has one pool for all.
pub(crate) fn key(entry: &Database, database: &str, user: &Arc<str>) -> PoolKey {
    let user =
        entry.user.as_ref().map_or_else(|| Arc::clone(user), |forced| forced.as_str().into());
    PoolKey { database: database.into(), user }
}

/// What the configuration says about a pool; `None` when its database is not there any more.
pub(crate) fn target(setup: &Setup, key: &PoolKey) -> Option<Target> {
    let entry = entry(setup, &key.database)?;
    let settings = &setup.config.pgbouncer;
    let user = setup.config.user(&key.user);
    let size = user
        .and_then(|user| user.pool_size)
        .or(entry.pool_size)
        .unwrap_or(settings.default_pool_size);
    let minimum = entry.min_pool_size.unwrap_or(settings.min_pool_size);
    Some(Target {
        address: address(setup, entry),
        dbname: entry.dbname.clone().unwrap_or_else(|| key.database.to_string()),
        startup: entry.startup.clone(),
        connect_query: entry.connect_query.clone(),
        forced: forced_secret(entry, key),
        mode: user
            .and_then(|user| user.pool_mode)
            .or(entry.pool_mode)
            .unwrap_or(settings.pool_mode),
        round_robin: settings.server_round_robin,
        size,
        reserve: user
            .and_then(|user| user.reserve_pool_size)
            .or(entry.reserve_pool_size)
            .unwrap_or(settings.reserve_pool_size),
        minimum: if size == 0 { minimum } else { minimum.min(size) },
        forces_user: entry.user.is_some(),
        most_of_database: entry.max_db_connections.unwrap_or(settings.max_db_connections),
        most_of_user: user
            .and_then(|user| user.max_user_connections)
            .unwrap_or(settings.max_user_connections),
        query_wait_timeout: entry.query_wait_timeout.unwrap_or(settings.query_wait_timeout),
        server_lifetime: entry.server_lifetime.unwrap_or(settings.server_lifetime),
        query_timeout: user.and_then(|user| user.query_timeout).unwrap_or(settings.query_timeout),
        transaction_timeout: user
            .and_then(|user| user.transaction_timeout)
            .unwrap_or(settings.transaction_timeout),
        idle_transaction_timeout: user
            .and_then(|user| user.idle_transaction_timeout)
            .unwrap_or(settings.idle_transaction_timeout),
    })
}

/// The password with which a pool logs in to its servers: that of the entry when it forces the
/// user, else that of `auth_file`.
pub(crate) fn secret(setup: &Setup, key: &PoolKey) -> Option<Secret> {
    let entry = entry(setup, &key.database)?;
    forced_secret(entry, key).or_else(|| setup.userlist.find(key.user.as_bytes()).cloned())
}

fn forced_secret(entry: &Database, key: &PoolKey) -> Option<Secret> {
    let forced = entry.user.as_deref() == Some(&key.user);
    let own = entry.password.as_ref().filter(|password| forced && !password.0.is_empty());
    own.map(|password| Secret::parse(password.0.as_bytes()))
}

/// Where the servers of a database listen; without a host, on the Unix socket of
/// `unix_socket_dir`.
fn address(setup: &Setup, entry: &Database) -> Address {
    let dir = setup.config.pgbouncer.unix_socket_dir.as_deref().unwrap_or("/tmp");
    let unix = |dir: &str| Address::Unix { path: format!("{dir}/.s.PGSQL.{}", entry.port) };
    match entry.host.as_deref() {
        None | Some("") => unix(dir),
        Some(dir) if dir.starts_with(['/', '@']) => unix(dir),
        Some(host) => Address::Tcp { host: host.to_owned(), port: entry.port },
    }
}

#[cfg(test)]
impl Target {
    /// One for tests: a database `app` at the host `db`, without limits but for its size.
    pub(crate) fn sample() -> Self {
        Self {
            address: Address::Tcp { host: "db".into(), port: 5432 },
            dbname: "app".into(),
            startup: Vec::new(),
            connect_query: None,
            forced: None,
            mode: PoolMode::Transaction,
            round_robin: false,
            size: 10,
            reserve: 0,
            minimum: 0,
            forces_user: false,
            most_of_database: 0,
            most_of_user: 0,
            query_wait_timeout: 0,
            server_lifetime: 0,
            query_timeout: 0,
            transaction_timeout: 0,
            idle_transaction_timeout: 0,
        }
    }
}
