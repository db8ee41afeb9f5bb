//! Numbers that look random and are the same for the same seed (xorshift).

/// Where they come from.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(1);
        dice.below(1);
        dice
    }

    /// A number from 0 to `limit - 1`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    /// One of some.
    pub(crate) fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A length from 1 to `most`: mostly short, sometimes all.
    pub(crate) fn piece(&mut self, most: usize) -> usize {
        let range = self.pick(&[1, 2, 7, 64, 1024, most]);
        1 + self.below(range.min(most))
    }
}
