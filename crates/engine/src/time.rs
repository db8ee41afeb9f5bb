//! Points in time, in microseconds since the process started.
//!
//! The engine never reads a clock: every input brings `now` along. All workers of a process count
//! from the same start, so that ages can be compared across workers.

use std::ops::{Add, Sub};

/// A point in time, in microseconds since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the process.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// The microseconds from `earlier` to this point; 0 when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Time {
    type Output = Self;

    /// The point `micros` later.
    fn add(self, micros: u64) -> Self {
        Self(self.0.saturating_add(micros))
    }
}

impl Sub<u64> for Time {
    type Output = Self;

    /// The point `micros` earlier, not before the start of the process.
    fn sub(self, micros: u64) -> Self {
        Self(self.0.saturating_sub(micros))
    }
}

/// One millisecond in the unit of [`Time`].
pub(crate) const MILLISECOND: u64 = 1_000;
/// One second in the unit of [`Time`].
pub(crate) const SECOND: u64 = 1_000_000;
