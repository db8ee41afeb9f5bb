//! Free blocks of a worker, so that bytes that must wait need no allocation.

/// The most blocks that are kept free.
const BLOCKS_MAX: usize = 256;
/// A block that has grown beyond this is given back to the allocator.
const BLOCK_SIZE_MAX: usize = 64 * 1024;
/// What a new block has room for; larger needs grow it.
pub(crate) const BLOCK_SIZE: usize = 512;

/// Free blocks, last used first.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    free: Vec<Vec<u8>>,
    /// Blocks that are in use, for the simulator's book-keeping.
    out: usize,
}

impl Shelf {
    /// An empty block.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.out += 1;
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK_SIZE))
    }

    /// Takes a block back; a vector without capacity never was one.
    pub(crate) fn put(&mut self, mut block: Vec<u8>) {
        if block.capacity() == 0 {
            return;
        }
        self.out = self.out.saturating_sub(1);
        if block.capacity() <= BLOCK_SIZE_MAX && self.free.len() < BLOCKS_MAX {
            block.clear();
            self.free.push(block);
        }
    }

    /// How many blocks are kept free.
    pub(crate) fn spare(&self) -> usize {
        self.free.len()
    }

    /// How many blocks are in use.
    pub(crate) fn out(&self) -> usize {
        self.out
    }
}
