//! Verdicts on the messages of a client that has logged in.

use wire::Header;
use wire::tag::frontend::{
    BIND, CLOSE, COPY_DATA, COPY_DONE, COPY_FAIL, DESCRIBE, EXECUTE, FLUSH, FUNCTION_CALL, PARSE,
    QUERY, SYNC, TERMINATE,
};

/// PostgreSQL: messages that carry no payload of the user's are at most this long, in bytes.
const SMALL_MAX: u32 = 10_000 + 1;
/// PostgreSQL: the longest message at all, in bytes.
const LARGE_MAX: u32 = 0x3fff_ffff;

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// A server has to answer it.
    Request,
    /// It belongs to a request that a server has got; without a server it says nothing.
    Sequel,
    /// The client leaves.
    Terminate,
    /// Not a message of the protocol at this point.
    Unknown,
    /// Longer than such a message can be.
    TooLong,
}

/// Looks at a header; `limit` is `max_packet_size`.
#[inline]
pub(crate) fn inspect(head: Header, limit: u32) -> Said {
    let (said, longest) = match head.tag {
        QUERY | PARSE | BIND | FUNCTION_CALL => (Said::Request, LARGE_MAX),
        SYNC | DESCRIBE | EXECUTE | CLOSE => (Said::Request, SMALL_MAX),
        COPY_DATA | COPY_FAIL => (Said::Sequel, LARGE_MAX),
        FLUSH | COPY_DONE => (Said::Sequel, SMALL_MAX),
        TERMINATE => (Said::Terminate, SMALL_MAX),
        _ => return Said::Unknown,
    };
    if head.total > longest.min(limit) { Said::TooLong } else { said }
}

#[cfg(test)]
mod tests;
