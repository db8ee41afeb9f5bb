//! The promises of a pooler, checked from outside.
//!
//! * No foreign statement runs inside a client's transaction, batch or session.
//! * A server runs with the parameters of the client it serves, and runs its requests in order.
//! * The servers of a pool, a database and a user are never more than they may be, over all
//!   workers, logins included.
//! * A cancel request ends no query but its own client's.
//! * Nobody is told of an end without a cause, and nobody is cut off without a word.
//!
//! That a client sees only answers to its own requests is checked by the client itself, and who may
//! be served before whom in `fairness`. Knows no engine.

mod endings;
pub(crate) mod fairness;
pub(crate) mod spans;

use std::collections::BTreeMap;

use crate::net::WireId;
use crate::plan::{DATABASES, USERS};
use crate::postgres::Own;
use crate::statement::Token;
pub(crate) use endings::Ending;
use fairness::Pool;
use spans::Spans;

/// What is known and promised so far.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// The first promise that was broken.
    pub(crate) failure: Option<String>,
    sessions: Vec<Session>,
    processes: Vec<Process>,
    /// The connections that the pooler has opened.
    pub(crate) spans: Spans,
    /// Since when a pool is known to have had a server.
    known: BTreeMap<Pool, u64>,
    /// When the last login to a pool was refused for good, in flow and by the engines' clock.
    doomed: BTreeMap<Pool, (u64, u64)>,
    /// When a mishap has happened last, and when servers have refused somebody last.
    mishap: Option<u64>,
    refused: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Session {
    place: usize,
    /// The last request that the pooler has given to a server, and that a server has run.
    seen: u32,
    ran: u32,
    cancels_asked: u32,
    cancels_hit: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Process {
    owner: Option<u32>,
    last_owner: Option<u32>,
}

/// For so long a misfortune may have consequences, in microseconds of flow.
const AFTERMATH: u64 = 60_000_000;

impl Oracle {
    /// A promise was broken; only the first one counts.
    pub(crate) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// A client begins its next session.
    pub(crate) fn session_begins(&mut self, session: u32, place: usize) {
        let session = session as usize;
        self.sessions.resize(session + 1, Session::default());
        self.sessions[session].place = place;
    }

    pub(crate) fn process_started(&mut self) {
        self.processes.push(Process::default());
    }

    /// The client that a session belongs to.
    pub(crate) fn app_of(&self, session: u32) -> Option<usize> {
        self.sessions.get(session as usize).map(|session| session.place)
    }

    /// The pooler has given a request to a server.
    pub(crate) fn seen(&mut self, token: Token) {
        let session = &mut self.sessions[token.session as usize];
        session.seen = session.seen.max(token.number);
    }

    pub(crate) fn was_seen(&self, token: Token) -> bool {
        self.sessions[token.session as usize].seen >= token.number
    }

    /// A server runs a client's statement.
    pub(crate) fn ran(&mut self, process: usize, token: Token, claim: Option<(u64, u64)>) {
        let owner = self.processes[process].owner.replace(token.session);
        self.processes[process].last_owner = Some(token.session);
        if let Some(owner) = owner.filter(|owner| *owner != token.session) {
            let what = format!("server {process} runs {token} for another than session {owner}");
            return self.fail(format!("{what}, whose transaction or batch is open"));
        }
        let Some(session) = self.sessions.get_mut(token.session as usize) else {
            return self.fail(format!("server {process} runs {token} of nobody"));
        };
        if token.number < session.ran {
            return self.fail(format!("server {process} runs {token} late"));
        }
        session.ran = token.number;
        if let Some((claimed, real)) = claim.filter(|(claimed, real)| claimed != real) {
            self.fail(format!(
                "server {process} runs {token} with other parameters than its client's: \
                 {real:x} instead of {claimed:x}"
            ));
        }
    }

    /// A server runs something of the pooler's own.
    pub(crate) fn asked(&mut self, process: usize, own: Own) {
        match (own, self.processes[process].owner) {
            (Own::Reset, _) => self.processes[process].owner = None,
            (_, None) | (Own::Probe, _) => {}
            (own, Some(owner)) => self.fail(format!(
                "server {process} runs {own:?} of the pooler inside the transaction, batch or \
                 session of {owner}"
            )),
        }
    }

    /// No transaction and no batch is open on a server.
    pub(crate) fn settled(&mut self, process: usize) {
        self.processes[process].owner = None;
    }

    /// Whether somebody's transaction, batch or session is open, and who was served last.
    pub(crate) fn owners(&self, process: usize) -> (Option<u32>, Option<u32>) {
        (self.processes[process].owner, self.processes[process].last_owner)
    }

    // Servers.

    /// A pool has got a server, and what to welcome clients with.
    pub(crate) fn pool_works(&mut self, pool: Pool, flow: u64) {
        self.known.entry(pool).or_insert(flow);
        self.doomed.remove(&pool);
    }

    /// Since when a pool is known to have had a server.
    pub(crate) fn known_since(&self, pool: Pool) -> Option<u64> {
        self.known.get(&pool).copied()
    }

    /// A login to a pool was refused, for good or not, and the pooler knows.
    pub(crate) fn login_refused(&mut self, pool: Pool, for_good: bool, now: (u64, u64)) {
        match for_good {
            true => drop(self.doomed.insert(pool, now)),
            false => drop(self.doomed.remove(&pool)),
        }
    }

    /// With a new configuration, what was refused may be mended.
    pub(crate) fn hope(&mut self) {
        self.doomed.clear();
    }

    /// When the last login to a pool was refused for good.
    pub(crate) fn doomed_since(&self, pool: Pool) -> Option<(u64, u64)> {
        self.doomed.get(&pool).copied()
    }

    /// Whether anything has gone wrong lately.
    pub(crate) fn is_troubled(&self, flow: u64) -> bool {
        self.was_troubled_since(flow.saturating_sub(AFTERMATH))
    }

    /// Whether anything has gone wrong since then.
    pub(crate) fn was_troubled_since(&self, flow: u64) -> bool {
        [self.mishap, self.refused].into_iter().flatten().any(|at| at >= flow)
    }

    /// A connection turns out to be that of a server of this user.
    pub(crate) fn server_known(
        &mut self,
        wire: WireId,
        (port, database, user): (usize, &str, &str),
    ) {
        let place = USERS.iter().position(|known| *known == user);
        let known = place.and_then(|user| self.spans.known(wire, user));
        if known != Some(port) || database != DATABASES[port] {
            self.fail(format!("wire {} logs in to {database}", wire.0));
        }
    }

    // Cancel requests.

    /// A client has asked for a cancel.
    pub(crate) fn cancel_asked(&mut self, session: u32) {
        self.sessions[session as usize].cancels_asked += 1;
    }

    /// A cancel request has ended this statement.
    pub(crate) fn cancel_hit(&mut self, token: Option<Token>) {
        let Some(token) = token else {
            return self.fail("a cancel request has hit a query of the pooler's own".into());
        };
        let session = &mut self.sessions[token.session as usize];
        session.cancels_hit += 1;
        if session.cancels_hit > session.cancels_asked {
            self.fail(format!("a cancel request has hit {token}, whose client asked for none"));
        }
    }

    // Ends.

    /// A server has died, or time has gone by in which nobody could answer.
    pub(crate) fn mishap(&mut self, flow: u64) {
        self.mishap = Some(flow);
    }

    /// Servers have refused somebody.
    pub(crate) fn refusal(&mut self, flow: u64) {
        self.refused = Some(flow);
    }
}
