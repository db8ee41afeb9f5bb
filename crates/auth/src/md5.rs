//! The md5 exchange of PostgreSQL, both sides.
//!
//! ```text
//! server ──► salt (4 bytes)          client ──► "md5" + md5hex(md5hex(password + user) + salt)
//! ```
//!
//! The first hash is what PostgreSQL and `auth_file` store; whoever has it can log in. Knows
//! nothing of messages, and offers no protection that md5 does not have.

use ::md5::{Digest, Md5};
use subtle::ConstantTimeEq;

use crate::secret::Secret;

/// Returns the 32 hex digits that PostgreSQL stores (after `md5`) for a password and a user.
#[must_use]
pub fn md5_hash(password: &[u8], user: &[u8]) -> [u8; 32] {
    hex(Md5::new().chain_update(password).chain_update(user).finalize().into())
}

/// Returns the answer to a salt: `md5` and 32 hex digits.
#[must_use]
pub fn md5_response(hash: &[u8; 32], salt: [u8; 4]) -> [u8; 35] {
    let digits = hex(Md5::new().chain_update(hash).chain_update(salt).finalize().into());
    let mut response = [0; 35];
    for (slot, byte) in response.iter_mut().zip(b"md5".iter().chain(&digits)) {
        *slot = *byte;
    }
    response
}

/// Tells, in constant time, whether a client's response to a salt fits the user's secret.
///
/// A SCRAM secret and an empty one never match.
#[must_use]
pub fn md5_matches(secret: &Secret, user: &[u8], salt: [u8; 4], response: &[u8]) -> bool {
    let hash = match secret {
        Secret::Plain(password) if !password.is_empty() => md5_hash(password, user),
        Secret::Md5(hash) => *hash,
        Secret::Plain(_) | Secret::Scram(_) => return false,
    };
    md5_response(&hash, salt)[..].ct_eq(response).into()
}

fn hex(digest: [u8; 16]) -> [u8; 32] {
    let mut text = [0; 32];
    let (pairs, _) = text.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(digest) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    text
}

fn digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0'.wrapping_add(value),
        _ => b'a'.wrapping_sub(10).wrapping_add(value),
    }
}

#[cfg(test)]
mod tests;
