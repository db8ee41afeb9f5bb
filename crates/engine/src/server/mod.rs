//! What a server says; knows no clients.

pub(crate) mod login;

use std::sync::Arc;

use wire::TransactionStatus;

use crate::command::Local;
use crate::ids::{Id, Sided};
use crate::link::{Link, Outstanding};
use crate::params::Params;
use crate::pool::PoolId;
use crate::pool::ledger::Slots;
use crate::pool::route::Target;
use crate::reason::Reason;
use crate::stream::{Outbox, Reading, Stream};
use crate::time::Time;
use login::Login;

/// The longest message that is looked at as a whole, in bytes.
pub(crate) const WHOLE_MAX: u32 = 64 * 1024;

/// A connection that the pooler opened to PostgreSQL.
pub(crate) struct Server {
    /// Names it in SHOW SERVERS; no other connection of the process ever has the same.
    pub(crate) number: u64,
    /// How many RECONNECTs and reloads its worker had heard of when it was opened.
    pub(crate) epoch: u64,
    pub(crate) pool: PoolId,
    /// What it was opened for; the pool's own may have changed since.
    pub(crate) target: Arc<Target>,
    /// What it counts as in the ledger; `None` for a connection that carries a cancel request.
    pub(crate) slot: Option<Arc<Slots>>,
    pub(crate) stage: Stage,
    pub(crate) stream: Stream,
    pub(crate) outbox: Outbox,
    pub(crate) outstanding: Outstanding,
    /// Whose unnamed statement the server has, as far as is known; nobody else may use it.
    pub(crate) unnamed_of: Option<Id<crate::client::Client>>,
    pub(crate) status: TransactionStatus,
    pub(crate) params: Arc<Params>,
    /// Process id and secret with which the server's query can be cancelled.
    pub(crate) key: Option<CancelKey>,
    /// Cancel connections on their way to this server; while there are any it serves nobody else.
    pub(crate) cancels: u32,
    pub(crate) fate: Fate,
    pub(crate) reading: Reading,
    pub(crate) times: Times,
    pub(crate) local: Option<Local>,
}

/// When a server was opened, given away and heard from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) opened: Time,
    pub(crate) assigned: Time,
    pub(crate) heard: Time,
}

/// A server's cancel key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CancelKey {
    pub(crate) pid: u32,
    pub(crate) secret: Box<[u8]>,
}

/// What a server is at.
pub(crate) enum Stage {
    /// The connection is being opened.
    Connecting,
    /// Logging in.
    Login(Box<Login>),
    /// In the pool's list of idle servers.
    Idle,
    /// In the pool's list of servers to be checked before use.
    Used,
    /// Busy for the pooler itself.
    Errand(Errand),
    /// Serves a client.
    Linked(Link),
    /// Free, but cancel requests for its last client are still under way.
    BeingCanceled,
    /// Not a server at all: a connection that carries a cancel request.
    Cancel(Delivery),
    /// The end has been decided; the shell will come for the farewell.
    Gone,
}

/// An exchange that the pooler itself starts on a free server: one Query, whose replies are
/// swallowed up to ReadyForQuery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errand {
    pub(crate) purpose: Purpose,
    /// An ErrorResponse has come; the rest of the answer is still to come.
    pub(crate) failed: bool,
}

/// Why the pooler talks to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `server_check_query`: does it still answer?
    Check,
    /// `server_reset_query`: forget what the last client left.
    Reset,
}

/// A cancel request on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The server whose query is to be cancelled.
    pub(crate) target: Id<Server>,
    /// The client that it was serving when the request came.
    pub(crate) client: Id<crate::client::Client>,
    /// Who waits for the end of this, and on which worker.
    pub(crate) requester: Requester,
    pub(crate) progress: Progress,
}

/// How far a cancel request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Not sent yet.
    Opening,
    /// Sent, in part at least: the server may act on it at any time.
    Sent,
    /// The server has closed the connection, and thus acted on it.
    Heard,
}

/// The connection that asked for a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requester {
    pub(crate) worker: crate::ids::WorkerId,
    pub(crate) conn: crate::ids::ConnId,
}

/// What becomes of a server when it is free next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes back to its pool.
    Stay,
    /// It is closed for this reason (`close_needed`).
    Close(Reason),
}

impl Sided for Server {
    const SIDE: u32 = 1;
}

impl Server {
    pub(crate) fn new(
        pool: PoolId,
        target: Arc<Target>,
        slot: Option<Arc<Slots>>,
        stage: Stage,
        now: Time,
    ) -> Self {
        Self {
            number: 0,
            epoch: 0,
            pool,
            target,
            slot,
            stage,
            stream: Stream::new(),
            outbox: Outbox::new(),
            outstanding: Outstanding::new(),
            unnamed_of: None,
            status: TransactionStatus::Idle,
            params: Arc::default(),
            key: None,
            cancels: 0,
            fate: Fate::Stay,
            reading: Reading::On,
            times: Times { opened: now, assigned: now, heard: now },
            local: None,
        }
    }

    pub(crate) fn link(&self) -> Option<Link> {
        match self.stage {
            Stage::Linked(link) => Some(link),
            _ => None,
        }
    }

    /// The state's name in SHOW SERVERS; cancel connections have none there of their own list.
    pub(crate) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Connecting | Stage::Login(_) => "login",
            Stage::Idle => "idle",
            Stage::Used => "used",
            Stage::Errand(_) => "tested",
            Stage::Linked(_) => "active",
            Stage::BeingCanceled => "being_canceled",
            Stage::Cancel(_) => "active_cancel",
            Stage::Gone => "justfree",
        }
    }

    /// It is to be closed when it is free next; the ledger counts it until it has gone.
    pub(crate) fn doom(&mut self, reason: Reason) {
        if let (Fate::Stay, Some(slots)) = (&self.fate, &self.slot) {
            slots.doomed();
        }
        self.fate = Fate::Close(reason);
    }

    /// What it counts as in the ledger, once it has gone.
    pub(crate) fn take_slot(&mut self) -> Option<Arc<Slots>> {
        let slot = self.slot.take();
        if let (Fate::Close(_), Some(slots)) = (&self.fate, &slot) {
            slots.doomed_has_gone();
        }
        slot
    }

    /// Whether no part of a message waits for its rest.
    pub(crate) fn is_between_messages(&self) -> bool {
        self.stream.at_boundary() && self.stream.held.is_empty()
    }

    /// Takes a ParameterStatus to heart; true when it is a tracked parameter with a new value.
    pub(crate) fn note_parameter(&mut self, place: usize, value: &[u8]) -> bool {
        let news = self.params.value(place) != Some(value);
        if news {
            Arc::make_mut(&mut self.params).set(place, value);
        }
        news
    }
}

/// An idle server on its way to another worker, by value.
#[derive(Debug)]
pub struct ServerParcel {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) pool: crate::mail::PoolKey,
    pub(crate) params: Arc<Params>,
    pub(crate) key: Option<CancelKey>,
    pub(crate) fate: Fate,
    pub(crate) times: Times,
    pub(crate) local: Option<Local>,
    pub(crate) target: Arc<Target>,
}
