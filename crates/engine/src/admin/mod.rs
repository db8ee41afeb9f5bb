//! The console.

pub(crate) mod report;

/// A console session.
pub(crate) struct Console {}
