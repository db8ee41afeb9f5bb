//! Real runs: PostgreSQL and pgbench, sharing all cores with the pooler.
//!
//!     pgbench ──► direct, PgBouncer or pgweir ──► a throw-away PostgreSQL
//!
//! A run is a fresh pooler: a warm-up, the measured run, and in the first round another one in which
//! system calls are counted. PostgreSQL lives as long as the session. Targets take turns within a
//! round and the first one changes from round to round.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use scratch::{Postgres, Programs};

use crate::child;
use crate::cli::Options;
use crate::goal;
use crate::idle;
use crate::interrupt::Interrupt;
use crate::pgbench::{Outcome, PASSWORD, Pgbench, USER};
use crate::report::Report;
use crate::sample::{Figure, Sample, Samples};
use crate::scenario::{self, RESULT_BYTES, Scenario, Work};
use crate::syscalls::{Calls, Counting};
use crate::target::{Running, Settings, Target};
use crate::versions;

/// Measures all targets in all wanted scenarios and reports.
pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<Report> {
    let scenarios = wanted(&options.only)?;
    eprintln!("starting PostgreSQL and filling its tables");
    let stage = Stage::set(options, interrupt)?;
    let mut samples = Samples::default();
    for round in 0..options.rounds {
        for scenario in &scenarios {
            let targets = scenario.targets(options.programs.pgweir.is_some());
            for turn in 0..targets.len() {
                let target = targets[(round + turn) % targets.len()];
                let sample = stage
                    .measure(target, scenario, round == 0)
                    .with_context(|| format!("{target} in {}", scenario.name))?;
                eprintln!("round {} {}", round + 1, sample.line());
                samples.0.push(sample);
            }
        }
    }
    Ok(Report {
        name: "real",
        method: format!(
            "PostgreSQL, pgbench (scale {SCALE}) and the pooler share all cores; TCP on loopback, \
             transaction pooling, 20 servers. pgbouncer ×2 is two processes with so_reuseport and \
             10 servers each. Medians of {} rounds of {:.0} s each, targets interleaved.",
            options.rounds,
            options.seconds.as_secs_f64().ceil()
        ),
        versions: [vec![stage.version()], versions::all(&options.programs)].concat(),
        samples,
        goals: goal::real(),
    })
}

/// The scenarios of these names, or all.
fn wanted(names: &[String]) -> Result<Vec<Scenario>> {
    let is_wanted = |s: &&Scenario| names.is_empty() || names.iter().any(|name| name == s.name);
    if let Some(name) = names.iter().find(|name| scenario::ALL.iter().all(|s| s.name != **name)) {
        let all = scenario::ALL.map(|s| s.name).join(" ");
        bail!("there is no scenario {name}; there are {all}");
    }
    Ok(scenario::ALL.iter().filter(is_wanted).copied().collect())
}

/// What all runs share.
struct Stage<'a> {
    postgres: Postgres,
    pgbench: Pgbench,
    /// The stored SCRAM secret of the role.
    secret: String,
    options: &'a Options,
    interrupt: &'a Interrupt,
}

impl<'a> Stage<'a> {
    fn set(options: &'a Options, interrupt: &'a Interrupt) -> Result<Self> {
        let programs = Programs::find()?;
        let settings = [("shared_buffers", "512MB"), ("max_wal_size", "4GB")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let wanted = scratch::Options { max_connections: 400, settings, ..Default::default() };
        let postgres = Postgres::start(&programs, &wanted)?;
        postgres.psql(&format!(
            "CREATE ROLE {USER} SUPERUSER LOGIN PASSWORD '{PASSWORD}'; \
             CREATE DATABASE {USER} OWNER {USER};"
        ))?;
        let secret = postgres
            .psql(&format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{USER}'"))?;
        let mut fill = postgres.client("pgbench");
        fill.args(["-i", "-q", "-s", &SCALE.to_string(), "-U", USER, USER]);
        child::output(&mut fill)?;
        let pgbench = Pgbench::new(programs.program("pgbench"))?;
        Ok(Self { postgres, pgbench, secret, options, interrupt })
    }

    fn version(&self) -> (String, String) {
        let version = self.postgres.psql("SHOW server_version");
        ("PostgreSQL".to_owned(), version.unwrap_or_else(|error| error.to_string()))
    }

    fn measure(&self, target: Target, scenario: &Scenario, is_counted: bool) -> Result<Sample> {
        let pooler = target.start(&self.options.programs, &self.settings(scenario.work))?;
        let mut sample = Sample {
            target,
            scenario: scenario.name.to_owned(),
            figures: [].into(),
            calls: Calls::new(),
        };
        if scenario.work == Work::Idle {
            let memory = idle::memory(&pooler, scenario.clients, self.interrupt)?;
            sample.figures.insert(Figure::Idle, memory);
            return Ok(sample);
        }
        self.pgbench(scenario, &pooler, self.options.warm_up)?;
        let cpu = pooler.cpu()?;
        let outcome = self.pgbench(scenario, &pooler, self.options.seconds)?;
        let cpu = pooler.cpu()? - cpu;

        let figures = &mut sample.figures;
        let done = outcome.summary.transactions;
        figures.insert(Figure::Throughput, outcome.summary.throughput);
        figures.insert(Figure::Mean, outcome.summary.mean);
        figures.extend(outcome.percentile(0.50).map(|value| (Figure::P50, value)));
        figures.extend(outcome.percentile(0.99).map(|value| (Figure::P99, value)));
        if target != Target::Direct {
            figures.insert(Figure::Cpu, cpu.total() / done);
            figures.insert(Figure::CpuUser, cpu.user / done);
        }
        if scenario.work == Work::BigResult {
            let megabytes = RESULT_BYTES / 1e6;
            figures.insert(Figure::Volume, outcome.summary.throughput * megabytes);
            if target != Target::Direct {
                figures.insert(Figure::CpuPerVolume, cpu.total() / (done * megabytes));
            }
        }
        if is_counted && let Some(counting) = Counting::start(&pooler.pids())? {
            let outcome = self.pgbench(scenario, &pooler, COUNTED)?;
            sample.take_calls(counting.stop()?, outcome.summary.transactions);
        }
        Ok(sample)
    }

    fn pgbench(&self, scenario: &Scenario, pooler: &Running, length: Duration) -> Result<Outcome> {
        self.pgbench.run(scenario, pooler.port, length, self.interrupt)
    }

    fn settings(&self, work: Work) -> Settings {
        let (auth_type, secret) = match work {
            Work::ConnectScram => ("scram-sha-256", self.secret.as_str()),
            _ => ("trust", ""),
        };
        Settings {
            server: self.postgres.port,
            auth_type,
            users: format!("\"{USER}\" \"{secret}\"\n"),
            core: None,
        }
    }
}

const SCALE: u32 = 10;
const COUNTED: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
