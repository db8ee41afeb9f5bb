//! Messages that a server sends.
//!
//! ```text
//! we ──► Authentication, ParameterStatus, BackendKeyData, ReadyForQuery
//! we ──► RowDescription, DataRow, CommandComplete, ReadyForQuery         the console
//! we ──► ErrorResponse, NoticeResponse
//! ```
//!
//! Does not know when a client expects which of them, nor any texts of its own.

use super::{message, put_i16, put_i32, put_list, put_text, put_u16, put_u32, put_value};
use crate::TransactionStatus;
use crate::tag::backend as tag;

/// Appends an AuthenticationOk.
pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, tag::AUTHENTICATION, |out| put_u32(out, 0));
}

/// Appends an AuthenticationCleartextPassword.
pub fn authentication_cleartext(out: &mut Vec<u8>) {
    message(out, tag::AUTHENTICATION, |out| put_u32(out, 3));
}

/// Appends an AuthenticationMD5Password.
pub fn authentication_md5(out: &mut Vec<u8>, salt: [u8; 4]) {
    message(out, tag::AUTHENTICATION, |out| {
        put_u32(out, 5);
        out.extend_from_slice(&salt);
    });
}

/// Appends an AuthenticationSASL that offers these mechanisms, the preferred one first.
///
/// A mechanism without a name would end the list early and is left out.
pub fn authentication_sasl(out: &mut Vec<u8>, mechanisms: &[&str]) {
    message(out, tag::AUTHENTICATION, |out| {
        put_u32(out, 10);
        for mechanism in mechanisms.iter().map(|name| name.as_bytes()) {
            if matches!(mechanism.first(), None | Some(0)) {
                continue;
            }
            put_text(out, mechanism);
        }
        out.push(0);
    });
}

/// Appends an AuthenticationSASLContinue.
pub fn authentication_sasl_continue(out: &mut Vec<u8>, challenge: &[u8]) {
    message(out, tag::AUTHENTICATION, |out| {
        put_u32(out, 11);
        out.extend_from_slice(challenge);
    });
}

/// Appends an AuthenticationSASLFinal.
pub fn authentication_sasl_final(out: &mut Vec<u8>, outcome: &[u8]) {
    message(out, tag::AUTHENTICATION, |out| {
        put_u32(out, 12);
        out.extend_from_slice(outcome);
    });
}

/// Appends a NegotiateProtocolVersion with the newest version code and the unknown option names.
pub fn negotiate_protocol_version(out: &mut Vec<u8>, newest: u32, names: &[&[u8]]) {
    message(out, tag::NEGOTIATE_PROTOCOL_VERSION, |out| {
        put_u32(out, newest);
        put_u32(out, u32::try_from(names.len()).unwrap_or(u32::MAX));
        for name in names {
            put_text(out, name);
        }
    });
}

/// Appends a ParameterStatus.
pub fn parameter_status(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    message(out, tag::PARAMETER_STATUS, |out| {
        put_text(out, name);
        put_text(out, value);
    });
}

/// Appends a BackendKeyData; the secret has 4 bytes in protocol 3.0.
pub fn backend_key_data(out: &mut Vec<u8>, pid: u32, secret: &[u8]) {
    message(out, tag::BACKEND_KEY_DATA, |out| {
        put_u32(out, pid);
        out.extend_from_slice(secret);
    });
}

/// Appends a ReadyForQuery.
pub fn ready_for_query(out: &mut Vec<u8>, status: TransactionStatus) {
    message(out, tag::READY_FOR_QUERY, |out| out.push(status.as_byte()));
}

/// Appends a CommandComplete with this command tag.
pub fn command_complete(out: &mut Vec<u8>, command: &str) {
    message(out, tag::COMMAND_COMPLETE, |out| {
        put_text(out, command.as_bytes());
    });
}

/// Appends an EmptyQueryResponse.
pub fn empty_query_response(out: &mut Vec<u8>) {
    message(out, tag::EMPTY_QUERY_RESPONSE, |_| {});
}

/// Appends an ErrorResponse with the fields S, C and M only (PgBouncer: the same three).
pub fn error_response(out: &mut Vec<u8>, severity: &str, code: &str, text: &str) {
    message(out, tag::ERROR_RESPONSE, |out| {
        put_fields(out, &[(b'S', Some(severity)), (b'C', Some(code)), (b'M', Some(text))]);
    });
}

/// What an error or a notice says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// `ERROR`, `FATAL`, `PANIC`, `WARNING`, `NOTICE`, `DEBUG`, `INFO` or `LOG`.
    pub severity: &'a str,
    /// The SQLSTATE, five characters; see [`crate::sqlstate`].
    pub code: &'a str,
    /// The message itself, one line.
    pub message: &'a str,
    /// More about the problem.
    pub detail: Option<&'a str>,
    /// What to do about it.
    pub hint: Option<&'a str>,
}

/// Appends a NoticeResponse with the fields of PostgreSQL: S, V, C, M and what else there is.
pub fn notice_response(out: &mut Vec<u8>, report: &Report<'_>) {
    message(out, tag::NOTICE_RESPONSE, |out| put_report(out, report));
}

/// Appends an ErrorResponse with the fields of PostgreSQL: S, V, C, M and what else there is.
pub fn error_report(out: &mut Vec<u8>, report: &Report<'_>) {
    message(out, tag::ERROR_RESPONSE, |out| put_report(out, report));
}

/// Appends a RowDescription of text columns that belong to no table: name, type oid, type size.
pub fn row_description(out: &mut Vec<u8>, columns: &[(&str, u32, i16)]) {
    message(out, tag::ROW_DESCRIPTION, |out| {
        put_list(out, columns, |out, (name, oid, size)| put_column(out, (name, oid, size, 0)));
    });
}

/// Appends a RowDescription of columns that belong to no table: name, type oid, type size, and the
/// format, 0 for text and 1 for binary.
pub fn row_description_in(out: &mut Vec<u8>, columns: &[(&str, u32, i16, i16)]) {
    message(out, tag::ROW_DESCRIPTION, |out| put_list(out, columns, put_column));
}

/// Appends a DataRow; `None` is a null.
pub fn data_row(out: &mut Vec<u8>, values: &[Option<&[u8]>]) {
    message(out, tag::DATA_ROW, |out| put_list(out, values, put_value));
}

/// Appends a ParseComplete.
pub fn parse_complete(out: &mut Vec<u8>) {
    message(out, tag::PARSE_COMPLETE, |_| {});
}

/// Appends a BindComplete.
pub fn bind_complete(out: &mut Vec<u8>) {
    message(out, tag::BIND_COMPLETE, |_| {});
}

/// Appends a CloseComplete.
pub fn close_complete(out: &mut Vec<u8>) {
    message(out, tag::CLOSE_COMPLETE, |_| {});
}

/// Appends a NoData.
pub fn no_data(out: &mut Vec<u8>) {
    message(out, tag::NO_DATA, |_| {});
}

/// Appends a PortalSuspended.
pub fn portal_suspended(out: &mut Vec<u8>) {
    message(out, tag::PORTAL_SUSPENDED, |_| {});
}

/// Appends a ParameterDescription with these type oids.
pub fn parameter_description(out: &mut Vec<u8>, types: &[u32]) {
    message(out, tag::PARAMETER_DESCRIPTION, |out| {
        put_list(out, types, put_u32);
    });
}

/// Appends a CopyInResponse for this many columns in text format.
pub fn copy_in_response(out: &mut Vec<u8>, columns: u16) {
    message(out, tag::COPY_IN_RESPONSE, |out| {
        put_text_formats(out, columns);
    });
}

/// Appends a CopyOutResponse for this many columns in text format.
pub fn copy_out_response(out: &mut Vec<u8>, columns: u16) {
    message(out, tag::COPY_OUT_RESPONSE, |out| {
        put_text_formats(out, columns);
    });
}

/// Appends a CopyBothResponse for this many columns in text format.
pub fn copy_both_response(out: &mut Vec<u8>, columns: u16) {
    message(out, tag::COPY_BOTH_RESPONSE, |out| {
        put_text_formats(out, columns);
    });
}

/// Appends a CopyData; the same bytes in both directions.
pub fn copy_data(out: &mut Vec<u8>, bytes: &[u8]) {
    message(out, tag::COPY_DATA, |out| out.extend_from_slice(bytes));
}

/// Appends a CopyDone; the same bytes in both directions.
pub fn copy_done(out: &mut Vec<u8>) {
    message(out, tag::COPY_DONE, |_| {});
}

/// Appends a FunctionCallResponse; `None` is a null.
pub fn function_call_response(out: &mut Vec<u8>, result: Option<&[u8]>) {
    message(out, tag::FUNCTION_CALL_RESPONSE, |out| {
        put_value(out, result);
    });
}

/// Appends a NotificationResponse from the server process `pid`.
pub fn notification_response(out: &mut Vec<u8>, pid: u32, channel: &[u8], payload: &[u8]) {
    message(out, tag::NOTIFICATION_RESPONSE, |out| {
        put_u32(out, pid);
        put_text(out, channel);
        put_text(out, payload);
    });
}

fn put_column(out: &mut Vec<u8>, (name, oid, size, format): (&str, u32, i16, i16)) {
    put_text(out, name.as_bytes());
    put_u32(out, 0);
    put_i16(out, 0);
    put_u32(out, oid);
    put_i16(out, size);
    put_i32(out, -1);
    put_i16(out, format);
}

fn put_report(out: &mut Vec<u8>, report: &Report<'_>) {
    put_fields(
        out,
        &[
            (b'S', Some(report.severity)),
            (b'V', Some(report.severity)),
            (b'C', Some(report.code)),
            (b'M', Some(report.message)),
            (b'D', report.detail),
            (b'H', report.hint),
        ],
    );
}

fn put_fields(out: &mut Vec<u8>, fields: &[(u8, Option<&str>)]) {
    for (letter, text) in fields {
        if let Some(text) = text {
            out.push(*letter);
            put_text(out, text.as_bytes());
        }
    }
    out.push(0);
}

fn put_text_formats(out: &mut Vec<u8>, columns: u16) {
    out.push(0);
    put_u16(out, columns);
    for _ in 0..columns {
        put_i16(out, 0);
    }
}
