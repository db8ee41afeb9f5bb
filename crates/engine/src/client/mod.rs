//! What a client says; knows no pools and no servers.

pub(crate) mod authenticate;
pub(crate) mod inspect;
pub(crate) mod startup;

use std::sync::Arc;

use crate::admin::Console;
use crate::command::{Parting, Peer};
use crate::ids::{Id, Sided};
use crate::params::Params;
use crate::pool::PoolId;
use crate::pool::ledger::Membership;
use crate::server::Server;
use crate::stream::{Outbox, Reading, Stream};
use crate::time::Time;
use authenticate::Authentication;

/// A connection that somebody opened to the pooler.
pub(crate) struct Client {
    pub(crate) stage: Stage,
    pub(crate) peer: Peer,
    /// Names it for KILL_CLIENT; no other connection of the process ever has the same.
    pub(crate) number: u64,
    /// Who it is, once the startup packet has said so.
    pub(crate) login: Option<Arc<Login>>,
    pub(crate) pool: Option<PoolId>,
    /// What it counts as in the ledger, once it has said who it is.
    pub(crate) membership: Option<Membership>,
    pub(crate) stream: Stream,
    pub(crate) outbox: Outbox,
    pub(crate) params: Arc<Params>,
    /// The key with which its query can be cancelled; 0 before it has one.
    pub(crate) key: u64,
    pub(crate) reading: Reading,
    /// Where it has parsed its unnamed statement last.
    pub(crate) unnamed_on: Option<Id<Server>>,
    pub(crate) times: Times,
}

/// When a client came, asked and began what it is at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) connected: Time,
    pub(crate) requested: Time,
    /// Since when its server has something to answer; only meaningful while it has.
    pub(crate) asked: Time,
    /// Since when it waits; only meaningful while it does.
    pub(crate) waiting: Time,
    /// The begin of the current query cycle and transaction; `NEVER` outside of one.
    pub(crate) query: Time,
    pub(crate) transaction: Time,
}

/// The names of a login, shared by the connections of one user to one database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Login {
    pub(crate) database: Arc<str>,
    pub(crate) user: Arc<str>,
}

/// What a client is at.
pub(crate) enum Stage {
    /// The first packets.
    Startup {
        /// SSLRequest, then GSSENCRequest have been answered.
        refused: startup::Refused,
    },
    /// It proves who it is.
    Authenticating(Box<Authentication>),
    /// Logged in, but no server of its pool has ever said what to welcome it with.
    Newcomer,
    /// Logged in, and needs no server.
    Idle,
    /// In the pool's list of waiting clients.
    Waiting {
        /// It has been told that it waits.
        notified: bool,
    },
    /// Served by this server.
    Linked(Id<Server>),
    /// On the console.
    Console(Box<Console>),
    /// It sent a cancel request and waits for its end.
    Canceling {
        /// Whether the request has reached the worker of its target.
        delivered: bool,
    },
    /// The end has been decided; the shell will come for the farewell.
    Gone(Parting),
}

impl Sided for Client {
    const SIDE: u32 = 0;
}

impl Client {
    pub(crate) fn new(peer: Peer, number: u64, now: Time) -> Self {
        Self {
            stage: Stage::Startup { refused: startup::Refused::default() },
            peer,
            number,
            login: None,
            pool: None,
            membership: None,
            stream: Stream::new(),
            outbox: Outbox::new(),
            params: Arc::default(),
            key: 0,
            reading: Reading::On,
            unnamed_on: None,
            times: Times {
                connected: now,
                requested: now,
                asked: now,
                waiting: now,
                query: Time::NEVER,
                transaction: Time::NEVER,
            },
        }
    }

    pub(crate) fn server(&self) -> Option<Id<Server>> {
        match self.stage {
            Stage::Linked(server) => Some(server),
            _ => None,
        }
    }

    /// Whether its end has been decided.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Gone(_))
    }

    /// Whether it has logged in to a pool.
    pub(crate) fn is_in_pool(&self) -> bool {
        matches!(self.stage, Stage::Idle | Stage::Linked(_)) || self.waits()
    }

    /// Whether it waits for a server, or for the welcome.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. } | Stage::Newcomer)
    }

    /// The state's name in SHOW CLIENTS; `None` for those that SHOW CLIENTS leaves out.
    pub(crate) fn state(&self) -> Option<&'static str> {
        match self.stage {
            Stage::Linked(_) | Stage::Console(_) => Some("active"),
            Stage::Idle => Some("idle"),
            Stage::Waiting { .. } | Stage::Newcomer => Some("waiting"),
            Stage::Canceling { delivered: false } => Some("waiting_cancel_req"),
            Stage::Canceling { delivered: true } => Some("active_cancel_req"),
            Stage::Startup { .. } | Stage::Authenticating(_) | Stage::Gone(_) => None,
        }
    }
}

/// A client on its way to another worker, by value: its startup packet has been read, nothing has
/// been asked of it yet.
#[derive(Debug)]
pub struct ClientParcel {
    pub(crate) peer: Peer,
    pub(crate) number: u64,
    pub(crate) request: startup::Request,
    pub(crate) connected: Time,
    /// What it has sent behind the startup packet.
    pub(crate) held: Vec<u8>,
    /// What it has not been sent yet.
    pub(crate) unsent: Vec<u8>,
}
