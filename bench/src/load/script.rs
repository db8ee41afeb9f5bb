//! What both sides of the load say, built once as bytes.
//!
//! The fake server asks for no password, names the parameters that PostgreSQL 15 names, and
//! answers `SELECT 1` with one row. Anything else gets its first word back as the command tag,
//! which is enough for `SET`, `DISCARD ALL` and `BEGIN`.

use wire::write;
use wire::{PROTOCOL_3_0, TransactionStatus};

/// Ready-made messages of clients and fake servers.
pub(super) struct Script {
    /// A client's StartupMessage.
    pub(super) startup: Vec<u8>,
    /// A client's Query `SELECT 1`.
    pub(super) query: Vec<u8>,
    /// A server's greeting, from AuthenticationOk to ReadyForQuery.
    pub(super) welcome: Vec<u8>,
    /// A server's answer to `SELECT 1`.
    pub(super) row: Vec<u8>,
    /// A server's answer to an empty query.
    pub(super) nothing: Vec<u8>,
}

impl Script {
    pub(super) fn new() -> Self {
        let mut script = Self {
            startup: Vec::new(),
            query: Vec::new(),
            welcome: Vec::new(),
            row: Vec::new(),
            nothing: Vec::new(),
        };
        let who: &[(&[u8], &[u8])] = &[(b"user", b"bench"), (b"database", b"bench")];
        write::startup(&mut script.startup, PROTOCOL_3_0, who);
        write::query(&mut script.query, b"SELECT 1");

        write::authentication_ok(&mut script.welcome);
        for (name, value) in PARAMETERS {
            write::parameter_status(&mut script.welcome, name.as_bytes(), value.as_bytes());
        }
        write::backend_key_data(&mut script.welcome, 4711, &[1, 2, 3, 4]);
        write::ready_for_query(&mut script.welcome, TransactionStatus::Idle);

        write::row_description(&mut script.row, &[("?column?", INT4, 4)]);
        write::data_row(&mut script.row, &[Some(b"1")]);
        write::command_complete(&mut script.row, "SELECT 1");
        write::ready_for_query(&mut script.row, TransactionStatus::Idle);

        write::empty_query_response(&mut script.nothing);
        write::ready_for_query(&mut script.nothing, TransactionStatus::Idle);
        script
    }

    /// Appends a server's answer to `statement`.
    pub(super) fn answer(&self, statement: &[u8], out: &mut Vec<u8>) {
        if statement.eq_ignore_ascii_case(b"SELECT 1") {
            out.extend_from_slice(&self.row);
            return;
        }
        let text = String::from_utf8_lossy(statement);
        let Some(word) = text.split(|c: char| !c.is_ascii_alphabetic()).find(|w| !w.is_empty())
        else {
            out.extend_from_slice(&self.nothing);
            return;
        };
        write::command_complete(out, &word.to_ascii_uppercase());
        write::ready_for_query(out, TransactionStatus::Idle);
    }
}

const INT4: u32 = 23;

const PARAMETERS: [(&str, &str); 11] = [
    ("application_name", ""),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_read_only", "off"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "off"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "UTC"),
];
