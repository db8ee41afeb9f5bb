//! Who may be served before whom, and which server may idle.
//!
//! ```text
//! on one worker:    first come, first served
//! between workers:  nobody waits behind one that came later by more than the pooler's patience,
//!                   and no server idles for longer than that while somebody waits
//! ```
//!
//! Knows no pooler: it judges what a world has seen, at one instant.

use std::collections::BTreeMap;

/// A client that waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) place: usize,
    pub(crate) pool: Pool,
    pub(crate) worker: usize,
    /// Since when, in microseconds of flow and of the engine's clock.
    pub(crate) since: (u64, u64),
}

/// A pool: the places of its database and of its user.
pub(crate) type Pool = (usize, usize);

/// A server that idles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idler {
    pub(crate) process: usize,
    pub(crate) pool: Pool,
    pub(crate) worker: usize,
    pub(crate) since: u64,
}

/// Who was first in line on each worker, and since when.
#[derive(Debug, Default)]
pub(crate) struct Fronts {
    fronts: BTreeMap<(Pool, usize), (Waiter, u64)>,
}

impl Fronts {
    /// Notes who is first now; `waiting` is in the order of age.
    pub(crate) fn look(&mut self, waiting: &[Waiter], now: u64) {
        let mut fronts = BTreeMap::new();
        for waiter in waiting {
            let line = (waiter.pool, waiter.worker);
            let before = self.fronts.get(&line).filter(|(front, _)| front == waiter);
            let since = before.map_or(now, |(_, since)| *since);
            fronts.entry(line).or_insert((*waiter, since));
        }
        self.fronts = fronts;
    }

    /// Whether this worker must know that somebody waits: its own clients, and those that have been
    /// first in line elsewhere for so long that they have been asked for.
    pub(crate) fn is_known(
        &self,
        waiter: &Waiter,
        worker: usize,
        (now, patience): (u64, u64),
    ) -> bool {
        let front = self.fronts.get(&(waiter.pool, waiter.worker));
        let asked = |(front, since): &(Waiter, u64)| front == waiter && since + patience < now;
        waiter.worker == worker || front.is_some_and(asked)
    }
}

/// Takes away those that may have a server already, which is only being prepared: as many of the
/// oldest clients of a pool on a worker as there are servers in the making.
pub(crate) fn leave_out(waiting: &mut Vec<Waiter>, preparing: &[(Pool, usize)]) {
    for place in preparing {
        let is_there = |waiter: &Waiter| (waiter.pool, waiter.worker) == *place;
        if let Some(first) = waiting.iter().position(is_there) {
            waiting.remove(first);
        }
    }
}

/// Whether this client may be served before those that wait.
pub(crate) fn may_go_first(
    served: &Waiter,
    waiting: &[Waiter],
    patience: u64,
) -> Result<(), String> {
    for other in waiting.iter().filter(|other| other.pool == served.pool) {
        let same = other.worker == served.worker;
        let allowance = if same { 0 } else { patience };
        if other.place != served.place && other.since.0 + allowance < served.since.0 {
            return Err(format!(
                "client {} of worker {}, which has waited since {:.3} ms, is served before client \
                 {} of worker {}, which has waited since {:.3} ms",
                served.place,
                served.worker,
                served.since.0 as f64 / 1000.0,
                other.place,
                other.worker,
                other.since.0 as f64 / 1000.0,
            ));
        }
    }
    Ok(())
}

/// Whether a server idles for too long while somebody waits for one.
pub(crate) fn nobody_idles(
    idle: &[Idler],
    waiting: &[Waiter],
    (now, patience): (u64, u64),
) -> Result<(), String> {
    for idler in idle {
        for waiter in waiting.iter().filter(|waiter| waiter.pool == idler.pool) {
            if idler.since.max(waiter.since.0) + patience < now {
                return Err(format!(
                    "server {} has idled on worker {} since {:.3} ms while client {} of worker {} \
                     has waited since {:.3} ms",
                    idler.process,
                    idler.worker,
                    idler.since as f64 / 1000.0,
                    waiter.place,
                    waiter.worker,
                    waiter.since.0 as f64 / 1000.0,
                ));
            }
        }
    }
    Ok(())
}
