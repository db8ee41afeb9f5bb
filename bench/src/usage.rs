//! What a process has used, as Linux tells in /proc: CPU time and private memory.

use std::fs;
use std::ops::{Add, Sub};

use anyhow::{Context, Result};

/// CPU time of all threads of a process, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    pub(crate) user: f64,
    pub(crate) system: f64,
}

impl Cpu {
    /// What the process has used since it started, to the 10 ms of a clock tick.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        parse_stat(&text).with_context(|| format!("cannot understand {path}"))
    }

    /// User and system time together.
    pub(crate) fn total(self) -> f64 {
        self.user + self.system
    }
}

impl Add for Cpu {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

impl Sub for Cpu {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { user: self.user - other.user, system: self.system - other.system }
    }
}

/// What a core has spent on everything but idling, user and system, since the machine started.
pub(crate) fn core(number: usize) -> Result<Cpu> {
    let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    parse_core(&text, number).with_context(|| format!("/proc/stat does not know core {number}"))
}

/// Private memory of a process, in bytes: what would come back if it ended.
pub(crate) fn private_memory(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(parse_rollup(&text) * 1024.0)
}

/// Fields 14 and 15 of proc(5)'s stat, counted behind the program's name, which may hold blanks.
fn parse_stat(text: &str) -> Option<Cpu> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let tick = 1e6 / clock_ticks();
    let mut time = || fields.next()?.parse::<f64>().ok().map(|ticks| ticks * tick);
    Some(Cpu { user: time()?, system: time()? })
}

/// `cpuN user nice system idle iowait irq softirq …`, in clock ticks.
fn parse_core(text: &str, number: usize) -> Option<Cpu> {
    let name = format!("cpu{number} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name))?;
    let times: Vec<f64> = line.split_whitespace().map_while(|time| time.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = times.as_slice() else {
        return None;
    };
    let tick = 1e6 / clock_ticks();
    Some(Cpu { user: (user + nice) * tick, system: (system + irq + softirq) * tick })
}

/// The sum of the private lines, in kB.
fn parse_rollup(text: &str) -> f64 {
    text.lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "100 on every Linux")]
fn clock_ticks() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests;
