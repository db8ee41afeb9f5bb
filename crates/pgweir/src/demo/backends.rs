//! The processes that PostgreSQL runs for the clients, and the memory that is theirs alone.
//!
//! ```text
//! pg_stat_activity ──► process ids ──► /proc/ID/smaps_rollup ──► kilobytes
//! ```
//!
//! Their memory is looked at once, when the same processes have been there for a while: those of
//! former clients are gone then, and a server process is as big as it gets once it has worked.
//! Memory that is shared, above all PostgreSQL's cache of pages, is not counted. Where the kernel
//! does not tell, there is no figure.

use std::fs;
use std::time::{Duration, Instant};

use scratch::Postgres;

use super::Unfinished;

/// The search for the processes that serve an application.
pub(crate) struct Backends<'a> {
    postgres: &'a Postgres,
    application: &'a str,
    looked: Instant,
    stage: Stage,
}

enum Stage {
    /// These processes have been there since then.
    Seen(Vec<u32>, Instant),
    Found(Found),
}

/// What there was at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of processes.
    pub(crate) count: usize,
    /// The memory that each had for itself, in sum.
    pub(crate) kilobytes: Option<u64>,
}

impl<'a> Backends<'a> {
    /// Begins to watch the processes that serve the clients with this `application_name`.
    pub(crate) fn new(postgres: &'a Postgres, application: &'a str) -> Self {
        let now = Instant::now();
        Self { postgres, application, looked: now, stage: Stage::Seen(Vec::new(), now) }
    }

    /// Has another look when it is time for one.
    ///
    /// # Errors
    /// When PostgreSQL does not answer.
    pub(crate) fn look(&mut self) -> Result<(), Unfinished> {
        let Stage::Seen(seen, since) = &self.stage else {
            return Ok(());
        };
        if self.looked.elapsed() < BETWEEN_LOOKS {
            return Ok(());
        }
        let ids = self.ask()?;
        self.looked = Instant::now();
        if ids != *seen || ids.is_empty() {
            self.stage = Stage::Seen(ids, self.looked);
        } else if since.elapsed() >= WORKED {
            let sizes: Vec<u64> = ids.iter().filter_map(|id| private_kilobytes(*id)).collect();
            self.stage = Stage::Found(Found { count: ids.len(), kilobytes: in_all(&sizes, &ids) });
        }
        Ok(())
    }

    /// Returns what was found, if the same processes were there for long enough.
    pub(crate) fn found(&self) -> Option<Found> {
        match self.stage {
            Stage::Seen(..) => None,
            Stage::Found(found) => Some(found),
        }
    }

    fn ask(&self) -> Result<Vec<u32>, Unfinished> {
        let sql = format!(
            "SELECT pid FROM pg_stat_activity WHERE application_name = '{}' ORDER BY pid",
            self.application
        );
        let rows = self.postgres.psql(&sql)?;
        Ok(rows.lines().filter_map(|id| id.parse().ok()).collect())
    }
}

/// Returns the memory that a process shares with no other one, in kilobytes.
pub(crate) fn private_kilobytes(process: u32) -> Option<u64> {
    sum_private(&fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?)
}

/// What all processes have for themselves, as those do that could be looked at: on a busy machine
/// the load may end, and some with it, before the last one's turn.
fn in_all(sizes: &[u64], ids: &[u32]) -> Option<u64> {
    let sum: u64 = sizes.iter().sum();
    sum.saturating_mul(ids.len() as u64).checked_div(sizes.len() as u64)
}

fn sum_private(rollup: &str) -> Option<u64> {
    let private = rollup.lines().filter_map(|line| {
        let (name, size) = line.split_once(':')?;
        let is_private = ["Private_Clean", "Private_Dirty"].contains(&name);
        is_private.then(|| size.trim().strip_suffix(" kB")?.parse::<u64>().ok())
    });
    let sizes: Vec<u64> = private.collect::<Option<_>>()?;
    (!sizes.is_empty()).then(|| sizes.iter().sum())
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// A look itself takes longer than that on a busy machine.
const WORKED: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests;
