//! pgbench as the demo uses it: one row by its key, again and again, and what was counted.
//!
//! ```text
//! Load ──► pgbench -S … ──► its summary ──► Speed
//! ```
//!
//! Knows nothing of whom pgbench connects to: the command that it gets knows.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Unfinished;
use super::interrupt::Interrupt;

/// What pgbench is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// How many clients work at the same time.
    pub(crate) clients: usize,
    /// Whether each transaction has a connection of its own.
    pub(crate) connects: bool,
    /// For how long, in seconds; pgbench counts in what its clients need to connect at first.
    pub(crate) seconds: u64,
}

/// What pgbench has measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed {
    /// Transactions per second, without the time that the clients need to connect at first.
    pub(crate) per_second: f64,
    /// What a transaction takes on average, in milliseconds.
    pub(crate) milliseconds: f64,
}

impl Load {
    /// Runs a prepared pgbench to its end, and calls `look` some fifty times a second meanwhile.
    ///
    /// # Errors
    /// When pgbench fails, the demo is asked to end, or `look` fails.
    pub(crate) fn run(
        self,
        mut pgbench: Command,
        interrupt: &Interrupt,
        look: impl FnMut() -> Result<(), Unfinished>,
    ) -> Result<Speed, Unfinished> {
        self.fill_in(&mut pgbench);
        let patience = Duration::from_secs(self.seconds) + PATIENCE;
        self.read(&run(pgbench, patience, interrupt, look)?)
    }

    fn fill_in(self, pgbench: &mut Command) {
        pgbench.args(["--no-vacuum", "--select-only", "--jobs=2"]);
        pgbench.arg(format!("--client={}", self.clients));
        pgbench.arg(format!("--time={}", self.seconds));
        if self.connects {
            pgbench.arg("--connect");
        }
    }

    /// Reads the summary. Until PostgreSQL 13 it had two lines with `tps`, then the one that fits.
    fn read(self, summary: &str) -> Result<Speed, Unfinished> {
        let unfit = if self.connects { "(excluding " } else { "(including " };
        let mut lines = summary.lines().filter(|line| !line.contains(unfit));
        let per_second = lines.clone().find_map(|line| number(line, "tps = "));
        let milliseconds = lines.find_map(|line| number(line, "latency average = "));
        match (per_second, milliseconds) {
            (Some(per_second), Some(milliseconds)) => Ok(Speed { per_second, milliseconds }),
            _ => Err(Unfinished::Failed(format!("pgbench gave no figures: {}", summary.trim()))),
        }
    }
}

fn number(line: &str, label: &str) -> Option<f64> {
    let number: f64 = line.strip_prefix(label)?.split(' ').next()?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Runs a pgbench to its end and returns what it says; calls `look` some fifty times a second
/// meanwhile.
///
/// # Errors
/// When it fails or takes too long, the demo is asked to end, or `look` fails.
pub(crate) fn run(
    mut pgbench: Command,
    patience: Duration,
    interrupt: &Interrupt,
    mut look: impl FnMut() -> Result<(), Unfinished>,
) -> Result<String, Unfinished> {
    pgbench.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C is for us; pgbench is told by us.
    pgbench.process_group(0).env("LC_ALL", "C");
    let mut running = Running(pgbench.spawn().map_err(Unfinished::io("starting pgbench"))?);
    let deadline = Instant::now() + patience;
    while !running.has_ended()? {
        interrupt.sleep(GLANCE)?;
        look()?;
        if Instant::now() >= deadline {
            return Err(Unfinished::Failed("pgbench does not come to its end".into()));
        }
    }
    running.said()
}

/// A pgbench that ends with its owner.
struct Running(Child);

impl Running {
    fn has_ended(&mut self) -> Result<bool, Unfinished> {
        let ended = self.0.try_wait().map_err(Unfinished::io("waiting for pgbench"))?;
        Ok(ended.is_some())
    }

    /// What an ended pgbench has written, which is less than a pipe holds.
    fn said(&mut self) -> Result<String, Unfinished> {
        let (mut summary, mut complaints) = (String::new(), String::new());
        let status = self.0.wait().map_err(Unfinished::io("waiting for pgbench"))?;
        if let (Some(stdout), Some(stderr)) = (&mut self.0.stdout, &mut self.0.stderr) {
            let read = stdout.read_to_string(&mut summary);
            read.and_then(|_| stderr.read_to_string(&mut complaints))
                .map_err(Unfinished::io("reading what pgbench says"))?;
        }
        if status.success() {
            return Ok(summary);
        }
        let first = complaints.lines().take(COMPLAINTS_MAX).collect::<Vec<_>>().join("\n");
        Err(Unfinished::Failed(format!("pgbench failed: {first}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What pgbench may need for connecting all clients and for its last transactions.
const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);
/// Two hundred clients complain two hundred times.
const COMPLAINTS_MAX: usize = 5;

#[cfg(test)]
mod tests;
