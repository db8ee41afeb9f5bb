//! What must hold while a client and a server talk; the only room that sees both.

pub(crate) mod outstanding;

pub(crate) use outstanding::{Heard, Outstanding};
use wire::TransactionStatus;

use crate::client::Client;
use crate::ids::Id;
use crate::server::Server;

/// A client and a server that belong together for now; kept at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) client: Id<Client>,
    pub(crate) phase: Phase,
}

/// What the two are at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The server receives the client's parameters; the client is not read from.
    Setting {
        /// A SET has failed; the rest of the answer is still to come.
        failed: bool,
    },
    /// Messages pass.
    Talking,
}

/// Whether this server may be given to somebody else: the one place that decides it.
///
/// The client's parameters have been set, a ReadyForQuery with status idle has come after the
/// client's last message, nothing is
/// outstanding and no batch is open, no message is half way in either direction, and what the
/// client has said has left. (That the client has *taken* everything is asked in
/// [`may_release`]; a client that leaves needs nothing more.)
pub(crate) fn is_settled(client: &Client, server: &Server) -> bool {
    let talking = server.link().is_some_and(|link| link.phase == Phase::Talking);
    talking
        && server.status == TransactionStatus::Idle
        && server.outstanding.is_settled()
        && server.is_between_messages()
        && server.outbox.is_empty()
        && client.stream.at_boundary()
}

/// Whether this server may leave this client, which stays.
pub(crate) fn may_release(client: &Client, server: &Server) -> bool {
    is_settled(client, server) && client.outbox.is_empty()
}
