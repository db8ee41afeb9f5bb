//! Lending idle servers between workers, fair by the age of the oldest waiter.
//!
//!     we ──► Borrow (since when our oldest client waits) ──► every other worker of the span
//!     a server comes free there, and nobody older waits there ──► it is shipped to us
//!     nobody waits here any more ──► Withdraw
//!
//! Under even load nobody waits longer than elsewhere and nobody is served sooner for having asked;
//! under skew the oldest waiter wins. A client is never more than [`LAG`] behind a younger one of
//! another worker, mail and the current turn aside.

use crate::ids::WorkerId;
use crate::mail::PoolKey;
use crate::time::{MILLISECOND, Time};

/// How long a client waits before its worker asks the others, and how much older a client of
/// another worker must be to go first.
pub(crate) const LAG: u64 = 5 * MILLISECOND;

/// How long a request is taken for standing: another worker may not have known the pool yet.
const RENEWAL: u64 = 1_000 * MILLISECOND;

/// So many servers of a pool justify one more worker in its span.
const SERVERS_PER_WORKER: u32 = 4;

/// What other workers have asked of this one, and this one of them.
#[derive(Debug, Default)]
pub(crate) struct Share {
    requests: Vec<Request>,
    asked: Option<Asked>,
}

/// Another worker's request for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) by: WorkerId,
    pub(crate) since: Time,
}

/// Our own request, sent at `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    /// Since when the client waits that it was sent for; `None` once a server has come for it, be
    /// it for that client or for one that was older still.
    since: Option<Time>,
    /// The request that others may still act on; `None` once it has been taken back.
    standing: Option<Time>,
    at: Time,
}

/// What to tell the other workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Ask for a server for a client that has waited since then.
    Borrow(Time),
    /// Take the request back.
    Withdraw,
    /// Nothing.
    Nothing,
}

impl Share {
    pub(crate) fn request(&mut self, request: Request) {
        self.withdraw(request.by);
        self.requests.push(request);
    }

    pub(crate) fn withdraw(&mut self, by: WorkerId) {
        self.requests.retain(|request| request.by != by);
    }

    /// A loan has arrived: who lent it has forgotten our request.
    pub(crate) fn lent(&mut self) {
        if let Some(asked) = &mut self.asked {
            asked.since = None;
        }
    }

    pub(crate) fn oldest_request(&self) -> Option<Request> {
        self.requests.iter().copied().min_by_key(|request| (request.since, request.by))
    }

    /// What to tell the others, given since when our oldest client waits; notes that it is told.
    pub(crate) fn ask(&mut self, oldest: Option<Time>, now: Time) -> Ask {
        let Some(oldest) = oldest else {
            let standing = self.asked.take().and_then(|asked| asked.standing);
            return standing.map_or(Ask::Nothing, |_| Ask::Withdraw);
        };
        if self.next_ask(Some(oldest)) <= now {
            let since = Some(oldest);
            self.asked = Some(Asked { since, standing: since, at: now });
            return Ask::Borrow(oldest);
        }
        // The client that was asked for has been served, and the next one is younger: it must not
        // be taken for as old by those that still have the request.
        let stale = |asked: &&mut Asked| asked.standing.is_some_and(|since| since < oldest);
        match self.asked.as_mut().filter(stale) {
            Some(asked) => {
                asked.standing = None;
                Ask::Withdraw
            }
            None => Ask::Nothing,
        }
    }

    /// When to ask next: after the lag, and again for each next oldest client, but not more often
    /// than once in a lag.
    pub(crate) fn next_ask(&self, oldest: Option<Time>) -> Time {
        match (oldest, self.asked) {
            (None, _) => Time::NEVER,
            (Some(since), None) => since + LAG,
            (Some(since), Some(asked)) if asked.since == Some(since) => asked.at + RENEWAL,
            (Some(since), Some(asked)) => (since + LAG).max(asked.at + LAG),
        }
    }
}

/// The workers that serve a pool of `size` servers (0: no limit): a small pool lives on one worker
/// and behaves as with one thread, a large one uses every core.
pub(crate) fn span(key: &PoolKey, size: u32, workers: u8) -> impl Iterator<Item = WorkerId> {
    let wanted = if size == 0 { u32::from(workers) } else { (size / SERVERS_PER_WORKER).max(1) };
    let width = wanted.min(u32::from(workers)) as u8;
    let home = home(key, workers);
    (0..width).map(move |step| WorkerId((home + step) % workers))
}

/// The first worker of a pool's span, from its names (FNV-1a), the same on every worker.
fn home(key: &PoolKey, workers: u8) -> u8 {
    let names = key.database.bytes().chain([0]).chain(key.user.bytes());
    let hash = names.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((hash >> 32) % u64::from(workers)) as u8
}

#[cfg(test)]
mod tests;
