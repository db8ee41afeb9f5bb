//! Why a proof was refused: a small enum for whoever decides, and a text for the log.
//!
//! The text never goes to a client: what a stranger may learn is one sentence for all cases, and
//! choosing it is the caller's business.

use std::fmt;

/// Why a SCRAM exchange failed, or why a stored verifier cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// A message does not follow RFC 5802, or came out of turn.
    Malformed(&'static str),
    /// The client asks for channel binding, or contradicts the binding flag it began with.
    Binding,
    /// The other side's nonce does not continue ours.
    Nonce,
    /// The client does not know the password.
    Proof,
    /// The iteration count is zero or above [`ITERATIONS_MAX`](crate::ITERATIONS_MAX).
    Iterations,
    /// The server does not know the password: it may be an impostor.
    ServerSignature,
    /// The server reported this error (RFC 5802, attribute `e`) instead of its signature.
    ServerError(String),
}

impl fmt::Display for Denied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(out, "malformed SCRAM message: {what}"),
            Self::Binding => out.write_str("SCRAM channel binding is not supported"),
            Self::Nonce => out.write_str("SCRAM nonce does not match"),
            Self::Proof => out.write_str("SCRAM proof does not match"),
            Self::Iterations => out.write_str("SCRAM iteration count out of range"),
            Self::ServerSignature => out.write_str("invalid server signature"),
            Self::ServerError(text) => write!(out, "server refused SCRAM exchange: {text}"),
        }
    }
}

impl std::error::Error for Denied {}
