//! What the console counts itself, and the line of statistics in the log and for a supervisor.
//!
//!     every stats_period, on worker 0 ──► Gather ──► every Report ──► `stats: …`, Status
//!
//! The line covers what has been counted since the one before, on all workers together.

use crate::admin::report::{Census, Table};
use crate::admin::show;
use crate::command::Command;
use crate::engine::Engine;
use crate::stats::{Counters, Window, Windows};
use crate::time::Time;

/// The console's own counters, as if it were a pool, and what the log was told last.
pub(in crate::engine) struct Desk {
    pub(super) counters: Counters,
    pub(super) windows: Windows,
    /// What all workers had counted when the last line was written.
    logged: Window,
    /// When the next one is due.
    due: Time,
}

impl Desk {
    pub(in crate::engine) fn new(now: Time, period: u64) -> Self {
        Self {
            counters: Counters::default(),
            windows: Windows::new(),
            logged: Window { at: now, counters: Counters::default() },
            due: now + period,
        }
    }
}

impl Engine {
    /// When this worker has to write a line of statistics: one of them does, for all.
    pub(in crate::engine) fn next_statistics(&self) -> Time {
        if self.me.0 == 0 { self.desk.due } else { Time::NEVER }
    }

    pub(super) fn statistics_tick(&mut self, now: Time) {
        if now >= self.next_statistics() {
            let period = self.setup.config.pgbouncer.stats_period;
            let next = self.desk.due + period;
            self.desk.due = if next > now { next } else { now + period };
            self.log_gathers(Table::Pools, now);
        }
    }

    pub(super) fn log_statistics(&mut self, census: &Census, now: Time) {
        let counters = census.in_all().counters;
        let before = std::mem::replace(&mut self.desk.logged, Window { at: now, counters });
        let counted = counters.since(&before.counters);
        let line = show::statistics_line(&counted, now.since(before.at));
        if self.setup.config.pgbouncer.log_stats {
            log::info!("{line}");
        }
        self.commands.push_back(Command::Status { line });
    }

    /// Keeps the counters of all pools when a period is over.
    pub(in crate::engine) fn roll_statistics(&mut self, now: Time) {
        let period = self.setup.config.pgbouncer.stats_period;
        for pool in self.pools.values_mut() {
            pool.windows.roll(&pool.counters, period, now);
        }
        self.desk.windows.roll(&self.desk.counters, period, now);
    }
}
