//! Where a message begins and ends: one byte of tag, four of length, then the body.
//!
//! ```text
//! ┌─────┬──────────────┬──────────┐
//! │ tag │ length (u32) │ body     │   length = 4 + body;  total = tag + length field + body
//! └─────┴──────────────┴──────────┘
//! ```
//!
//! Does not know which tags exist or how long a message of a kind may be. The first packets of a
//! connection have no tag; those are in `startup`.

use crate::Malformed;

/// Bytes of tag and length field, which every message begins with.
pub const HEADER: usize = 5;

/// The beginning of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The first byte, one of [`crate::tag`] unless the peer invents its own.
    pub tag: u8,
    /// Bytes of the whole message: tag, length field and body. At least 5, at most `i32::MAX`.
    pub total: u32,
}

/// Reads the header at the start of `bytes`, or says `None` while fewer than 5 bytes are there.
///
/// Fails when the length field is smaller than itself or larger than a message may be.
#[inline]
pub fn header(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let Some(&[tag, a, b, c, d]) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    if !(LENGTH_MIN..=LENGTH_MAX).contains(&length) {
        return Err(Malformed("impossible message length"));
    }
    // Cannot wrap: the length has just been bounded.
    let total = length.wrapping_add(1);
    Ok(Some(Header { tag, total }))
}

/// Returns what follows tag and length field; empty if `message` has no body or is cut short.
#[inline]
pub fn body(message: &[u8]) -> &[u8] {
    message.get(HEADER..).unwrap_or_default()
}

const LENGTH_MIN: u32 = 4;
/// One less than `i32::MAX`, so that the total including the tag still fits an `i32`.
const LENGTH_MAX: u32 = 0x7fff_fffe;

#[cfg(test)]
mod tests;
