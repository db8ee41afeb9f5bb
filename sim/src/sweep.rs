//! Many seeds: run them on all cores, and make a failing one smaller.
//!
//! ```text
//! seed ──► run ──► fails? ──► fewer workers, clients, workloads, faults: still? ──► its story
//! ```
//!
//! A panic of an engine is a broken promise like any other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::{Plan, Spans};
use crate::tally::Tally;
use crate::world::World;

/// What has come of one run.
pub(crate) struct Run {
    pub(crate) failure: Option<String>,
    pub(crate) tally: Tally,
    /// Tells runs apart.
    pub(crate) digest: u64,
    /// The last lines of the story, if one was wanted.
    pub(crate) story: Vec<String>,
}

/// Runs one plan, with so many lines of its story; a story costs time.
pub(crate) fn run(plan: Plan, lines: usize) -> Run {
    let mut world = World::new(plan, lines > 0);
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    let failure = match outcome {
        Ok(outcome) => outcome.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
    };
    let story = world.story.end(lines).map(str::to_owned).collect();
    Run { failure, tally: world.tally, digest: world.digest, story }
}

/// Runs many seeds on all cores: what has happened in them, and the first seed that fails.
pub(crate) fn sweep(from: u64, count: u64) -> Result<Tally, (u64, String)> {
    let next = AtomicU64::new(from);
    let result: Mutex<(Tally, Option<(u64, String)>)> = Mutex::default();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + count {
                return;
            }
            let run = run(Plan::new(seed), 0);
            let Ok(mut result) = result.lock() else { return };
            result.0.add(&run.tally);
            if let Some(failure) = run.failure {
                if result.1.as_ref().is_none_or(|(first, _)| seed < *first) {
                    result.1 = Some((seed, failure));
                }
                // Nobody needs to begin another one.
                next.store(u64::MAX / 2, Ordering::Relaxed);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (tally, failure) = result.into_inner().unwrap_or_default();
    failure.map_or(Ok(tally), Err)
}

/// Makes a failing plan smaller as long as it fails in the same way, the numbers aside.
pub(crate) fn shrink(mut plan: Plan, failure: &str) -> Plan {
    let kind = kind(failure);
    let fails = |plan: &Plan| {
        let failure = run(plan.clone(), 0).failure;
        failure.is_some_and(|failure| self::kind(&failure) == kind)
    };
    loop {
        let smaller = candidates(&plan).into_iter().find(&fails);
        match smaller {
            Some(smaller) => plan = smaller,
            None => return plan,
        }
    }
}

/// The words of a failure, up to the first detail.
fn kind(failure: &str) -> String {
    let failure = failure.split_once(": ").map_or(failure, |(failure, _)| failure);
    failure.chars().filter(|char| !char.is_ascii_digit()).collect()
}

fn candidates(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Plan)| {
        let mut smaller = plan.clone();
        change(&mut smaller);
        if smaller.size() != plan.size() {
            all.push(smaller);
        }
    };
    with(&|plan| plan.workers = 1);
    with(&|plan| plan.workers = plan.workers.min(2));
    with(&|plan| plan.apps = plan.apps.div_ceil(2));
    with(&|plan| plan.apps = plan.apps.max(2) - 1);
    with(&|plan| plan.rounds = plan.rounds.div_ceil(2));
    with(&|plan| plan.rounds = plan.rounds.max(2) - 1);
    with(&|plan| plan.calm = true);
    with(&|plan| plan.unattended = true);
    with(&|plan| plan.early_end = None);
    with(&|plan| plan.rude = 0);
    with(&|plan| plan.habits.cancels = false);
    with(&|plan| plan.habits.size_max = 60);
    with(&|plan| plan.net.split = 0);
    with(&|plan| plan.net.short = 0);
    with(&|plan| plan.net.stall = 0);
    with(&|plan| plan.net.slow_readers = 0);
    with(&|plan| plan.turn_max = 0);
    for place in 0..plan.pools.len() {
        with(&|plan| plan.pools[place].reserve = 0);
        with(&|plan| plan.pools[place].minimum = 0);
        with(&|plan| plan.pools[place].most_servers = 0);
        with(&|plan| plan.pools[place].most_clients = 0);
        with(&|plan| plan.pools[place].forced = None);
        with(&|plan| plan.pools[place].is_made = false);
    }
    with(&|plan| plan.bounds.user_servers = [0; 2]);
    with(&|plan| plan.bounds.user_clients = [0; 2]);
    with(&|plan| plan.bounds.round_robin = false);
    with(&|plan| plan.bounds.fast_close = false);
    let spans: [fn(&mut Spans) -> &mut u64; 7] = [
        |spans| &mut spans.reserve,
        |spans| &mut spans.query,
        |spans| &mut spans.transaction,
        |spans| &mut spans.idle_transaction,
        |spans| &mut spans.client_idle,
        |spans| &mut spans.pool_idle,
        |spans| &mut spans.made_idle,
    ];
    for span in spans {
        with(&|plan| *span(&mut plan.bounds.spans) = 0);
    }
    with(&|plan| plan.bounds.spans.notify = 0);
    all
}
