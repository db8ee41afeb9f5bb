//! How many servers there are: of a pool, of a database with all its pools, of a user with all its.
//!
//! ```text
//! Connect ──► a span, and the limits as the worker knew them ──► startup packet: whose it is
//! closed  ──► its end
//! ```
//!
//! At no instant may there be more than the worker that opened the last one was to allow, over all
//! workers, logins included. Connections that carry cancel requests are nobody's servers.

use crate::net::WireId;
use crate::oracle::fairness::Pool;

/// The most servers that there may be when one is opened, as far as its worker knows; 0 means no
/// limit. Whose the new one is shows only later, so there is one number for each user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Most {
    pub(crate) of_pool: [u32; 2],
    pub(crate) of_database: u32,
    pub(crate) of_user: [u32; 2],
    /// The size of the pool without its reserve, to tell when that was used.
    pub(crate) size: u32,
    /// Whether nobody waits in the pool: then the servers are opened to have a minimum.
    pub(crate) unasked: [bool; 2],
}

/// The life of a connection that the pooler has opened.
#[derive(Debug, Clone)]
struct Span {
    wire: WireId,
    database: usize,
    user: Option<usize>,
    is_cancel: bool,
    most: Most,
    opened: u64,
    closed: Option<u64>,
    flow: u64,
    closed_at: u64,
}

/// All connections that the pooler has opened.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    spans: Vec<Span>,
    /// The places of those that are open.
    open: Vec<usize>,
    steps: u64,
}

/// How often limits were reached that only some plans have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reached {
    pub(crate) database: u64,
    pub(crate) user: u64,
    pub(crate) reserve: u64,
    pub(crate) minimum: u64,
}

impl Spans {
    pub(crate) fn opened(&mut self, wire: WireId, database: usize, most: Most, flow: u64) {
        self.steps += 1;
        self.open.push(self.spans.len());
        self.spans.push(Span {
            wire,
            database,
            user: None,
            is_cancel: false,
            most,
            opened: self.steps,
            closed: None,
            flow,
            closed_at: 0,
        });
    }

    pub(crate) fn closed(&mut self, wire: WireId, flow: u64) {
        self.steps += 1;
        let Some(at) = self.open.iter().position(|place| self.spans[*place].wire == wire) else {
            return;
        };
        let span = &mut self.spans[self.open.remove(at)];
        (span.closed, span.closed_at) = (Some(self.steps), flow);
    }

    /// A connection turns out to be a server's of this user; tells to which database it was opened.
    pub(crate) fn known(&mut self, wire: WireId, user: usize) -> Option<usize> {
        let span = self.spans.iter_mut().rev().find(|span| span.wire == wire)?;
        span.user = Some(user);
        Some(span.database)
    }

    /// A connection turns out to carry a cancel request.
    pub(crate) fn is_cancel(&mut self, wire: WireId) {
        if let Some(span) = self.spans.iter_mut().rev().find(|span| span.wire == wire) {
            span.is_cancel = true;
        }
    }

    fn open(&self) -> impl Iterator<Item = &Span> {
        let open = self.open.iter().map(|place| &self.spans[*place]);
        open.filter(|span| !span.is_cancel)
    }

    /// The servers of a pool, with all of its database of which it is not known whose they are.
    pub(crate) fn of_pool(&self, (database, user): Pool) -> u32 {
        let is_of = |span: &&Span| span.database == database && span.user.is_none_or(|u| u == user);
        self.open().filter(is_of).count() as u32
    }

    /// The servers of a database.
    pub(crate) fn of_database(&self, database: usize) -> u32 {
        self.open().filter(|span| span.database == database).count() as u32
    }

    /// The servers of a user, with all of which it is not known whose they are.
    pub(crate) fn of_user(&self, user: usize) -> u32 {
        self.open().filter(|span| span.user.is_none_or(|of| of == user)).count() as u32
    }

    /// How many servers were opened for a pool since then.
    pub(crate) fn opened_since(&self, pool: Pool, flow: u64) -> usize {
        let spans = self.spans.iter().filter(|span| span.flow >= flow);
        spans.filter(|span| span.user.map(|user| (span.database, user)) == Some(pool)).count()
    }

    /// Since when no connection to this database is open; `None` while there is one.
    pub(crate) fn deserted_since(&self, database: usize) -> Option<u64> {
        let mut spans = self.spans.iter().filter(|span| span.database == database);
        spans.try_fold(0, |last, span| span.closed.map(|_| last.max(span.closed_at)))
    }

    /// Whether some connection to this database is open of which it is not known to be a server's.
    pub(crate) fn has_strangers(&self, database: usize) -> bool {
        let mut open = self.open.iter().map(|place| &self.spans[*place]);
        open.any(|span| span.database == database && span.user.is_none())
    }

    /// Looks whether there were ever more servers than there may be, and how often there were as
    /// many.
    pub(crate) fn check(&self) -> Result<Reached, String> {
        let mut reached = Reached::default();
        let mut open: Vec<(usize, usize, u64)> = Vec::new();
        for span in &self.spans {
            let Some(user) = span.user else { continue };
            open.retain(|(.., closed)| *closed > span.opened);
            open.push((span.database, user, span.closed.unwrap_or(u64::MAX)));
            let count = |is_of: &dyn Fn(usize, usize) -> bool| {
                open.iter().filter(|(database, user, _)| is_of(*database, *user)).count() as u32
            };
            let most = &span.most;
            let of_pool = count(&|database, of| (database, of) == (span.database, user));
            let of_database = count(&|database, _| database == span.database);
            let of_user = count(&|_, of| of == user);
            reached.database += u64::from(of_database == most.of_database);
            reached.user += u64::from(of_user == most.of_user[user]);
            reached.reserve += u64::from(of_pool > most.size);
            reached.minimum += u64::from(most.unasked[user]);
            let what = if most.unasked[user] { "pool that nobody waits for" } else { "pool" };
            let or_any = |most: u32| if most > 0 { most } else { u32::MAX };
            span.check(what, of_pool, most.of_pool[user])?;
            span.check("database", of_database, or_any(most.of_database))?;
            span.check("user", of_user, or_any(most.of_user[user]))?;
        }
        Ok(reached)
    }
}

impl Span {
    fn check(&self, what: &str, count: u32, most: u32) -> Result<(), String> {
        if count <= most {
            return Ok(());
        }
        let at = self.flow as f64 / 1000.0;
        Err(format!(
            "{count} servers of a {what} of {most} at {at:.3} ms, with wire {}",
            self.wire.0
        ))
    }
}
