//! The limit of file descriptors: raising it, and saying when it is too low.
//!
//! ```text
//! clients + servers of every pool + our own ──► expected ──► compared with the hard limit
//! ```
//!
//! What PgBouncer expects is what can be counted before anybody has come: every user in every
//! database. Knows no sockets.

use config::{Database, Settings};
use engine::Setup;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of descriptors that the process may have as far as it can: silent and parting
/// connections take some beyond those that can be expected.
pub(crate) fn raise(setup: &Setup) {
    let limit = getrlimit(Resource::Nofile);
    let expected = expected(setup);
    let soft = limit.current.unwrap_or(u64::MAX);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let clients = setup.config.pgbouncer.max_client_conn;
    log::info!(
        "kernel file descriptor limit: {soft} (hard: {hard}); max_client_conn: {clients}, \
         max expected fd use: {expected}"
    );
    if soft < hard
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
    {
        log::warn!("could not raise the file descriptor limit to {hard}: {error}");
    }
    if let Some(warning) = warning(hard, expected, clients) {
        log::warn!("{warning}");
    }
}

/// Warns when a reload wants more clients than the process has descriptors for.
pub(crate) fn check(old: &Settings, new: &Settings) {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let clients = new.max_client_conn;
    if clients > old.max_client_conn
        && let Some(warning) = warning(hard, clients.into(), clients)
    {
        log::warn!("{warning}");
    }
}

fn warning(hard: u64, expected: u64, clients: u32) -> Option<String> {
    if hard < u64::from(clients).saturating_add(OWN) {
        Some(format!(
            "max_client_conn is {clients}, but the hard limit of file descriptors is {hard}: \
             clients will be kept waiting before that many are connected; raise the limit (ulimit \
             -Hn, LimitNOFILE) or lower max_client_conn"
        ))
    } else if hard < expected {
        Some(format!(
            "the hard limit of {hard} file descriptors may be too low: {expected} may be needed, \
             if every pool fills up"
        ))
    } else {
        None
    }
}

/// The clients, the servers of every database and user, and some for ourselves.
fn expected(setup: &Setup) -> u64 {
    let settings = &setup.config.pgbouncer;
    let users = setup.userlist.len() as u64;
    let servers = setup.config.databases.iter().map(|database| servers(database, settings, users));
    let servers = servers.fold(0, u64::saturating_add);
    u64::from(settings.max_client_conn).saturating_add(servers).saturating_add(OWN)
}

/// The most servers of one database, its reserve included.
fn servers(database: &Database, settings: &Settings, users: u64) -> u64 {
    let size = u64::from(database.pool_size.unwrap_or(settings.default_pool_size));
    let reserve = u64::from(database.reserve_pool_size.unwrap_or(settings.reserve_pool_size));
    let pools = if database.user.is_some() { 1 } else { users };
    let all = (size + reserve).saturating_mul(pools);
    match database.max_db_connections.unwrap_or(settings.max_db_connections) {
        0 => all,
        // A pool without a limit of its own has at least this one.
        most if size == 0 => most.into(),
        most => all.min(most.into()),
    }
}

/// Descriptors for the log, epoll, mailboxes, listeners and the like.
const OWN: u64 = 100;

#[cfg(test)]
mod tests;
