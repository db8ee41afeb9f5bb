//! Random bytes from one seed: keys, salts and nonces for code that may not ask the kernel.
//!
//! ```text
//! seed ──► HMAC-SHA-256(seed, counter) ──► 32 bytes, and the next counter
//! ```
//!
//! Who has seen any of the bytes learns nothing about the others, as long as the seed is secret.

use crate::keys::hmac;

/// A source of random bytes; the same seed gives the same bytes.
pub struct Entropy {
    seed: [u8; 32],
    counter: u64,
}

impl Entropy {
    /// Begins with 32 bytes from the kernel, or from a simulation's seed.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0 }
    }

    /// Returns the next `N` bytes; `N` is at most 32.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= 32) };
        self.counter = self.counter.wrapping_add(1);
        let block = hmac(&self.seed, &self.counter.to_be_bytes());
        let mut out = [0; N];
        for (byte, fresh) in out.iter_mut().zip(block) {
            *byte = fresh;
        }
        out
    }
}

#[cfg(test)]
mod tests;
