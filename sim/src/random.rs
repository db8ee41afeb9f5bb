//! Random numbers from a seed (xorshift64*): the only source of chance in a simulated world.
//!
//! The same seed gives the same numbers on every machine. Knows nothing of what they are for.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds shall have nothing in common (the finalizer of splitmix64).
        let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self { state: (state ^ (state >> 31)).max(1) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { (self.next() >> 11) % limit }
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True so many times in a thousand.
    pub(crate) fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < u64::from(permille)
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// One of these so many times in a thousand, else nothing: a zero.
    pub(crate) fn maybe<T: Copy + Default>(&mut self, permille: u32, choices: &[T]) -> T {
        if self.chance(permille) { self.pick(choices) } else { T::default() }
    }

    /// The place of one of these weights, each as likely as it is large.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().map(|weight| u64::from(*weight)).sum());
        for (place, weight) in weights.iter().enumerate() {
            if left < u64::from(*weight) {
                return place;
            }
            left -= u64::from(*weight);
        }
        0
    }

    /// Random bytes, for keys and nonces.
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}
