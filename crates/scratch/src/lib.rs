//! A throw-away PostgreSQL: find its programs, start a server, remove every trace of it.
//!
//! ```text
//! Programs::find() ──► Postgres::start() ──► psql(), client(), restart() … ──► drop: gone
//! ```
//!
//! Used by the demo, the tests and the bench. PostgreSQL and poolers refuse to run as root, so this
//! crate also knows which user to run them as ([`unprivileged`]), where that user can write
//! ([`Folder`]) and which programs it can reach ([`reachable`]). Nothing outlives the process that
//! asked for it, however that process ends ([`Leash`]).
//!
//! Knows nothing of poolers, of the protocol or of any test.

#![forbid(unsafe_code)]

mod cache;
mod command;
mod error;
mod folder;
mod identity;
mod leash;
mod options;
mod port;
mod postgres;
mod programs;

pub use error::Error;
pub use folder::Folder;
pub use identity::{Identity, reachable, unprivileged};
pub use leash::Leash;
pub use options::Options;
pub use port::free_port;
pub use postgres::{Postgres, Stop};
pub use programs::Programs;
