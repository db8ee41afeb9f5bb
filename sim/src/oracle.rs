//! The promises of a pooler, checked from outside.
//!
//! * No foreign statement runs inside a client's transaction, batch or session.
//! * A server runs with the parameters of the client it serves, and runs its requests in order.
//! * The servers of a pool are never more than its size, over all workers, logins included.
//! * A cancel request ends no query but its own client's.
//! * Nobody is told of an end without a cause, and nobody is cut off without a word.
//!
//! That a client sees only answers to its own requests is checked by the client itself, and who may
//! be served before whom in `fairness`. Knows no engine.

pub(crate) mod fairness;

use std::collections::BTreeMap;

use crate::app::Flaw;
use crate::net::WireId;
use crate::oracle::fairness::Pool;
use crate::plan::Plan;
use crate::postgres::Own;
use crate::statement::Token;

/// What is known and promised so far.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// The first promise that was broken.
    pub(crate) failure: Option<String>,
    sessions: Vec<Session>,
    processes: Vec<Process>,
    spans: Vec<Span>,
    steps: u64,
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

/// The life of a connection that the pooler has opened.
#[derive(Debug, Clone)]
struct Span {
    wire: WireId,
    database: usize,
    user: Option<String>,
    is_cancel: bool,
    /// The size of the pool when it was opened, as the worker knew it that did.
    limit: u32,
    opened: u64,
    closed: Option<u64>,
    flow: u64,
    closed_at: u64,
}

/// A client that was told that its connection ends.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) place: usize,
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
    pub(crate) flow: u64,
    /// For how long its request has waited, as the engine counts.
    pub(crate) waited: Option<u64>,
    pub(crate) connected: u64,
    pub(crate) flaw: Flaw,
    pub(crate) shutdown: bool,
    pub(crate) crowded: bool,
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

    // Limits.

    pub(crate) fn server_opened(&mut self, wire: WireId, database: usize, limit: u32, flow: u64) {
        self.steps += 1;
        let opened = self.steps;
        self.spans.push(Span {
            wire,
            database,
            user: None,
            is_cancel: false,
            limit,
            opened,
            closed: None,
            flow,
            closed_at: 0,
        });
    }

    pub(crate) fn server_closed(&mut self, wire: WireId, flow: u64) {
        self.steps += 1;
        let steps = self.steps;
        if let Some(span) = self.span(wire).filter(|span| span.closed.is_none()) {
            (span.closed, span.closed_at) = (Some(steps), flow);
        }
    }

    /// Since when no connection to this database is open; `None` while there is one.
    pub(crate) fn deserted_since(&self, database: usize) -> Option<u64> {
        let mut spans = self.spans.iter().filter(|span| span.database == database);
        spans.try_fold(0, |last, span| span.closed.map(|_| last.max(span.closed_at)))
    }

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

    /// When the last login to a pool was refused for good.
    pub(crate) fn doomed_since(&self, pool: Pool) -> Option<(u64, u64)> {
        self.doomed.get(&pool).copied()
    }

    /// Whether anything has gone wrong lately.
    pub(crate) fn is_troubled(&self, flow: u64) -> bool {
        let lately = |since: Option<u64>| since.is_some_and(|since| flow < since + AFTERMATH);
        lately(self.mishap) || lately(self.refused)
    }

    fn span(&mut self, wire: WireId) -> Option<&mut Span> {
        self.spans.iter_mut().rev().find(|span| span.wire == wire)
    }

    /// A connection turns out to be that of a server of this user.
    pub(crate) fn server_known(
        &mut self,
        wire: WireId,
        (port, database, user): (usize, &str, &str),
    ) {
        let known = self.span(wire).map(|span| {
            span.user = Some(user.to_owned());
            span.database
        });
        if known != Some(port) || database != crate::plan::DATABASES[port] {
            self.fail(format!("wire {} logs in to {database}", wire.0));
        }
    }

    /// A connection turns out to carry a cancel request.
    pub(crate) fn is_cancel(&mut self, wire: WireId) {
        if let Some(span) = self.span(wire) {
            span.is_cancel = true;
        }
    }

    /// Whether some connection to this database is open of which it is not known to be a server's.
    pub(crate) fn has_strangers(&self, database: usize) -> bool {
        let stranger = |span: &&Span| span.closed.is_none() && span.user.is_none();
        self.spans.iter().filter(stranger).any(|span| span.database == database)
    }

    /// Looks whether a pool ever had more servers than its size.
    pub(crate) fn check_limits(&self) -> Result<(), String> {
        for span in self.spans.iter().filter(|span| span.user.is_some()) {
            let others = self.spans.iter().filter(|other| {
                let same = (other.database, &other.user) == (span.database, &span.user);
                let before = other.opened <= span.opened;
                same && before && other.closed.is_none_or(|closed| closed > span.opened)
            });
            let count = others.count();
            if count > span.limit as usize {
                return Err(format!(
                    "{count} servers of a pool of {} at {:.3} ms, with wire {}",
                    span.limit,
                    span.flow as f64 / 1000.0,
                    span.wire.0
                ));
            }
        }
        Ok(())
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

    /// A client was told why its connection ends: was it true?
    pub(crate) fn client_told(&mut self, ending: &Ending<'_>, plan: &Plan) {
        let lately =
            |since: Option<u64>| since.is_some_and(|since| ending.flow < since + AFTERMATH);
        let over = |waited: Option<u64>, limit: u64| {
            limit > 0 && waited.is_none_or(|waited| waited >= limit)
        };
        let has_cause = match ending.message {
            "query_wait_timeout" => over(ending.waited, plan.times.query_wait),
            "client_login_timeout" | "client_login_timeout (server down)" => {
                over(Some(ending.connected), plan.times.login)
            }
            "pooler is shutting down" | "server shutting down" => ending.shutdown,
            "no more connections allowed (max_client_conn)" => plan.max_client_conn < 100,
            "server conn crashed?" => lately(self.mishap),
            "invalid server parameter" => ending.flaw == Flaw::Parameter,
            "simulated end" => lately(self.mishap) || lately(self.refused),
            text if text.starts_with("server login has been failing") => {
                lately(self.refused) || lately(self.mishap)
            }
            text if text.contains("authentication failed") => ending.flaw == Flaw::Password,
            _ => false,
        };
        if !has_cause {
            self.fail(format!(
                "client {} was told {} {:?} without a cause",
                ending.place, ending.code, ending.message
            ));
        }
    }

    /// A client was cut off: had it been told?
    pub(crate) fn client_ended(&mut self, place: usize, flow: u64, told: bool, in_message: bool) {
        let died = self.mishap.is_some_and(|since| flow < since + AFTERMATH);
        if !told && !died {
            self.fail(format!("client {place} was cut off without a word"));
        }
        if in_message && !died && !told {
            self.fail(format!("client {place} was cut off in the middle of a message"));
        }
    }
}
