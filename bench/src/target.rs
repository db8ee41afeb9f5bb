//! What is measured: who stands between clients and PostgreSQL, and how it is started.
//!
//! Every pooler reads the same settings but for the one that names its workers, so that what
//! differs in the figures is the program.

use std::fmt;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use scratch::Folder;

use crate::child::{self, Child};
use crate::usage::{self, Cpu};

/// Who stands between clients and servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// Nobody: clients talk to PostgreSQL itself.
    Direct,
    /// A bare TCP relay.
    Relay,
    /// This many PgBouncer processes that share a port and the pool size.
    PgBouncer(u32),
    /// One pgweir with this many workers.
    Pgweir(u32),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Relay => f.write_str("relay"),
            Self::PgBouncer(processes) => write!(f, "pgbouncer ×{processes}"),
            Self::Pgweir(workers) => write!(f, "pgweir/{workers}"),
        }
    }
}

/// The poolers' programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) pgbouncer: PathBuf,
    /// None: there is none to measure.
    pub(crate) pgweir: Option<PathBuf>,
}

/// What a pooler is told, beside what is the same for all.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The port of the server on the loopback address.
    pub(crate) server: u16,
    pub(crate) auth_type: &'static str,
    /// Lines of the userlist.
    pub(crate) users: String,
    /// Runs on this core only.
    pub(crate) core: Option<usize>,
}

/// A started target.
#[derive(Debug)]
pub(crate) struct Running {
    /// Where clients connect.
    pub(crate) port: u16,
    processes: Vec<Child>,
    folder: Option<Folder>,
}

impl Target {
    /// Starts it and waits until it accepts clients.
    pub(crate) fn start(self, programs: &Programs, settings: &Settings) -> Result<Running> {
        let mut running = match self {
            Self::Direct => {
                return Ok(Running { port: settings.server, processes: Vec::new(), folder: None });
            }
            Self::Relay => relay(settings)?,
            Self::PgBouncer(processes) => {
                let own = match processes {
                    1 => format!("default_pool_size = {POOL_SIZE}\n"),
                    n => format!("default_pool_size = {}\nso_reuseport = 1\n", POOL_SIZE / n),
                };
                pooler(&programs.pgbouncer, processes, &own, settings)?
            }
            Self::Pgweir(workers) => {
                let program = programs.pgweir.as_ref().context("there is no pgweir to start")?;
                let own = format!("default_pool_size = {POOL_SIZE}\nworker_threads = {workers}\n");
                pooler(program, 1, &own, settings)?
            }
        };
        running.wait_until_ready().with_context(|| format!("{self} does not start"))?;
        Ok(running)
    }
}

impl Running {
    /// The process ids; none for a direct target.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(Child::id).collect()
    }

    /// CPU time used by all processes so far.
    pub(crate) fn cpu(&self) -> Result<Cpu> {
        self.pids().into_iter().map(Cpu::of).try_fold(Cpu::default(), |sum, cpu| Ok(sum + cpu?))
    }

    /// Private memory of all processes, in bytes.
    pub(crate) fn private_memory(&self) -> Result<f64> {
        self.pids().into_iter().map(usage::private_memory).sum()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let patience = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            for process in &mut self.processes {
                if let Some(status) = process.ended()? {
                    bail!("it ended with {status}{}", self.last_words());
                }
            }
            if Instant::now() > patience {
                bail!("nothing listens on port {}", self.port);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The end of the log and of what it said on standard error.
    fn last_words(&self) -> String {
        let Some(folder) = &self.folder else {
            return String::new();
        };
        let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let said = read("stderr") + &read("log");
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(10)..].join("\n  ");
        format!(":\n  {last}")
    }
}

fn relay(settings: &Settings) -> Result<Running> {
    let port = scratch::free_port();
    let mut command = child::on_core(&std::env::current_exe()?, settings.core);
    command.args(["relay", &port.to_string(), &settings.server.to_string()]);
    Ok(Running { port, processes: vec![Child::start(&mut command)?], folder: None })
}

fn pooler(program: &Path, processes: u32, own: &str, settings: &Settings) -> Result<Running> {
    let port = scratch::free_port();
    let folder = Folder::new("bench")?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("userlist.txt"), &settings.users)?;
    std::fs::write(path("pooler.ini"), ini(folder.path(), port, own, settings))?;
    let mut children = Vec::new();
    for _ in 0..processes {
        let mut command = confined(program, settings);
        command
            .arg(path("pooler.ini"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(path("stderr"))?);
        children.push(Child::start(&mut command)?);
    }
    Ok(Running { port, processes: children, folder: Some(folder) })
}

/// What every pooler reads. Poolers write no line per connection, and none per minute.
fn ini(folder: &Path, port: u16, own: &str, settings: &Settings) -> String {
    let Settings { server, auth_type, .. } = settings;
    let folder = folder.display();
    format!(
        "[databases]\n\
         bench = host=127.0.0.1 port={server} dbname=bench\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = {auth_type}\n\
         auth_file = {folder}/userlist.txt\n\
         logfile = {folder}/log\n\
         log_connections = 0\n\
         log_disconnections = 0\n\
         log_stats = 0\n\
         pool_mode = transaction\n\
         max_client_conn = 2000\n\
         ignore_startup_parameters = extra_float_digits\n\
         {own}"
    )
}

fn confined(program: &Path, settings: &Settings) -> Command {
    let mut command = child::on_core(program, settings.core);
    scratch::unprivileged(&mut command);
    command
}

/// Servers of a pool, over all processes of a target.
const POOL_SIZE: u32 = 20;

#[cfg(test)]
mod tests;
