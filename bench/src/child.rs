//! Processes that do not outlive the bench.
//!
//!     bench ──► taskset -c CORE ──exec──► the program
//!
//! A `Child` is killed when it is dropped, and a leash sees to it when the bench itself is killed.
//! `exec` keeps the process id, so the figures of that id are the program's own.
//!
//! Knows nothing of what the programs are for.

use std::path::Path;
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output};
use std::time::Duration;

use anyhow::{Context, Result};
use scratch::Leash;

use crate::interrupt::Interrupt;

/// A process that ends with its owner.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    _leash: Leash,
}

impl Child {
    /// Starts a command.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_owned();
        let mut process =
            command.spawn().with_context(|| format!("cannot start {}", name.display()))?;
        match Leash::hold(&process) {
            Ok(leash) => Ok(Self { process, _leash: leash }),
            Err(error) => {
                process.kill()?;
                Err(error.into())
            }
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The writing end of its standard input, once, if it was piped.
    pub(crate) fn stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// The reading end of its standard output, once, if it was piped.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// The reading end of its standard error, once, if it was piped.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Its exit, if it has ended.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Waits for its end, unless the bench is asked to stop.
    pub(crate) fn wait(&mut self, interrupt: &Interrupt) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            interrupt.sleep(Duration::from_millis(20))?;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command for a program on one core only, or wherever the kernel likes.
pub(crate) fn on_core(program: &Path, core: Option<usize>) -> Command {
    let Some(core) = core else {
        return Command::new(program);
    };
    let mut command = Command::new("taskset");
    command.arg("-c").arg(core.to_string()).arg(program);
    command
}

/// The standard output of a short command that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_owned();
    let Output { status, stdout, stderr } =
        command.output().with_context(|| format!("cannot start {}", name.display()))?;
    if !status.success() {
        let complaint = String::from_utf8_lossy(&stderr);
        anyhow::bail!("{} failed: {}", name.display(), complaint.trim());
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}
