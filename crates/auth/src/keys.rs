//! SCRAM keys and verifiers (RFC 5802 section 3, RFC 7677).
//!
//! ```text
//! password ──SASLprep, PBKDF2──► salted password ──HMAC──► ClientKey ──SHA-256──► StoredKey
//!                                                └─HMAC──► ServerKey
//! ```
//!
//! A verifier (salt, iterations, StoredKey, ServerKey) lets its owner check a client. The pair
//! ClientKey and ServerKey lets its owner log in, without the password, wherever the same verifier
//! is stored: that is what the pooler passes through.
//!
//! Knows nothing of messages or of users.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::denied::Denied;
use crate::saslprep::saslprep;
use crate::scram::{decode_key, decode_salt, encode, parse_iterations};

/// The largest accepted iteration count, from a server or in a stored secret (about 12 ms of work).
pub const ITERATIONS_MAX: u32 = 100_000;

/// A stored SCRAM-SHA-256 secret: enough to check a client, not enough to be one.
///
/// Its `Display` is PostgreSQL's text form; its `Debug` hides the keys.
#[derive(Clone)]
pub struct Verifier {
    /// The salt of the user, 16 bytes as PostgreSQL makes them.
    pub salt: Box<[u8]>,
    /// The number of PBKDF2 rounds.
    pub iterations: u32,
    /// SHA-256 of the ClientKey.
    pub stored_key: [u8; 32],
    /// The key of the server's signature.
    pub server_key: [u8; 32],
}

/// The two keys that a login to a server needs instead of a password.
#[derive(Clone, Copy)]
pub struct ScramKeys {
    /// The key of the client's proof; as good as the password for this verifier.
    pub client_key: [u8; 32],
    /// The key of the server's signature.
    pub server_key: [u8; 32],
}

/// Derives the keys of a password: SASLprep, then `iterations` rounds of PBKDF2-HMAC-SHA256.
///
/// Takes about 0.5 ms for 4096 rounds; callers run it away from the path of messages. Zero rounds
/// count as one.
#[must_use]
pub fn derive(password: &[u8], salt: &[u8], iterations: u32) -> ScramKeys {
    let salted = keyed(&pbkdf2(&saslprep(password), salt, iterations));
    ScramKeys {
        client_key: tag(salted.clone().chain_update(b"Client Key")),
        server_key: tag(salted.chain_update(b"Server Key")),
    }
}

/// Invents the verifier of a user who has none, so that a stranger's login looks like any other.
///
/// The salt is the same each time for the same process secret and user. The keys belong to no
/// password: a client would have to find a SHA-256 preimage of the StoredKey.
#[must_use]
pub fn mock_verifier(process_secret: &[u8; 32], user: &[u8], iterations: u32) -> Verifier {
    let root = keyed(process_secret);
    let draw = |label: &[u8]| tag(root.clone().chain_update(label).chain_update(user));
    let salt = draw(b"mock salt:");
    Verifier {
        salt: salt.first_chunk::<16>().map_or_else(Box::default, |half| Box::from(&half[..])),
        iterations,
        stored_key: draw(b"mock stored key:"),
        server_key: draw(b"mock server key:"),
    }
}

impl ScramKeys {
    /// Returns the verifier that these keys satisfy.
    #[must_use]
    pub fn verifier(&self, salt: &[u8], iterations: u32) -> Verifier {
        Verifier {
            salt: salt.into(),
            iterations,
            stored_key: sha256(&self.client_key),
            server_key: self.server_key,
        }
    }

    /// Tells, in constant time, whether these keys satisfy the verifier.
    #[must_use]
    pub fn matches(&self, verifier: &Verifier) -> bool {
        let client = sha256(&self.client_key).ct_eq(&verifier.stored_key);
        (client & self.server_key.ct_eq(&verifier.server_key)).into()
    }
}

impl Verifier {
    /// Reads `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, the last three in base64.
    ///
    /// # Errors
    /// `Iterations` for a well-formed secret whose count is zero or above [`ITERATIONS_MAX`];
    /// `Malformed` for everything else that is not a SCRAM-SHA-256 secret.
    pub fn parse(text: &[u8]) -> Result<Self, Denied> {
        const NOT_A_SECRET: Denied = Denied::Malformed("not a SCRAM-SHA-256 secret");
        let rest = text.strip_prefix(b"SCRAM-SHA-256$").ok_or(NOT_A_SECRET)?;
        let (cost, keys) = split(rest, b'$').ok_or(NOT_A_SECRET)?;
        let (iterations, salt) = split(cost, b':').ok_or(NOT_A_SECRET)?;
        let (stored_key, server_key) = split(keys, b':').ok_or(NOT_A_SECRET)?;
        let salt = decode_salt(salt)?;
        let stored_key = decode_key(stored_key)?;
        let server_key = decode_key(server_key)?;
        let iterations = parse_iterations(iterations)?;
        Ok(Self { salt: salt.into(), iterations, stored_key, server_key })
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored_key, server_key] =
            [&*self.salt, &self.stored_key, &self.server_key].map(encode);
        write!(out, "SCRAM-SHA-256${}:{salt}${stored_key}:{server_key}", self.iterations)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

impl fmt::Debug for ScramKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ScramKeys").finish_non_exhaustive()
    }
}

impl PartialEq for Verifier {
    fn eq(&self, other: &Self) -> bool {
        let keys =
            self.stored_key.ct_eq(&other.stored_key) & self.server_key.ct_eq(&other.server_key);
        let public = self.salt == other.salt && self.iterations == other.iterations;
        (keys & Choice::from(u8::from(public))).into()
    }
}

impl Eq for Verifier {}

impl PartialEq for ScramKeys {
    fn eq(&self, other: &Self) -> bool {
        (self.client_key.ct_eq(&other.client_key) & self.server_key.ct_eq(&other.server_key)).into()
    }
}

impl Eq for ScramKeys {}

/// Returns HMAC-SHA256 of a message under a key.
pub(crate) fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    tag(keyed(key).chain_update(message))
}

/// Returns SHA-256 of the bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the bitwise difference of two digests.
pub(crate) fn xor(mut left: [u8; 32], right: &[u8; 32]) -> [u8; 32] {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

/// One block of PBKDF2-HMAC-SHA256 (RFC 8018 section 5.2).
fn pbkdf2(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    // Keyed once: each round then costs two compressions instead of four.
    let keyed = keyed(password);
    let mut round = tag(keyed.clone().chain_update(salt).chain_update(1_u32.to_be_bytes()));
    let mut sum = round;
    for _ in 1..iterations {
        round = tag(keyed.clone().chain_update(round));
        sum = xor(sum, &round);
    }
    sum
}

/// Prepares HMAC-SHA256 for a key of any length.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    const BLOCK: usize = 64;
    let digest;
    let short = if key.len() > BLOCK {
        digest = sha256(key);
        &digest
    } else {
        key
    };
    let mut block = [0; BLOCK];
    for (slot, byte) in block.iter_mut().zip(short) {
        *slot = *byte;
    }
    Hmac::new(&block.into())
}

fn tag(mac: Hmac<Sha256>) -> [u8; 32] {
    mac.finalize().into_bytes().into()
}

/// Splits at the only separator; `None` when there is none or more than one.
fn split(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let mut parts = text.split(|byte| *byte == separator);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(head), Some(tail), None) => Some((head, tail)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
