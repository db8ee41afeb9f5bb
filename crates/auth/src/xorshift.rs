//! Random numbers for tests: the same for the same seed, on every machine.

/// A xorshift generator of 64 bits.
pub(crate) struct Xorshift(u64);

impl Xorshift {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    /// A byte of any value.
    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// Up to `max` bytes drawn from an alphabet.
    pub(crate) fn text(&mut self, alphabet: &[u8], max: usize) -> Vec<u8> {
        (0..self.below(max + 1)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}
