//! pgweir between real clients and real PostgreSQL.
//!
//! ```text
//! psql, pgbench, psycopg, raw bytes ──► pgweir, 1 to 4 workers ──► PostgreSQL 15, 18
//! ```
//!
//! Where PostgreSQL's answer is the measure, the same bytes are sent to it directly and the two
//! answers are compared. Needs `tools/setup test`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test says by a panic that it has failed")]

mod cancel;
mod commands;
mod console;
mod console_tools;
mod copy;
mod extended;
mod followers;
mod large;
mod leaving;
mod lengths;
mod life;
mod limits;
mod logins;
mod operation;
mod outage;
mod parameters;
mod pgbench;
mod proofs;
mod psql;
mod psycopg;
mod settings;
mod shared;
mod slots;
mod timeouts;
