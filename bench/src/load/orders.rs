//! The load as a process of its own, and the end that gives it orders.
//!
//!     bench ──► start                         load ──► `PORT` of the fake server
//!     bench ──► `connect PORT CLIENTS`        load ──► `ready` when all are logged in
//!     bench ──► `count`                       load ──► `TRANSACTIONS NANOSECONDS` since its start
//!
//! Orders come on standard input; its end is the end of the load, so that none outlives its bench.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::Timespec;

use super::{Load, Turn};
use crate::child::{self, Child};

/// The life of the load's process: serve, and obey until the orders end.
pub(crate) fn obey() -> Result<()> {
    let mut load = Load::listen()?;
    let mut orders = std::io::stdin().lock();
    load.watch_orders(&orders)?;
    say(&load.port()?.to_string())?;
    let started = Instant::now();
    let mut line = [0; 256];
    loop {
        if load.turn(None)? == Turn::Served {
            continue;
        }
        // One order is on its way at a time and shorter than a pipe's page: it comes in one read.
        let length = orders.read(&mut line)?;
        let order = std::str::from_utf8(&line[..length])?;
        match order.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => return Ok(()),
            ["count"] => {
                say(&format!("{} {}", load.transactions(), started.elapsed().as_nanos()))?;
            }
            ["connect", port, clients] => {
                connect(&mut load, port.parse()?, clients.parse()?)?;
                say("ready")?;
            }
            _ => bail!("no such order: {order}"),
        }
    }
}

/// The pooler must log clients in while others still knock: a turn after each one.
fn connect(load: &mut Load, port: u16, clients: usize) -> Result<()> {
    let wanted = load.logged_in() + clients;
    for _ in 0..clients {
        load.connect(port)?;
        load.turn(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    }
    let started = Instant::now();
    while load.logged_in() < wanted {
        load.turn(Some(&Timespec { tv_sec: 0, tv_nsec: 100_000_000 }))?;
        if started.elapsed() > LOGIN_PATIENCE {
            bail!("{} of {wanted} clients are logged in", load.logged_in());
        }
    }
    Ok(())
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The commanding end of a load.
pub(crate) struct Loader {
    /// The port of the fake server.
    pub(crate) port: u16,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    _process: Child,
}

/// How far a load has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) transactions: u64,
    /// Since the start of the load.
    pub(crate) after: Duration,
}

impl Progress {
    /// Transactions and seconds between two looks.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 transactions")]
    pub(crate) fn until(&self, later: &Self) -> (f64, f64) {
        let transactions = later.transactions - self.transactions;
        (transactions as f64, (later.after - self.after).as_secs_f64())
    }
}

impl Loader {
    /// Starts a load on one core.
    pub(crate) fn start(core: usize) -> Result<Self> {
        let mut command = child::on_core(&std::env::current_exe()?, Some(core));
        command.arg("load").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Child::start(&mut command)?;
        let orders = process.stdin().context("the load has no standard input")?;
        let answers = process.stdout().context("the load has no standard output")?;
        let mut loader =
            Self { port: 0, orders, answers: BufReader::new(answers), _process: process };
        loader.port = loader.answer()?.parse()?;
        Ok(loader)
    }

    /// Opens clients to a port and waits until all are logged in and ask.
    pub(crate) fn connect(&mut self, port: u16, clients: usize) -> Result<()> {
        match self.ask(&format!("connect {port} {clients}\n"))?.as_str() {
            "ready" => Ok(()),
            other => bail!("the load said: {other}"),
        }
    }

    /// Asks how far the load has come.
    pub(crate) fn progress(&mut self) -> Result<Progress> {
        let answer = self.ask("count\n")?;
        let (transactions, nanoseconds) = answer.split_once(' ').context("half an answer")?;
        Ok(Progress {
            transactions: transactions.parse()?,
            after: Duration::from_nanos(nanoseconds.parse()?),
        })
    }

    /// An order is one write: the load takes what one read gives for a whole order.
    fn ask(&mut self, order: &str) -> Result<String> {
        self.orders.write_all(order.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            bail!("the load has ended early");
        }
        Ok(line.trim_end().to_owned())
    }
}

const LOGIN_PATIENCE: Duration = Duration::from_secs(20);
