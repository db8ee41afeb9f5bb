//! What workers tell each other about themselves for SHOW.

/// A table that is gathered from all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// SHOW POOLS.
    Pools,
}

/// One worker's part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {}
