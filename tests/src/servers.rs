//! The servers behind the pooler.
//!
//! One server of each version is shared by all tests of a process; it ends with the process. What
//! restarts a server, or changes how it authenticates, starts its own.

use std::sync::Mutex;

use scratch::{Options, Postgres, Programs};

/// Returns the shared server of a major version, which trusts everybody.
///
/// # Panics
/// If it cannot be started.
pub fn server(major: u32) -> &'static Postgres {
    static SHARED: Mutex<Vec<(u32, &'static Postgres)>> = Mutex::new(Vec::new());
    let mut shared = SHARED.lock().expect("no test has panicked here");
    if let Some((_, server)) = shared.iter().find(|(version, _)| *version == major) {
        return server;
    }
    // Its leash ends it and removes its files when this process ends.
    let server: &'static Postgres = Box::leak(Box::new(own(major, Options::default())));
    shared.push((major, server));
    server
}

/// Starts a server for one test alone.
///
/// # Panics
/// If it cannot be started.
pub fn own(major: u32, mut options: Options) -> Postgres {
    options.max_connections = options.max_connections.max(200);
    Programs::find_major(major)
        .and_then(|programs| Postgres::start(&programs, &options))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Makes an empty database for one test on a server, and returns its name.
///
/// # Panics
/// If there is such a database already.
pub fn database<'a>(server: &Postgres, name: &'a str) -> &'a str {
    sql(server, &format!("CREATE DATABASE {name}"));
    name
}

pub(crate) fn sql(server: &Postgres, text: &str) -> String {
    server.psql(text).unwrap_or_else(|error| panic!("{error}"))
}
