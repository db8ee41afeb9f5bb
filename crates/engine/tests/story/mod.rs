//! Stories: conversations as text files, both sides, readable by anyone.
//!
//! ```text
//! A connects app/me                 what happens, at the beginning of a line
//!     connect S1 to db:5432         what the pooler does about it, indented
//! S1 logs in
//!     S1< Startup user=me database=app
//!     A< AuthenticationOk … ReadyForQuery I
//! A> Query "select 1"
//!     S1< Query "select 1"
//! ```
//!
//! `script` plays a file and prints what happens, `stage` is where, `conf` its configuration.
//! `crowd` has no file: clients that `talk` at random, with a small PostgreSQL each (`postgres`).

pub(crate) mod conf;
pub(crate) mod crowd;
pub(crate) mod dice;
pub(crate) mod ear;
pub(crate) mod journal;
pub(crate) mod message;
pub(crate) mod postgres;
pub(crate) mod script;
pub(crate) mod stage;
pub(crate) mod talk;
pub(crate) mod words;
