//! pgbench as the load of a real run, and its log of transactions.
//!
//!     bench ──► pgbench -l …  warm-up │ a window: CPU time │ a window: system calls │ the end
//!     pgbench ──► a line per transaction, with its end and its latency
//!
//! The figures come from the lines of a window and not from pgbench's summary, so that they and the
//! pooler's CPU time are of the same moments, without the logins.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::child::Child;
use crate::interrupt::Interrupt;
use crate::scenario::{BIG_RESULT, Scenario, Work};

/// A pgbench and a place for its files.
pub(crate) struct Pgbench {
    program: PathBuf,
    folder: TempDir,
}

/// A pgbench at work.
pub(crate) struct Playing<'a> {
    pgbench: &'a Pgbench,
    process: Child,
}

/// All transactions of a run.
#[derive(Debug, Default)]
pub(crate) struct Journal(Vec<Entry>);

/// One transaction: when it ended, since the Unix epoch, and its latency in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    end: Duration,
    latency: f64,
}

/// A time in which figures are taken, since the Unix epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    begin: Duration,
    end: Duration,
}

/// The transactions of a window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Excerpt {
    /// Latencies in milliseconds, ascending.
    latencies: Vec<f64>,
    seconds: f64,
}

impl Pgbench {
    /// Takes a program and makes a place for its files.
    pub(crate) fn new(program: PathBuf) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgweir-pgbench-").tempdir()?;
        fs::write(folder.path().join(BIG_FILE), BIG_RESULT)?;
        Ok(Self { program, folder })
    }

    /// Plays a scenario against a port of the loopback address, for whole seconds.
    pub(crate) fn play(
        &self,
        scenario: &Scenario,
        port: u16,
        length: Duration,
    ) -> Result<Playing<'_>> {
        self.forget()?;
        let mut command = Command::new(&self.program);
        command
            .args(arguments(scenario, length))
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", USER, USER])
            .env("PGPASSWORD", PASSWORD)
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.folder.path().join(COMPLAINTS))?);
        Ok(Playing { pgbench: self, process: Child::start(&mut command)? })
    }

    /// Removes the logs of the last run: their names hold the process id of that pgbench.
    fn forget(&self) -> Result<()> {
        self.logs()?.into_iter().try_for_each(|log| Ok(fs::remove_file(log)?))
    }

    fn logs(&self) -> Result<Vec<PathBuf>> {
        let entries: Vec<PathBuf> =
            fs::read_dir(self.folder.path())?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
        let is_log = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."))
        };
        Ok(entries.into_iter().filter(is_log).collect())
    }
}

impl Playing<'_> {
    /// Waits for the end and reads what happened.
    pub(crate) fn finish(mut self, interrupt: &Interrupt) -> Result<Journal> {
        let status = self.process.wait(interrupt)?;
        if !status.success() {
            let complaints = fs::read_to_string(self.pgbench.folder.path().join(COMPLAINTS))?;
            bail!("pgbench ended with {status}:\n{}", complaints.trim_end());
        }
        let mut journal = Journal::default();
        for log in self.pgbench.logs()? {
            journal.0.extend(fs::read_to_string(log)?.lines().filter_map(parse_line));
        }
        Ok(journal)
    }
}

impl Window {
    /// A window that opens now and has no end yet.
    pub(crate) fn open() -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Self { begin: now, end: now })
    }

    /// The window, ending now.
    pub(crate) fn close(self) -> Result<Self> {
        Ok(Self { end: SystemTime::now().duration_since(UNIX_EPOCH)?, ..self })
    }
}

impl Journal {
    /// The transactions that ended in a window; fails if there is none.
    pub(crate) fn within(&self, window: &Window) -> Result<Excerpt> {
        let is_inside = |entry: &&Entry| (window.begin..window.end).contains(&entry.end);
        let mut latencies: Vec<f64> =
            self.0.iter().filter(is_inside).map(|entry| entry.latency).collect();
        if latencies.is_empty() {
            bail!("no transaction ended in the time that was measured");
        }
        latencies.sort_by(f64::total_cmp);
        Ok(Excerpt { latencies, seconds: (window.end - window.begin).as_secs_f64() })
    }
}

impl Excerpt {
    /// How many there are.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 transactions")]
    pub(crate) fn transactions(&self) -> f64 {
        self.latencies.len() as f64
    }

    /// How many per second.
    pub(crate) fn throughput(&self) -> f64 {
        self.transactions() / self.seconds
    }

    /// The mean latency in milliseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.latencies.iter().sum::<f64>() / self.transactions()
    }

    /// The latency in milliseconds that this many percent of the transactions do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.latencies.len() * percent).div_ceil(100);
        self.latencies[rank.saturating_sub(1)]
    }
}

fn arguments(scenario: &Scenario, length: Duration) -> Vec<String> {
    let seconds = length.as_secs_f64().ceil();
    let (clients, threads) = (scenario.clients, scenario.clients.min(THREADS));
    let mut line = format!("-n -l --log-prefix=log -T {seconds} -c {clients} -j {threads}");
    line += match scenario.work {
        Work::Simple | Work::Idle => " -S -M simple",
        Work::Extended => " -S -M extended",
        Work::TpcB => " -b tpcb-like -M simple",
        Work::Connect | Work::ConnectScram => " -S -M simple -C",
        Work::BigResult => " -f big.sql -M simple",
    };
    line.split_whitespace().map(str::to_owned).collect()
}

/// `CLIENT NUMBER LATENCY SCRIPT SECONDS MICROSECONDS`; the latency in microseconds, or a word for
/// what failed.
fn parse_line(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [_, _, latency, _, seconds, microseconds, ..] = fields.as_slice() else { return None };
    let latency = latency.parse::<f64>().ok()? / 1000.0;
    let end = Duration::from_secs(seconds.parse().ok()?)
        + Duration::from_micros(microseconds.parse().ok()?);
    Some(Entry { end, latency })
}

/// The name of the role and of the database of all clients.
pub(crate) const USER: &str = "bench";
/// The role's password, where one is asked for.
pub(crate) const PASSWORD: &str = "bench";

const BIG_FILE: &str = "big.sql";
const COMPLAINTS: &str = "complaints";
const THREADS: usize = 2;

#[cfg(test)]
mod tests;
