//! pgbench as the load of a real run: its arguments, its summary and its log of transactions.
//!
//!     bench ──► pgbench -l …      summary ──► transactions, tps, mean      log ──► percentiles
//!
//! pgbench writes a line per transaction; of the fast ones it is told to write every fifth, so
//! that the writing does not become the load.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::child::Child;
use crate::interrupt::Interrupt;
use crate::scenario::{BIG_RESULT, Scenario, Work};

/// A pgbench and a place for its files.
pub(crate) struct Pgbench {
    program: PathBuf,
    folder: TempDir,
}

/// What a run of pgbench yields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) summary: Summary,
    /// Latencies in milliseconds, ascending.
    pub(crate) latencies: Vec<f64>,
}

/// What pgbench prints at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub(crate) transactions: f64,
    /// Per second.
    pub(crate) throughput: f64,
    /// In milliseconds.
    pub(crate) mean: f64,
}

impl Pgbench {
    pub(crate) fn new(program: PathBuf) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgweir-pgbench-").tempdir()?;
        fs::write(folder.path().join(BIG_FILE), BIG_RESULT)?;
        Ok(Self { program, folder })
    }

    /// Runs a scenario against a port of the loopback address, in whole seconds.
    pub(crate) fn run(
        &self,
        scenario: &Scenario,
        port: u16,
        length: Duration,
        interrupt: &Interrupt,
    ) -> Result<Outcome> {
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
            .stdout(fs::File::create(self.folder.path().join("out"))?)
            .stderr(fs::File::create(self.folder.path().join("err"))?);
        let status = Child::start(&mut command)?.wait(interrupt)?;
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        if !status.success() {
            bail!("pgbench ended with {status}:\n{}", read("err").trim_end());
        }
        let out = read("out");
        let summary =
            parse_summary(&out).with_context(|| format!("cannot understand pgbench:\n{out}"))?;
        Ok(Outcome { summary, latencies: self.latencies()? })
    }

    /// Removes the logs of the last run: their names hold the process id of that pgbench.
    fn forget(&self) -> Result<()> {
        for log in self.logs()? {
            fs::remove_file(log)?;
        }
        Ok(())
    }

    fn latencies(&self) -> Result<Vec<f64>> {
        let mut latencies = Vec::new();
        for log in self.logs()? {
            let text = fs::read_to_string(log)?;
            latencies.extend(text.lines().filter_map(parse_latency));
        }
        latencies.sort_by(f64::total_cmp);
        Ok(latencies)
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

impl Outcome {
    /// The latency that a share of all transactions does not exceed.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index from a share between 0 and 1"
    )]
    pub(crate) fn percentile(&self, share: f64) -> Option<f64> {
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        self.latencies.get(rank.saturating_sub(1)).copied()
    }
}

fn arguments(scenario: &Scenario, length: Duration) -> Vec<String> {
    let seconds = length.as_secs_f64().ceil();
    let (clients, threads) = (scenario.clients, scenario.clients.min(THREADS));
    let mut line = format!("-n -l --log-prefix=log -T {seconds} -c {clients} -j {threads}");
    line += match scenario.work {
        Work::Simple | Work::Idle => " -S -M simple --sampling-rate=0.2",
        Work::Extended => " -S -M extended --sampling-rate=0.2",
        Work::TpcB => " -b tpcb-like -M simple",
        Work::Connect | Work::ConnectScram => " -S -M simple -C",
        Work::BigResult => " -f big.sql -M simple",
    };
    line.split_whitespace().map(str::to_owned).collect()
}

fn parse_summary(text: &str) -> Option<Summary> {
    let value = |label: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
        rest.split([' ', '/']).next()?.parse::<f64>().ok()
    };
    Some(Summary {
        transactions: value("number of transactions actually processed: ")?,
        throughput: value("tps = ")?,
        mean: value("latency average = ")?,
    })
}

/// The third field of a line, in microseconds; a word for what failed.
fn parse_latency(line: &str) -> Option<f64> {
    Some(line.split(' ').nth(2)?.parse::<f64>().ok()? / 1000.0)
}

/// The name of the role and of the database of all clients.
pub(crate) const USER: &str = "bench";
/// The role's password, where one is asked for.
pub(crate) const PASSWORD: &str = "bench";

const BIG_FILE: &str = "big.sql";
const THREADS: usize = 2;

#[cfg(test)]
mod tests;
