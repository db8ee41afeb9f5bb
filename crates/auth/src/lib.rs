//! Proofs of identity of a PostgreSQL pooler: stored secrets, md5, SCRAM-SHA-256, `userlist.txt`.
//!
//! | module | what it answers |
//! |---|---|
//! | `secret` | what is stored for a user, and does this clear-text password match it? |
//! | `md5` | the md5 exchange, both sides |
//! | `keys` | SCRAM keys and verifiers: derive, compare, invent for unknown users |
//! | `scram_server`, `scram_client` | the two halves of a SCRAM exchange, over `scram` |
//! | `saslprep` | how a password is prepared before SCRAM hashes it |
//! | `userlist` | the users of `auth_file` |
//! | `entropy` | salts and nonces from one seed |
//!
//! Everything is a function of its arguments: randomness is passed in as bytes or as a seed,
//! nothing
//! is read or sent.
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

mod denied;
mod entropy;
mod keys;
mod md5;
mod saslprep;
mod scram;
mod scram_client;
mod scram_server;
mod secret;
mod userlist;
#[cfg(test)]
mod xorshift;

pub use denied::Denied;
pub use entropy::Entropy;
pub use keys::{ITERATIONS_MAX, ScramKeys, Verifier, derive, mock_verifier};
pub use md5::{md5_hash, md5_matches, md5_response};
pub use saslprep::saslprep;
pub use scram_client::{Challenge, ScramClient};
pub use scram_server::{Proven, ScramServer};
pub use secret::Secret;
pub use userlist::{Complaint, Flaw, Userlist};
