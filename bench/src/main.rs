//! pgweir beside PgBouncer and a bare relay, in one run.
//!
//!     bench peak ──► the pooler alone on a core, clients and a fake PostgreSQL on another
//!     bench real ──► PostgreSQL and pgbench, all on the same cores
//!
//! Targets take turns, the figures are medians over rounds, and the report holds them against the
//! project's goals. Any program that understands pgbouncer.ini can stand in for either pooler.

#![forbid(unsafe_code)]

mod child;
mod cli;
mod goal;
mod idle;
mod interrupt;
mod load;
mod peak;
mod pgbench;
mod real;
mod relay;
mod report;
mod sample;
mod scenario;
mod session;
mod syscalls;
mod target;
mod urgency;
mod usage;
mod versions;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use cli::{Options, Request, Runs};
use interrupt::Interrupt;
use report::Report;

fn main() -> Result<()> {
    match cli::parse(lexopt::Parser::from_env())? {
        Request::Help => {
            print!("{}", cli::USAGE);
            Ok(())
        }
        Request::Load => load::orders::obey(),
        Request::Relay(listen, target) => relay::run(listen, target),
        Request::Measure(runs, options) => measure(runs, &options),
    }
}

fn measure(runs: Runs, options: &Options) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    allow_many_files()?;
    if !syscalls::can_count() {
        eprintln!("perf may not count system calls here: that column is left out");
    }
    let mut failures = 0;
    if runs != Runs::Real {
        failures += publish(&peak::run(options, &interrupt)?, options)?;
    }
    if runs != Runs::Peak {
        failures += publish(&real::run(options, &interrupt)?, options)?;
    }
    ensure!(failures == 0, "{failures} runs failed");
    Ok(())
}

/// Prints and saves a report; returns how many of its runs failed.
fn publish(report: &Report, options: &Options) -> Result<usize> {
    let page = report.save(&options.out)?;
    println!("{}", report.markdown());
    eprintln!("saved as {} and .json", page.display());
    Ok(report.session.failures.len())
}

/// A thousand clients want more than the usual 1,024 files, here and in every child.
fn allow_many_files() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .context("cannot raise the limit of open files")
}
