//! What an operator does to the whole pooler, and whether it rests for it.
//!
//!     console ──► Order ──► the program ──► Mail::Act to every worker ──► Announced to the console
//!     signal ─────────────────┘
//!
//! The program is the one place that all acts come through, so that all workers hear them in the
//! same order, and that of reloads. Whoever answers mail that was sent after the announcement has
//! heard the act, because mailboxes keep order. Knows nothing of what an act does to connections.

use std::sync::Arc;

/// Something that every worker does, in the same order as all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// DISABLE: a database lets no more clients in.
    Disable(Arc<str>),
    /// ENABLE: it does again.
    Enable(Arc<str>),
    /// KILL: these databases lose their clients and servers and are paused.
    Kill(Vec<Arc<str>>),
    /// KILL_CLIENT: the client of this number is sent away.
    KillClient(u64),
    /// PAUSE of one database, or of all.
    Pause(Option<Arc<str>>),
    /// RECONNECT: the servers of one database, or of all, are replaced when they are free.
    Reconnect(Option<Arc<str>>),
    /// RESUME of one database, or of everything that rests as a whole.
    Resume(Option<Arc<str>>),
    /// SUSPEND: nothing is read any more.
    Suspend,
}

/// Whether the pooler as a whole works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// It does.
    #[default]
    Working,
    /// PAUSE: no servers are handed out.
    Paused,
    /// SUSPEND: nothing is read either.
    Suspended,
}

impl Rest {
    /// What an act makes of it. An act that comes too late changes nothing, on no worker.
    #[must_use]
    pub fn after(self, act: &Act) -> Self {
        match (self, act) {
            (Self::Working, Act::Pause(None)) => Self::Paused,
            (Self::Working, Act::Suspend) => Self::Suspended,
            (_, Act::Resume(None)) => Self::Working,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests;
