//! What one worker may tell another.
//!
//! Mail is rare: a login that belongs elsewhere, an idle server that is lent, a cancel request, an
//! order of the console. Everything in it travels by value, so that no worker ever looks into
//! another one's memory.

use std::sync::Arc;

use crate::act::Act;
use crate::admin::report::{Part, Table};
use crate::client::ClientParcel;
use crate::command::{Shutdown, Ticket};
use crate::ids::{ConnId, WorkerId};
use crate::pool::{Failure, Welcome};
use crate::server::ServerParcel;
use crate::setup::Setup;
use crate::time::Time;

/// Names a pool over all workers: its database and its pool user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolKey {
    /// The name of the database in the configuration, or of an automatic one.
    pub database: Arc<str>,
    /// The user that logs in to the server.
    pub user: Arc<str>,
}

/// A limit on servers that is counted over all workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// That of a pool.
    Pool(PoolKey),
    /// `max_db_connections` of this database.
    Database(Arc<str>),
    /// `max_user_connections` of this user.
    User(Arc<str>),
}

/// A letter without a socket.
#[derive(Clone)]
pub enum Mail {
    /// A client has waited for a server on worker `by` since `since`: lend one when that client is
    /// the oldest waiter. Replaces an earlier request of the same worker.
    Borrow {
        /// The pool.
        pool: PoolKey,
        /// The worker that asks.
        by: WorkerId,
        /// Since when its oldest client has waited.
        since: Time,
    },
    /// Worker `by` needs no server of this pool any more.
    Withdraw {
        /// The pool.
        pool: PoolKey,
        /// The worker that had asked.
        by: WorkerId,
    },
    /// A slot of the ledger has come free, and the receiver had been refused one.
    SlotFreed {
        /// Where it is free.
        of: Limit,
    },
    /// A pool can have no server because others of its database or user have them all: close one
    /// that is idle.
    Hungry {
        /// What is full.
        of: Limit,
    },
    /// What new clients of this pool are welcomed with.
    Welcome {
        /// The pool.
        pool: PoolKey,
        /// The parameters that the server reported at login.
        welcome: Arc<Welcome>,
    },
    /// A login to the server of this pool has failed.
    LoginFailed {
        /// The pool.
        pool: PoolKey,
        /// What the server or the network said.
        failure: Arc<Failure>,
    },
    /// SCRAM keys learnt from a client's login, for logins to servers.
    Keys {
        /// The user they belong to.
        user: Arc<str>,
        /// The keys.
        keys: auth::ScramKeys,
    },
    /// A cancel request with a key that names a client of the receiving worker.
    Cancel {
        /// The key.
        key: [u8; 8],
        /// The worker that holds the requester's connection.
        by: WorkerId,
        /// The requester's connection there.
        requester: ConnId,
    },
    /// The cancel request of this connection is finished: its requester may be closed.
    CancelEnded {
        /// The requester's connection on the receiving worker.
        requester: ConnId,
    },
    /// Report what is known about a table.
    Gather {
        /// The worker that asks.
        by: WorkerId,
        /// Comes back with the report.
        ticket: Ticket,
        /// What is wanted.
        table: Table,
    },
    /// One worker's part of a table.
    Report {
        /// The ticket of the request.
        ticket: Ticket,
        /// The worker's part.
        part: Box<Part>,
    },
    /// A new configuration is in force.
    Setup(Arc<Setup>),
    /// An operator has done something, which every worker hears.
    Act(Act),
    /// Shut down.
    Shutdown(Shutdown),
}

impl std::fmt::Debug for Mail {
    /// The kind and, where there is one, the pool: never a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Borrow { pool, by, since } => write!(f, "Borrow({pool:?}, {by:?}, {since:?})"),
            Self::Withdraw { pool, by } => write!(f, "Withdraw({pool:?}, {by:?})"),
            Self::SlotFreed { of } => write!(f, "SlotFreed({of:?})"),
            Self::Hungry { of } => write!(f, "Hungry({of:?})"),
            Self::Welcome { pool, .. } => write!(f, "Welcome({pool:?})"),
            Self::LoginFailed { pool, .. } => write!(f, "LoginFailed({pool:?})"),
            Self::Keys { user, .. } => write!(f, "Keys({user})"),
            Self::Cancel { by, requester, .. } => write!(f, "Cancel({by:?}, {requester:?})"),
            Self::CancelEnded { requester } => write!(f, "CancelEnded({requester:?})"),
            Self::Gather { by, ticket, table } => {
                write!(f, "Gather({by:?}, {ticket:?}, {table:?})")
            }
            Self::Report { ticket, .. } => write!(f, "Report({ticket:?})"),
            Self::Setup(_) => f.write_str("Setup"),
            Self::Act(act) => write!(f, "{act:?}"),
            Self::Shutdown(how) => write!(f, "Shutdown({how:?})"),
        }
    }
}

/// A connection under way to another worker.
#[derive(Debug)]
pub enum Parcel {
    /// A client that is to live on another worker: placed once, when its pool is known.
    Client(Box<ClientParcel>),
    /// An idle server on loan.
    Server(Box<ServerParcel>),
}
