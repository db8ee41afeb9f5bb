//! The command line: which runs, with which programs, how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;

use crate::target::Programs;

/// What the program is asked to do.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// Measure and report.
    Measure(Runs, Options),
    /// Be the load of a peak run.
    Load,
    /// Be the relay of a peak run, from one port to another.
    Relay(u16, u16),
    /// Print the usage.
    Help,
}

/// Which kinds of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    Peak,
    Real,
    All,
}

/// How to measure.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) programs: Programs,
    pub(crate) rounds: usize,
    pub(crate) seconds: Duration,
    pub(crate) warm_up: Duration,
    /// Numbers of clients of a peak run.
    pub(crate) clients: Vec<usize>,
    /// Names of scenarios of a real run; empty means all.
    pub(crate) only: Vec<String>,
    /// Peak runs go before whatever else the machine does.
    pub(crate) is_urgent: bool,
    /// The folder for the reports.
    pub(crate) out: PathBuf,
}

/// The text of `bench --help`.
pub(crate) const USAGE: &str = "\
usage: bench peak|real|all [options]

  peak   the pooler alone on a core: PgBouncer, a bare relay, pgweir
  real   PostgreSQL and pgbench: direct, PgBouncer, pgweir

  --pgweir PATH       pgweir's program (target/release/pgweir; left out if that is missing)
  --pgbouncer PATH    PgBouncer's program (pgbouncer)
  --rounds N          rounds, of which medians are taken (3)
  --seconds S         length of a measurement (3)
  --clients N,N,…     numbers of clients of the peak runs (64,256)
  --only NAME,NAME,…  scenarios of the real runs (all)
  --out FOLDER        where the reports go (bench/out)
  --urgent            peak runs go before all else on a machine that is not idle (root only)
  --quick             one short round, to see that everything works
";

/// Understands the arguments of the program.
pub(crate) fn parse(arguments: lexopt::Parser) -> Result<Request> {
    let mut arguments = arguments;
    let Some(first) = arguments.next()? else {
        return Ok(Request::Help);
    };
    let runs = match first {
        Value(word) if word == "peak" => Runs::Peak,
        Value(word) if word == "real" => Runs::Real,
        Value(word) if word == "all" => Runs::All,
        Value(word) if word == "load" => return Ok(Request::Load),
        Value(word) if word == "relay" => {
            let (listen, target) = (arguments.value()?, arguments.value()?);
            return Ok(Request::Relay(listen.parse()?, target.parse()?));
        }
        Short('h') | Long("help") => return Ok(Request::Help),
        other => return Err(other.unexpected().into()),
    };
    options(arguments).map(|options| Request::Measure(runs, options))
}

fn options(mut arguments: lexopt::Parser) -> Result<Options> {
    let mut pgweir = None;
    let mut pgbouncer = PathBuf::from("pgbouncer");
    let mut is_quick = false;
    let mut is_urgent = false;
    let mut rounds = None;
    let mut seconds = None;
    let mut clients = vec![64, 256];
    let mut only = Vec::new();
    let mut out = PathBuf::from("bench/out");
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("pgweir") => pgweir = Some(PathBuf::from(arguments.value()?)),
            Long("pgbouncer") => pgbouncer = arguments.value()?.into(),
            Long("rounds") => rounds = Some(arguments.value()?.parse::<usize>()?),
            Long("seconds") => seconds = Some(arguments.value()?.parse::<f64>()?),
            Long("clients") => clients = list(&arguments.value()?.string()?)?,
            Long("only") => only = list(&arguments.value()?.string()?)?,
            Long("out") => out = arguments.value()?.into(),
            Long("urgent") => is_urgent = true,
            Long("quick") => is_quick = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let seconds = seconds.unwrap_or(if is_quick { 0.5 } else { 3.0 });
    let rounds = rounds.unwrap_or(if is_quick { 1 } else { 3 });
    if rounds == 0 || !(0.1..=3600.0).contains(&seconds) || clients.contains(&0) {
        bail!("--rounds, --seconds and --clients must be above zero");
    }
    Ok(Options {
        programs: Programs { pgbouncer: find(&pgbouncer)?, pgweir: find_pgweir(pgweir)? },
        rounds,
        seconds: Duration::from_secs_f64(seconds),
        warm_up: Duration::from_secs_f64(if is_quick { 0.2 } else { 1.0 }),
        clients,
        only,
        is_urgent,
        out,
    })
}

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>> {
    text.split(',')
        .map(|item| item.trim().parse().ok().with_context(|| format!("cannot understand {item:?}")))
        .collect()
}

/// The default program may be missing, a named one may not.
fn find_pgweir(named: Option<PathBuf>) -> Result<Option<PathBuf>> {
    if let Some(path) = named {
        return find(&path).map(Some);
    }
    let default = Path::new("target/release/pgweir");
    if default.exists() {
        return find(default).map(Some);
    }
    eprintln!("{} does not exist: pgweir is left out", default.display());
    Ok(None)
}

/// A path under which the service user can run a program; names without a slash are sought in
/// PATH and in /usr/sbin.
fn find(program: &Path) -> Result<PathBuf> {
    let path = if program.components().count() > 1 {
        program.to_owned()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin")])
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())
            .with_context(|| format!("{} was not found", program.display()))?
    };
    Ok(scratch::reachable(&path)?)
}

#[cfg(test)]
mod tests;
