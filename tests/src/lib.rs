//! What the tests against real things share: a pooler, servers, and clients of several kinds.
//!
//! ```text
//! server(15) ──► PostgreSQL, shared by all tests of one process; own(15, …) for one test alone
//! Ini ──► Pooler ──► Client (any bytes), psql, pgbench, Python ──► drop: ended in order
//! ```
//!
//! Tests run in parallel and on free ports. A [`Pooler`] that has died, has logged a panic or does
//! not end when its clients have left fails the test that it was started for.

#![forbid(unsafe_code)]

mod bouncer;
mod client;
mod ini;
mod pooler;
mod program;
mod reply;
mod servers;
mod tools;
mod wait;

pub use bouncer::Bouncer;
pub use client::{Client, Login, Lost, Place};
pub use ini::{Ini, Refused};
pub use pooler::Pooler;
pub use program::pgweir;
pub use reply::{Message, Refusal, Reply, tags};
pub use servers::{database, own, server};
pub use tools::{Said, ask, go, java, must, python, run};
pub use wait::{eventually, until};
