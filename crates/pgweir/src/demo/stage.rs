//! The stage: a throw-away PostgreSQL with some rows, and pgweir in front of it.
//!
//! ```text
//! Programs ──► PostgreSQL ──► a database and its rows ──► pgweir ──► ready
//! ```
//!
//! By TCP every user of the machine could come, so the superuser can come by the Unix socket only,
//! whose folder is closed to others. The demo's own role may do nothing outside its database.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use scratch::{Options, Postgres, Programs};

use super::interrupt::Interrupt;
use super::pooler::{Pooler, Settings};
use super::{Unfinished, pgbench};

/// Everything that runs for the demo; dropping it leaves nothing behind.
pub(crate) struct Stage {
    // Dropped in this order: pgweir's files are in PostgreSQL's folder.
    pub(crate) pooler: Pooler,
    pub(crate) postgres: Postgres,
}

/// Whom clients connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// PostgreSQL itself.
    Direct,
    /// pgweir, which passes them on.
    Pooled,
}

impl Way {
    /// Returns what the way is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Pooled => "pgweir",
        }
    }
}

impl Stage {
    /// Starts everything for this many clients, served by this many servers.
    ///
    /// # Errors
    /// When something is not installed or does not start; when the demo is asked to end.
    pub(crate) fn set(
        clients: usize,
        servers: usize,
        interrupt: &Interrupt,
    ) -> Result<Self, Unfinished> {
        let programs = Programs::find()?;
        check_pgbench(&programs)?;
        let postgres = Postgres::start(&programs, &options(clients))?;
        fill(&postgres, interrupt)?;
        // The demo's clients are not the only ones: whoever tries it out is one too.
        let settings = Settings { name: NAME, servers, clients: clients + OTHERS };
        let pooler = Pooler::start(&postgres, settings, interrupt)?;
        Ok(Self { pooler, postgres })
    }

    /// Prepares a pgbench that connects in one of the ways, by Unix socket; the `application_name`
    /// of its clients is the name of the way.
    pub(crate) fn pgbench(&self, way: Way) -> Command {
        let mut command = self.postgres.client("pgbench");
        command.env("PGPORT", self.port(way).to_string());
        command.env("PGUSER", NAME).env("PGDATABASE", NAME).env("PGAPPNAME", way.name());
        command
    }

    /// Returns a command for the terminal that connects in one of the ways, by TCP.
    pub(crate) fn psql_by_tcp(&self, way: Way) -> String {
        format!("{} -h 127.0.0.1 -p {} -U {NAME} {NAME}", self.psql(), self.port(way))
    }

    /// Returns a command for the terminal that connects in one of the ways, by Unix socket.
    pub(crate) fn psql_by_unix(&self, way: Way) -> String {
        format!("{} {NAME}", self.psql_to_socket(way))
    }

    /// Returns a command for the terminal that shows pgweir's pools.
    pub(crate) fn psql_to_console(&self) -> String {
        format!("{} pgbouncer -c 'SHOW POOLS'", self.psql_to_socket(Way::Pooled))
    }

    /// Waits until the demo is asked to end.
    ///
    /// # Errors
    /// When pgweir ends before.
    pub(crate) fn wait(&mut self, interrupt: &Interrupt) -> Result<(), Unfinished> {
        while interrupt.sleep(GLANCE).is_ok() {
            if self.pooler.has_ended()? {
                return Err(Unfinished::Failed("pgweir has ended by itself".into()));
            }
        }
        Ok(())
    }

    fn port(&self, way: Way) -> u16 {
        match way {
            Way::Direct => self.postgres.port,
            Way::Pooled => self.pooler.port,
        }
    }

    fn psql_to_socket(&self, way: Way) -> String {
        let folder = word(&self.postgres.socket_dir);
        format!("{} -h {folder} -p {} -U {NAME}", self.psql(), self.port(way))
    }

    /// The name is enough if a shell finds it.
    fn psql(&self) -> String {
        let path = env::var_os("PATH").unwrap_or_default();
        if env::split_paths(&path).any(|folder| folder.join("psql").is_file()) {
            return "psql".into();
        }
        word(&self.postgres.programs.program("psql"))
    }
}

fn check_pgbench(programs: &Programs) -> Result<(), Unfinished> {
    if programs.program("pgbench").is_file() {
        return Ok(());
    }
    Err(Unfinished::Failed(format!(
        "pgbench was not found in {}, where the rest of PostgreSQL {} is; install it (Debian: \
         apt-get install postgresql, Red Hat: dnf install postgresql-contrib), or set \
         PGWEIR_PG_BIN to the folder of a complete PostgreSQL",
        programs.bin.display(),
        programs.release,
    )))
}

fn options(clients: usize) -> Options {
    let rules = [
        "local all all trust".to_owned(),
        format!("host {NAME} {NAME} 127.0.0.1/32 trust"),
        "host all all all reject".to_owned(),
    ];
    let connections = u32::try_from(clients + OTHERS).unwrap_or(u32::MAX);
    Options { rules: rules.into(), max_connections: connections, ..Options::default() }
}

fn fill(postgres: &Postgres, interrupt: &Interrupt) -> Result<(), Unfinished> {
    postgres.psql(&format!("CREATE ROLE {NAME} LOGIN; CREATE DATABASE {NAME} OWNER {NAME}"))?;
    let mut command = postgres.client("pgbench");
    command.args(["--initialize", "--quiet"]).env("PGUSER", NAME).env("PGDATABASE", NAME);
    pgbench::run(command, PATIENCE, interrupt, || Ok(())).map(drop)
}

/// A path as one word of a shell's command.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The demo's database and role.
const NAME: &str = "demo";
/// Clients beside those that are measured.
const OTHERS: usize = 50;
/// What filling the tables may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
