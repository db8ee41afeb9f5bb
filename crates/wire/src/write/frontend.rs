//! Messages that a client sends.
//!
//! ```text
//! we ──► SSLRequest, StartupMessage, CancelRequest           without a tag
//! we ──► PasswordMessage, SASLInitialResponse, SASLResponse
//! we ──► Query, Parse, Bind, Describe, Execute, Close, Sync, Flush, Terminate, …
//! ```
//!
//! Does not know when a server expects which of them.

use super::{message, put_i16, put_i32, put_list, put_text, put_u16, put_u32, put_value, untagged};
use crate::startup::{CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST};
use crate::tag::frontend as tag;

/// Appends a StartupMessage of protocol `version` with these parameters.
///
/// A parameter without a name would end the list early and is left out.
pub fn startup(out: &mut Vec<u8>, version: u32, parameters: &[(&[u8], &[u8])]) {
    untagged(out, |out| {
        put_u32(out, version);
        for (name, value) in parameters {
            if matches!(name.first(), None | Some(0)) {
                continue;
            }
            put_text(out, name);
            put_text(out, value);
        }
        out.push(0);
    });
}

/// Appends an SSLRequest.
pub fn ssl_request(out: &mut Vec<u8>) {
    untagged(out, |out| put_u32(out, SSL_REQUEST));
}

/// Appends a GSSENCRequest.
pub fn gss_request(out: &mut Vec<u8>) {
    untagged(out, |out| put_u32(out, GSSENC_REQUEST));
}

/// Appends a CancelRequest for the connection with this process id and secret.
pub fn cancel_request(out: &mut Vec<u8>, pid: u32, secret: &[u8]) {
    untagged(out, |out| {
        put_u32(out, CANCEL_REQUEST);
        put_u32(out, pid);
        out.extend_from_slice(secret);
    });
}

/// Appends a Query.
pub fn query(out: &mut Vec<u8>, text: &[u8]) {
    message(out, tag::QUERY, |out| put_text(out, text));
}

/// Appends a Parse; a type of 0 is left to the server.
pub fn parse(out: &mut Vec<u8>, name: &[u8], query: &[u8], types: &[u32]) {
    message(out, tag::PARSE, |out| {
        put_text(out, name);
        put_text(out, query);
        put_list(out, types, put_u32);
    });
}

/// Appends a Bind; formats are 0 for text and 1 for binary, none for all text, one for all alike.
pub fn bind(
    out: &mut Vec<u8>,
    portal: &[u8],
    statement: &[u8],
    formats: &[i16],
    params: &[Option<&[u8]>],
    result_formats: &[i16],
) {
    message(out, tag::BIND, |out| {
        put_text(out, portal);
        put_text(out, statement);
        put_list(out, formats, put_i16);
        put_list(out, params, put_value);
        put_list(out, result_formats, put_i16);
    });
}

/// Appends a Describe of a statement (`S`) or portal (`P`).
pub fn describe(out: &mut Vec<u8>, kind: u8, name: &[u8]) {
    message(out, tag::DESCRIBE, |out| {
        out.push(kind);
        put_text(out, name);
    });
}

/// Appends an Execute that returns at most `max_rows` rows, or all for 0.
pub fn execute(out: &mut Vec<u8>, portal: &[u8], max_rows: i32) {
    message(out, tag::EXECUTE, |out| {
        put_text(out, portal);
        put_i32(out, max_rows);
    });
}

/// Appends a Close of a statement (`S`) or portal (`P`).
pub fn close(out: &mut Vec<u8>, kind: u8, name: &[u8]) {
    message(out, tag::CLOSE, |out| {
        out.push(kind);
        put_text(out, name);
    });
}

/// Appends a Sync.
pub fn sync(out: &mut Vec<u8>) {
    message(out, tag::SYNC, |_| {});
}

/// Appends a Flush.
pub fn flush(out: &mut Vec<u8>) {
    message(out, tag::FLUSH, |_| {});
}

/// Appends a Terminate.
pub fn terminate(out: &mut Vec<u8>) {
    message(out, tag::TERMINATE, |_| {});
}

/// Appends a PasswordMessage with a password or an md5 proof.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, tag::PASSWORD, |out| put_text(out, password));
}

/// Appends a SASLInitialResponse.
pub fn sasl_initial_response(out: &mut Vec<u8>, mechanism: &str, response: &[u8]) {
    message(out, tag::PASSWORD, |out| {
        put_text(out, mechanism.as_bytes());
        put_value(out, Some(response));
    });
}

/// Appends a SASLResponse.
pub fn sasl_response(out: &mut Vec<u8>, response: &[u8]) {
    message(out, tag::PASSWORD, |out| out.extend_from_slice(response));
}

/// Appends a CopyFail with the reason that the server will report.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    message(out, tag::COPY_FAIL, |out| put_text(out, reason.as_bytes()));
}

/// Appends a FunctionCall with arguments and result in text format.
pub fn function_call(out: &mut Vec<u8>, oid: u32, arguments: &[Option<&[u8]>]) {
    message(out, tag::FUNCTION_CALL, |out| {
        put_u32(out, oid);
        put_list(out, &[], put_i16);
        put_list(out, arguments, put_value);
        put_u16(out, 0);
    });
}
