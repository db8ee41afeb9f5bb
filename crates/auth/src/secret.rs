//! A stored password: what `auth_file`, `auth_query` or a setting says about a user.
//!
//! ```text
//! "md5" + 32 hex digits               ──►  Md5
//! "SCRAM-SHA-256$4096:salt$key:key"   ──►  Scram
//! anything else                       ──►  Plain; empty: no password matches
//! ```
//!
//! Knows nothing of where the text comes from. `Debug` names the kind and hides the rest.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::denied::Denied;
use crate::keys::{Verifier, derive, sha256};
use crate::md5::md5_hash;

/// What is stored to check the password of a user.
#[derive(Clone)]
pub enum Secret {
    /// The password itself; empty when no password can match.
    Plain(Box<[u8]>),
    /// The 32 lower-case hex digits of md5 over password and user name.
    Md5([u8; 32]),
    /// A SCRAM-SHA-256 verifier.
    Scram(Verifier),
}

impl Secret {
    /// Recognises the kind of a stored password as PostgreSQL does.
    ///
    /// A SCRAM secret with an unacceptable iteration count becomes the empty secret: taken for a
    /// plain password it would let in whoever has read it.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        if let Some(hash) = md5_digits(text) {
            return Self::Md5(hash);
        }
        match Verifier::parse(text) {
            Ok(verifier) => Self::Scram(verifier),
            Err(Denied::Iterations) => Self::Plain(Box::default()),
            Err(_) => Self::Plain(text.into()),
        }
    }

    /// Tells whether no password can match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Plain(password) if password.is_empty())
    }

    /// Tells, in constant time, whether this clear-text password of this user matches.
    ///
    /// Immediate for plain and md5 secrets. A SCRAM secret derives the keys first, which takes
    /// about 0.5 ms for 4096 iterations; callers run it away from the path of messages.
    #[must_use]
    pub fn accepts_plain(&self, user: &[u8], password: &[u8]) -> bool {
        if password.is_empty() {
            return false;
        }
        match self {
            // Digests have one length, so that the time does not tell the length of the secret.
            Self::Plain(own) => sha256(own).ct_eq(&sha256(password)).into(),
            Self::Md5(hash) => md5_hash(password, user).ct_eq(hash).into(),
            Self::Scram(own) => derive(password, &own.salt, own.iterations).matches(own),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Plain(password) if password.is_empty() => "Secret(empty)",
            Self::Plain(_) => "Secret(plain)",
            Self::Md5(_) => "Secret(md5)",
            Self::Scram(_) => "Secret(scram)",
        })
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(own), Self::Plain(theirs)) => own.ct_eq(theirs).into(),
            (Self::Md5(own), Self::Md5(theirs)) => own.ct_eq(theirs).into(),
            (Self::Scram(own), Self::Scram(theirs)) => own == theirs,
            _ => false,
        }
    }
}

impl Eq for Secret {}

fn md5_digits(text: &[u8]) -> Option<[u8; 32]> {
    let digits: [u8; 32] = text.strip_prefix(b"md5")?.try_into().ok()?;
    let lower_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    digits.iter().all(lower_hex).then_some(digits)
}

#[cfg(test)]
mod tests;
