//! Peak runs: what a pooler can do when nothing but itself is in its way.
//!
//!     core 0: the pooler, alone          core 1: clients and a fake PostgreSQL, one thread
//!
//! A run is a fresh pooler and a fresh load: clients log in, a warm-up passes, CPU time and
//! transactions are read twice, and system calls are counted afterwards, in a pass of their own.
//! Targets take turns within a round and the first one changes from round to round.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::Options;
use crate::goal;
use crate::interrupt::Interrupt;
use crate::load::orders::Loader;
use crate::report::Report;
use crate::sample::{Figure, Sample};
use crate::session::Session;
use crate::syscalls::Counting;
use crate::target::{Running, Settings, Target};
use crate::urgency::Urgency;
use crate::usage;
use crate::versions;

/// Measures all targets and reports.
pub(crate) fn run(options: &Options, interrupt: &Interrupt) -> Result<Report> {
    let _urgency = options.is_urgent.then(Urgency::raise).transpose()?;
    let targets = targets(options);
    let plan: Vec<_> = options.clients.iter().map(|n| (*n, targets.clone())).collect();
    let session = Session::run(options.rounds, &plan, interrupt, |_, clients, target| {
        measure(target, *clients, options, interrupt)
            .with_context(|| format!("{target} with {clients} clients"))
    })?;
    let scenarios: Vec<String> = options.clients.iter().map(|n| scenario(*n)).collect();
    Ok(Report {
        name: "peak",
        method: format!(
            "The pooler alone on core {POOLER_CORE}, clients and a fake PostgreSQL in one thread \
             on core {LOAD_CORE}; `SELECT 1` over the simple protocol, TCP on loopback, \
             transaction pooling, 20 servers. Medians of {} rounds of {} s each, targets \
             interleaved.",
            options.rounds,
            options.seconds.as_secs_f64()
        ),
        versions: versions::all(&options.programs),
        session,
        goals: goal::peak(&scenarios),
    })
}

fn targets(options: &Options) -> Vec<Target> {
    let mut targets = vec![Target::PgBouncer(1), Target::Relay];
    if options.programs.pgweir.is_some() {
        targets.push(Target::Pgweir(1));
    }
    targets
}

fn scenario(clients: usize) -> String {
    format!("peak {clients}")
}

fn measure(
    target: Target,
    clients: usize,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<Sample> {
    let mut rig = Rig::start(target, options)?;
    rig.loader.connect(rig.pooler.port, clients)?;
    interrupt.sleep(options.warm_up)?;

    let (cpu, core) = (rig.pooler.cpu()?, usage::core(POOLER_CORE)?);
    let begin = rig.loader.progress()?;
    interrupt.sleep(options.seconds)?;
    let (cpu, core) = (rig.pooler.cpu()? - cpu, usage::core(POOLER_CORE)? - core);
    let (transactions, seconds) = begin.until(&rig.loader.progress()?);

    let mut sample = Sample::new(target, &scenario(clients));
    let percent = 1e-4 / seconds;
    sample.figures.extend([
        (Figure::Throughput, transactions / seconds),
        (Figure::Cpu, cpu.total() / transactions),
        (Figure::CpuUser, cpu.user / transactions),
        (Figure::Busy, cpu.total() * percent),
        (Figure::Foreign, (core.total() - cpu.total()).max(0.0) * percent),
    ]);
    rig.count_syscalls(&mut sample, interrupt)?;
    Ok(sample)
}

/// A pooler between the two ends of a load. The load is dropped first: it takes the end of a
/// client's connection for a fault of the pooler.
struct Rig {
    loader: Loader,
    pooler: Running,
}

impl Rig {
    fn start(target: Target, options: &Options) -> Result<Self> {
        let loader = Loader::start(LOAD_CORE)?;
        let settings = Settings {
            server: loader.port,
            auth_type: "trust",
            users: "\"bench\" \"\"\n".to_owned(),
            core: Some(POOLER_CORE),
        };
        Ok(Self { pooler: target.start(&options.programs, &settings)?, loader })
    }

    fn count_syscalls(&mut self, sample: &mut Sample, interrupt: &Interrupt) -> Result<()> {
        let Some(counting) = Counting::start(&self.pooler.pids())? else { return Ok(()) };
        let begin = self.loader.progress()?;
        interrupt.sleep(COUNTED)?;
        let end = self.loader.progress()?;
        sample.take_calls(counting.stop()?, begin.until(&end).0);
        Ok(())
    }
}

const POOLER_CORE: usize = 0;
const LOAD_CORE: usize = 1;
const COUNTED: Duration = Duration::from_secs(1);
