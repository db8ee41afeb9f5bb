//! Real runs: PostgreSQL and pgbench, sharing all cores with the pooler.
//!
//!     pgbench ──► direct, PgBouncer or pgweir ──► a throw-away PostgreSQL
//!
//! A run is a fresh pooler and a fresh pgbench: a warm-up, the time that is measured, and in the
//! first round another time in which system calls are counted. PostgreSQL lives as long as the
//! session. Targets take turns within a round and the first one changes from round to round.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use scratch::{Postgres, Programs};

use crate::child;
use crate::cli::Options;
use crate::goal;
use crate::idle;
use crate::interrupt::Interrupt;
use crate::pgbench::{Excerpt, PASSWORD, Pgbench, USER, Window};
use crate::report::Report;
use crate::sample::{Figure, Sample};
use crate::scenario::{self, RESULT_BYTES, Scenario, Work};
use crate::session::Session;
use crate::syscalls::{Calls, Counting};
use crate::target::{Running, Settings, Target};
use crate::usage::Cpu;
use crate::versions;

/// Measures all targets in all wanted scenarios and reports.
pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<Report> {
    let scenarios = wanted(&options.only)?;
    eprintln!("starting PostgreSQL and filling its tables");
    let stage = Stage::set(options, interrupt)?;
    let plan: Vec<_> = scenarios
        .iter()
        .map(|scenario| (*scenario, scenario.targets(options.programs.pgweir.is_some())))
        .collect();
    let session = Session::run(options.rounds, &plan, interrupt, |round, scenario, target| {
        stage
            .measure(target, scenario, round == 0)
            .with_context(|| format!("{target} in {}", scenario.name))
    })?;
    Ok(Report {
        name: "real",
        method: format!(
            "PostgreSQL, pgbench (scale {SCALE}) and the pooler share all cores; TCP on loopback, \
             transaction pooling, 20 servers. pgbouncer ×2 is two processes with so_reuseport and \
             10 servers each. Medians of {} rounds of {} s each, targets interleaved.",
            options.rounds,
            options.seconds.as_secs_f64()
        ),
        versions: [vec![stage.version()], versions::all(&options.programs)].concat(),
        session,
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
        let mut sample = Sample::new(target, scenario.name);
        if scenario.work == Work::Idle {
            let memory = idle::memory(&pooler, scenario.clients, self.interrupt)?;
            sample.figures.insert(Figure::Idle, memory);
        } else {
            self.play(scenario, &pooler, is_counted, &mut sample)?;
        }
        Ok(sample)
    }

    fn play(
        &self,
        scenario: &Scenario,
        pooler: &Running,
        is_counted: bool,
        sample: &mut Sample,
    ) -> Result<()> {
        let Options { warm_up, seconds, .. } = *self.options;
        let clients = u32::try_from(scenario.clients)?;
        let warm_up = warm_up + LOGIN * clients;
        let counted = if is_counted { COUNTED + SLACK } else { Duration::ZERO };
        let length = warm_up + seconds + counted + SLACK;
        let playing = self.pgbench.play(scenario, pooler.port, length)?;
        self.interrupt.sleep(warm_up)?;

        let (cpu, window) = (pooler.cpu()?, Window::open()?);
        self.interrupt.sleep(seconds)?;
        let (cpu, window) = (pooler.cpu()? - cpu, window.close()?);
        let counted = if is_counted { self.count(pooler)? } else { None };

        let journal = playing.finish(self.interrupt)?;
        note(sample, scenario.work, &journal.within(&window)?, cpu);
        if let Some((calls, window)) = counted {
            sample.take_calls(calls, journal.within(&window)?.transactions());
        }
        Ok(())
    }

    fn count(&self, pooler: &Running) -> Result<Option<(Calls, Window)>> {
        let Some(counting) = Counting::start(&pooler.pids())? else { return Ok(None) };
        let window = Window::open()?;
        self.interrupt.sleep(COUNTED)?;
        let window = window.close()?;
        Ok(Some((counting.stop()?, window)))
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

/// Notes the figures of a window; a direct target has no pooler whose CPU time could be told.
fn note(sample: &mut Sample, work: Work, seen: &Excerpt, cpu: Cpu) {
    let figures = &mut sample.figures;
    figures.insert(Figure::Throughput, seen.throughput());
    figures.insert(Figure::Mean, seen.mean());
    figures.insert(Figure::P50, seen.percentile(50));
    figures.insert(Figure::P99, seen.percentile(99));
    let is_pooler = sample.target != Target::Direct;
    if is_pooler {
        figures.insert(Figure::Cpu, cpu.total() / seen.transactions());
        figures.insert(Figure::CpuUser, cpu.user / seen.transactions());
    }
    if work == Work::BigResult {
        let megabytes = RESULT_BYTES / 1e6;
        figures.insert(Figure::Volume, seen.throughput() * megabytes);
        if is_pooler {
            figures.insert(Figure::CpuPerVolume, cpu.total() / seen.transactions() / megabytes);
        }
    }
}

const SCALE: u32 = 10;
/// What a login may cost PostgreSQL; pgbench begins when all clients are logged in.
const LOGIN: Duration = Duration::from_millis(5);
/// What it takes to begin to count, and to end in time.
const SLACK: Duration = Duration::from_millis(500);
const COUNTED: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
