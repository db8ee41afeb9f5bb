//! PostgreSQL's frontend/backend protocol, version 3, as bytes.
//!
//! ```text
//! client ──► startup::packet                       tag::frontend, frame::header, frontend::*
//!            (SSLRequest, startup, cancel)    then (Query, Parse, Bind, password, …)
//! server ──► tag::backend, frame::header, backend::*, Fields (errors and notices)
//! we     ──► write::*                              any message of either direction
//! ```
//!
//! Views borrow from the bytes they were given and copy nothing. Every byte is taken to be hostile:
//! a length, a count or a missing zero that does not fit its message is an error, never a panic.
//!
//! Knows no sockets and no conversations: which message may follow which is decided elsewhere.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod backend;
mod cursor;
pub mod fields;
pub mod frame;
pub mod frontend;
pub mod startup;
pub mod tag;
pub mod write;

pub use backend::TransactionStatus;
pub use fields::{Fields, sqlstate};
pub use frame::{HEADER, Header, header};
pub use startup::{CANCEL_REQUEST, GSSENC_REQUEST, PROTOCOL_3_0, PROTOCOL_3_2, SSL_REQUEST};
pub use write::Report;

/// The bytes of a message are not what its tag promises; the text says what was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}
