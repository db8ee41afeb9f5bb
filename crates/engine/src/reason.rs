//! Every way to say goodbye: the text for log and client, spelled as PgBouncer does, and the
//! SQLSTATE that PostgreSQL would use.

use std::borrow::Cow;

use wire::sqlstate;

use crate::command::Parting;

/// Why a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    AdminForced,
    BadHeader(String),
    BadPacket,
    BadStartup(Cow<'static, str>),
    CancelEnded,
    CancelRefused(&'static str),
    ClientClose,
    ClientEof,
    ClientIdleTimeout,
    ClientLoginTimeout {
        server_down: bool,
    },
    ConfigurationChanged,
    DatabaseDisabled(String),
    DatabaseRemoved,
    IdleTransactionTimeout,
    InvalidServerParameter,
    LifetimeOver,
    LoginFailed(std::sync::Arc<crate::pool::Failure>),
    /// The configuration contradicts itself; the log says how.
    Misconfigured,
    NoSuchDatabase(String),
    NotAllowed,
    Paused,
    PasswordFailed(&'static str),
    PqexecDisallowed,
    /// A query has taken too long, on a server or waiting for one.
    QueryTimeout {
        waiting: bool,
    },
    QueryWaitTimeout,
    ServerCrashed,
    ServerDesync(&'static str),
    ServerIdleTimeout,
    /// A login has failed before this client came.
    ServerLoginFailing(std::sync::Arc<crate::pool::Failure>),
    ServerMovedOn(&'static str),
    /// It has said why itself.
    ServerSaidFatal,
    ShuttingDown,
    ServersShutDown,
    SuspendTimeout,
    TooManyClients,
    TooManyClientsOfDatabase,
    TooManyClientsOfUser,
    TooManyRequests,
    TransactionBlock,
    TransactionTimeout,
    TrustFailed,
    UnknownMessage,
    UnencryptedData(&'static str),
    UnsupportedFeature(&'static str),
}

/// What a client is told before its connection is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) author: Author,
    pub(crate) sqlstate: Cow<'static, str>,
    pub(crate) message: String,
}

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Pooler,
    Server,
}

impl Told {
    /// The SQLSTATE that is sent; `legacy` is `legacy_sqlstate`.
    pub(crate) fn sqlstate(&self, legacy: bool) -> &str {
        match self.author {
            Author::Pooler => sqlstate_of_ours(&self.sqlstate, legacy),
            Author::Server => &self.sqlstate,
        }
    }
}

/// The SQLSTATE of an error of the pooler itself: PostgreSQL's for the case, or the one that
/// PgBouncer has for all.
pub(crate) fn sqlstate_of_ours(sqlstate: &str, legacy: bool) -> &str {
    if legacy { sqlstate::PROTOCOL_VIOLATION } else { sqlstate }
}

impl Reason {
    /// The text of the log line `closing because: …`.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::AdminForced => "admin forced disconnect".into(),
            Self::BadHeader(hex) => format!("bad packet header: '{hex}'").into(),
            Self::BadPacket => "bad packet".into(),
            Self::BadStartup(text) => text.as_ref().into(),
            Self::CancelEnded => "successfully sent cancel request".into(),
            Self::CancelRefused(text) | Self::ServerDesync(text) | Self::ServerMovedOn(text) => {
                (*text).into()
            }
            Self::ClientClose => "client close request".into(),
            Self::ClientEof => "client unexpected eof".into(),
            Self::ClientIdleTimeout => "client_idle_timeout".into(),
            Self::ClientLoginTimeout { server_down: false } => "client_login_timeout".into(),
            Self::ClientLoginTimeout { server_down: true } => {
                "client_login_timeout (server down)".into()
            }
            Self::ConfigurationChanged => "database configuration changed".into(),
            Self::DatabaseDisabled(name) => format!("database \"{name}\" is disabled").into(),
            Self::DatabaseRemoved => "database removed".into(),
            Self::IdleTransactionTimeout => "idle transaction timeout".into(),
            Self::InvalidServerParameter => "invalid server parameter".into(),
            Self::LifetimeOver => "server lifetime over".into(),
            Self::LoginFailed(failure) => failure.text.as_str().into(),
            Self::Misconfigured => "bouncer config error".into(),
            Self::NoSuchDatabase(name) => format!("no such database: {name}").into(),
            Self::NotAllowed => "not allowed".into(),
            Self::Paused => "pause mode".into(),
            Self::PasswordFailed(text) => (*text).into(),
            Self::PqexecDisallowed => "PQexec disallowed".into(),
            Self::QueryTimeout { waiting: false } => "query timeout".into(),
            Self::QueryTimeout { waiting: true } => "query_timeout".into(),
            Self::QueryWaitTimeout => "query_wait_timeout".into(),
            Self::ServerCrashed | Self::ServerSaidFatal => "server conn crashed?".into(),
            Self::ServerIdleTimeout => "server idle timeout".into(),
            Self::ServerLoginFailing(failure) => failure.told_later().message.into(),
            Self::ShuttingDown => "pooler is shutting down".into(),
            Self::ServersShutDown => "server shutting down".into(),
            Self::SuspendTimeout => "suspend_timeout".into(),
            Self::TooManyClients => "no more connections allowed (max_client_conn)".into(),
            Self::TooManyClientsOfDatabase => {
                "client connections exceeded (max_db_client_connections)".into()
            }
            Self::TooManyClientsOfUser => {
                "client connections exceeded (max_user_client_connections)".into()
            }
            Self::TransactionBlock => {
                "transaction blocks not allowed in statement pooling mode".into()
            }
            Self::TransactionTimeout => "transaction timeout".into(),
            Self::TooManyRequests => "too many outstanding requests".into(),
            Self::TrustFailed => "\"trust\" authentication failed".into(),
            Self::UnknownMessage => "unknown pkt".into(),
            Self::UnencryptedData(what) => {
                format!("received unencrypted data after {what} request").into()
            }
            Self::UnsupportedFeature(text) => (*text).into(),
        }
    }

    /// How to part from a client: who goes by itself, or was never anybody, needs no ceremony; all
    /// others must not lose their last message in the reset that unread bytes would cause.
    pub(crate) fn parting(&self) -> Parting {
        match self {
            Self::BadPacket
            | Self::CancelEnded
            | Self::CancelRefused(_)
            | Self::ClientClose
            | Self::ClientEof => Parting::Close,
            _ => Parting::Drain,
        }
    }

    /// What the client is told, or nothing where PgBouncer closes silently.
    pub(crate) fn told(&self) -> Option<Told> {
        let sqlstate = match self {
            Self::BadPacket
            | Self::CancelEnded
            | Self::CancelRefused(_)
            | Self::ClientClose
            | Self::ClientEof
            | Self::ServerSaidFatal => return None,
            Self::LoginFailed(failure) => return Some(failure.told()),
            Self::ServerLoginFailing(failure) => return Some(failure.told_later()),
            Self::BadHeader(_)
            | Self::BadStartup(_)
            | Self::ServerDesync(_)
            | Self::UnencryptedData(_)
            | Self::UnknownMessage => sqlstate::PROTOCOL_VIOLATION,
            Self::ClientLoginTimeout { .. } | Self::ServerCrashed => sqlstate::CONNECTION_FAILURE,
            Self::ClientIdleTimeout => sqlstate::IDLE_SESSION_TIMEOUT,
            Self::IdleTransactionTimeout => sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            Self::TransactionTimeout => sqlstate::TRANSACTION_TIMEOUT,
            Self::QueryTimeout { .. } | Self::QueryWaitTimeout => sqlstate::QUERY_CANCELED,
            // With this one, clients that have a list of hosts go on to the next.
            Self::DatabaseDisabled(_) => sqlstate::CANNOT_CONNECT_NOW,
            Self::NoSuchDatabase(_) => sqlstate::INVALID_CATALOG_NAME,
            Self::NotAllowed | Self::TrustFailed => sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
            Self::PasswordFailed(_) => sqlstate::INVALID_PASSWORD,
            Self::TooManyClients | Self::TooManyClientsOfDatabase | Self::TooManyClientsOfUser => {
                sqlstate::TOO_MANY_CONNECTIONS
            }
            Self::TooManyRequests => sqlstate::INSUFFICIENT_RESOURCES,
            Self::PqexecDisallowed | Self::TransactionBlock | Self::UnsupportedFeature(_) => {
                sqlstate::FEATURE_NOT_SUPPORTED
            }
            Self::Misconfigured => sqlstate::CONFIG_FILE_ERROR,
            Self::InvalidServerParameter => sqlstate::INVALID_PARAMETER_VALUE,
            Self::AdminForced
            | Self::ConfigurationChanged
            | Self::DatabaseRemoved
            | Self::LifetimeOver
            | Self::Paused
            | Self::ServerIdleTimeout
            | Self::ServerMovedOn(_)
            | Self::ServersShutDown
            | Self::ShuttingDown
            | Self::SuspendTimeout => sqlstate::ADMIN_SHUTDOWN,
        };
        let (sqlstate, message) = (sqlstate.into(), self.text().into_owned());
        Some(Told { author: Author::Pooler, sqlstate, message })
    }
}

#[cfg(test)]
mod tests;
