//! System calls of running processes, counted by name with `perf stat` on the kernel's tracepoints.
//!
//!     bench ──► perf stat -p PIDS -- sh      sh ──► a line: the counting has begun
//!     bench ──► a line, when it has seen enough      perf ──► the table
//!
//! The counting hardly slows the traced program, but it is a pass of its own all the same. All
//! calls are counted together, and those that a pooler may make often by name too: perf takes many
//! seconds to let go of every tracepoint there is.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::child::Child;

/// Calls by name, the rest as `other`; how many, or how many per transaction.
pub(crate) type Calls = BTreeMap<String, f64>;

/// A counting that has begun.
pub(crate) struct Counting(Child);

impl Counting {
    /// Begins to count the calls of all threads of these processes; None if perf cannot.
    pub(crate) fn start(pids: &[u32]) -> Result<Option<Self>> {
        if pids.is_empty() || !can_count() {
            return Ok(None);
        }
        let named = NAMES
            .iter()
            .filter(|name| Path::new(TRACEPOINTS).join(format!("sys_enter_{name}")).exists());
        let events: Vec<String> = named.map(|name| format!("{PREFIX}{name}")).collect();
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let mut command = Command::new("perf");
        command
            .args(["stat", "-x", ",", "-e", ALL, "-e", &events.join(","), "-p", &pids.join(",")])
            // perf starts its command when the counters run, and stops them at its end.
            .args(["--", "sh", "-c", "echo; read -r _ || :"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut perf = Child::start(&mut command)?;
        let mut out = perf.stdout().context("perf has no standard output")?;
        // perf gives up when a thread ends while it looks: then this counting is lost, no more.
        Ok(out.read_exact(&mut [0]).is_ok().then_some(Self(perf)))
    }

    /// Ends the counting.
    pub(crate) fn stop(mut self) -> Result<Calls> {
        let mut shell = self.0.stdin().context("perf has no standard input")?;
        shell.write_all(b"\n")?;
        drop(shell);
        // perf writes its table to standard error.
        let mut table = String::new();
        self.0.stderr().context("perf has no standard error")?.read_to_string(&mut table)?;
        Ok(parse(&table))
    }
}

/// Whether perf is there and allowed to count.
pub(crate) fn can_count() -> bool {
    Command::new("perf")
        .args(["stat", "-e", ALL, "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Lines of `COUNT,UNIT,EVENT,…`.
fn parse(table: &str) -> Calls {
    let mut all = 0.0;
    let mut calls = Calls::new();
    for line in table.lines() {
        let mut fields = line.split(',');
        let (Some(count), Some(_unit), Some(event)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Ok(count) = count.parse::<f64>() else { continue };
        if event == ALL {
            all = count;
        } else if let Some(name) = event.strip_prefix(PREFIX) {
            calls.insert(name.to_owned(), count);
        }
    }
    // Threads are let go one after the other: the sum of the named may be a few calls ahead.
    let other = all - calls.values().sum::<f64>();
    calls.insert("other".to_owned(), other);
    calls.retain(|_, count| *count > 0.0);
    calls
}

const ALL: &str = "raw_syscalls:sys_enter";
const PREFIX: &str = "syscalls:sys_enter_";
const TRACEPOINTS: &str = "/sys/kernel/tracing/events/syscalls";

/// Architectures differ in which of them they have.
const NAMES: [&str; 31] = [
    "accept",
    "accept4",
    "close",
    "connect",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fcntl",
    "futex",
    "getpeername",
    "getsockname",
    "getsockopt",
    "io_uring_enter",
    "madvise",
    "mmap",
    "munmap",
    "poll",
    "ppoll",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "write",
    "writev",
];

#[cfg(test)]
mod tests;
