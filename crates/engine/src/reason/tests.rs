//! The catalogue: what is logged and what a client is told, for every reason.

use std::sync::Arc;

use super::{Author, Reason, Told, sqlstate_of_ours};
use crate::pool::Failure;

/// `silent` in the place of a SQLSTATE: the client is told nothing.
const SILENT: &str = "silent";

fn check(reason: &Reason, sqlstate: &str, text: &str) {
    assert_eq!(reason.text(), text, "{reason:?}");
    match reason.told() {
        None => assert_eq!(sqlstate, SILENT, "{reason:?}"),
        Some(told) => {
            assert_eq!((&*told.sqlstate, &*told.message), (sqlstate, text), "{reason:?}");
            assert_eq!(told.author, Author::Pooler, "{reason:?}");
            assert_eq!(told.sqlstate(false), sqlstate, "{reason:?}");
            assert_eq!(told.sqlstate(true), "08P01", "{reason:?}");
        }
    }
}

#[test]
fn every_reason_has_its_text_and_sqlstate() {
    use Reason::{BadStartup, ClientLoginTimeout, ServerLoginFailing, UnencryptedData};
    let refused = Arc::new(Failure::of_network("connect failed: refused"));
    let cases: &[(Reason, &str, &str)] = &[
        (Reason::AdminForced, "57P01", "admin forced disconnect"),
        (Reason::BadHeader("0a".into()), "08P01", "bad packet header: '0a'"),
        (Reason::BadPacket, SILENT, "bad packet"),
        (BadStartup("no username supplied".into()), "08P01", "no username supplied"),
        (Reason::CancelEnded, SILENT, "successfully sent cancel request"),
        (Reason::CancelRefused("bad cancel request"), SILENT, "bad cancel request"),
        (Reason::ClientClose, SILENT, "client close request"),
        (Reason::ClientEof, SILENT, "client unexpected eof"),
        (ClientLoginTimeout { server_down: false }, "08006", "client_login_timeout"),
        (ClientLoginTimeout { server_down: true }, "08006", "client_login_timeout (server down)"),
        (Reason::ClientIdleTimeout, "57P05", "client_idle_timeout"),
        (Reason::ConfigurationChanged, "57P01", "database configuration changed"),
        (Reason::DatabaseDisabled("app".into()), "57P03", "database \"app\" is disabled"),
        (Reason::DatabaseRemoved, "57P01", "database removed"),
        (Reason::IdleTransactionTimeout, "25P03", "idle transaction timeout"),
        (Reason::InvalidServerParameter, "22023", "invalid server parameter"),
        (Reason::LifetimeOver, "57P01", "server lifetime over"),
        (Reason::Misconfigured, "F0000", "bouncer config error"),
        (Reason::NoSuchDatabase("app".into()), "3D000", "no such database: app"),
        (Reason::NotAllowed, "28000", "not allowed"),
        (Reason::Paused, "57P01", "pause mode"),
        (
            Reason::PasswordFailed("SASL authentication failed"),
            "28P01",
            "SASL authentication failed",
        ),
        (Reason::PqexecDisallowed, "0A000", "PQexec disallowed"),
        (Reason::QueryTimeout { waiting: false }, "57014", "query timeout"),
        (Reason::QueryTimeout { waiting: true }, "57014", "query_timeout"),
        (Reason::QueryWaitTimeout, "57014", "query_wait_timeout"),
        (Reason::ServerCrashed, "08006", "server conn crashed?"),
        (Reason::ServerDesync("unknown pkt from server"), "08P01", "unknown pkt from server"),
        (Reason::ServerIdleTimeout, "57P01", "server idle timeout"),
        (
            ServerLoginFailing(refused),
            "08006",
            "server login has been failing, cached error: connect failed: refused \
             (server_login_retry)",
        ),
        (Reason::ServerMovedOn("connect string changed"), "57P01", "connect string changed"),
        (Reason::ServerSaidFatal, SILENT, "server conn crashed?"),
        (Reason::ServersShutDown, "57P01", "server shutting down"),
        (Reason::ShuttingDown, "57P01", "pooler is shutting down"),
        (Reason::SuspendTimeout, "57P01", "suspend_timeout"),
        (Reason::TooManyClients, "53300", "no more connections allowed (max_client_conn)"),
        (
            Reason::TooManyClientsOfDatabase,
            "53300",
            "client connections exceeded (max_db_client_connections)",
        ),
        (
            Reason::TooManyClientsOfUser,
            "53300",
            "client connections exceeded (max_user_client_connections)",
        ),
        (Reason::TooManyRequests, "53000", "too many outstanding requests"),
        (
            Reason::TransactionBlock,
            "0A000",
            "transaction blocks not allowed in statement pooling mode",
        ),
        (Reason::TransactionTimeout, "25P04", "transaction timeout"),
        (Reason::TrustFailed, "28000", "\"trust\" authentication failed"),
        (UnencryptedData("SSL"), "08P01", "received unencrypted data after SSL request"),
        (Reason::UnknownMessage, "08P01", "unknown pkt"),
        (Reason::UnsupportedFeature("no replication"), "0A000", "no replication"),
    ];
    for (reason, sqlstate, text) in cases {
        check(reason, sqlstate, text);
    }
}

#[test]
fn a_server_keeps_its_own_sqlstate() {
    let mut body = Vec::new();
    wire::write::error_response(&mut body, "FATAL", "3D000", "no such thing");
    let fields = wire::Fields::parse(wire::frame::body(&body)).unwrap();
    let failure = Arc::new(Failure::of_server(&fields));
    let told = Reason::LoginFailed(Arc::clone(&failure)).told().unwrap();
    assert_eq!((&*told.message, told.author), ("no such thing", Author::Server));
    assert_eq!((told.sqlstate(false), told.sqlstate(true)), ("3D000", "3D000"));
    // Later it is the pooler that speaks of it.
    let told = Reason::ServerLoginFailing(failure).told().unwrap();
    assert!(told.message.contains("cached error: no such thing"), "{told:?}");
    assert_eq!((told.sqlstate(false), told.sqlstate(true)), ("3D000", "08P01"));
}

#[test]
fn a_server_that_could_not_be_reached_has_said_nothing() {
    let failure = Failure::of_network("connect failed: refused");
    let Told { author, sqlstate, .. } = failure.told();
    assert_eq!((author, &*sqlstate), (Author::Pooler, "08006"));
    assert_eq!(sqlstate_of_ours("57014", true), "08P01");
}
