//! What waits to be sent on one connection, in order: own bytes, or ranges of a buffer that the
//! shell has lent.
//!
//! In the steady state there is one lent range, it is written at once, and nothing is ever copied.

use super::{Shelf, Source};
use crate::command::PARTS_MAX;

/// The bytes that one connection has still to send.
#[derive(Debug)]
pub(crate) struct Outbox {
    parts: Vec<Part>,
    /// The bytes of the `Own` parts, one after the other; `own_at` of them have been sent.
    own: Vec<u8>,
    own_at: usize,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Own { len: u32 },
    Lent { start: u32, end: u32 },
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self { parts: Vec::new(), own: Vec::new(), own_at: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many bytes have been sent of the block that is being sent.
    pub(crate) fn sent_of_block(&self) -> usize {
        self.own_at
    }

    /// How many bytes are still to be sent.
    pub(crate) fn unsent(&self) -> u64 {
        let length = |part: &Part| match *part {
            Part::Own { len } => len,
            Part::Lent { start, end } => end - start,
        };
        self.parts.iter().map(|part| u64::from(length(part))).sum()
    }

    /// Adds `bytes[start..end]`: as a range where they are lent, else as a copy.
    pub(crate) fn pass(
        &mut self,
        bytes: &[u8],
        range: std::ops::Range<usize>,
        source: Source,
        shelf: &mut Shelf,
    ) {
        match source {
            Source::Lent => self.lend(range.start as u32, range.end as u32),
            Source::Held => {
                if let Some(bytes) = bytes.get(range) {
                    self.write(shelf, |own| own.extend_from_slice(bytes));
                }
            }
        }
    }

    /// Adds own bytes: whatever `build` appends.
    pub(crate) fn write(&mut self, shelf: &mut Shelf, build: impl FnOnce(&mut Vec<u8>)) {
        if self.own.capacity() == 0 {
            self.own = shelf.take();
        }
        let before = self.own.len();
        build(&mut self.own);
        let added = (self.own.len() - before) as u32;
        match self.parts.last_mut() {
            _ if added == 0 => {}
            Some(Part::Own { len }) => *len += added,
            _ => self.parts.push(Part::Own { len: added }),
        }
    }

    fn lend(&mut self, start: u32, end: u32) {
        match self.parts.last_mut() {
            _ if start == end => {}
            Some(Part::Lent { end: last, .. }) if *last == start => *last = end,
            _ => self.parts.push(Part::Lent { start, end }),
        }
    }

    /// The next parts to write, and how many there are; `chunk` is the lent buffer.
    pub(crate) fn gather<'a>(
        &'a self,
        chunk: &'a [u8],
        parts: &mut [&'a [u8]; PARTS_MAX],
    ) -> usize {
        let mut own = self.own_at;
        for (slot, part) in parts.iter_mut().zip(&self.parts) {
            *slot = match *part {
                Part::Own { len } => {
                    let start = own;
                    own += len as usize;
                    &self.own[start..own]
                }
                Part::Lent { start, end } => &chunk[start as usize..end as usize],
            };
        }
        self.parts.len().min(PARTS_MAX)
    }

    /// Takes `n` bytes off the front: they have been sent.
    pub(crate) fn sent(&mut self, n: usize, shelf: &mut Shelf) {
        let mut n = n as u32;
        let mut done = 0;
        for part in &mut self.parts {
            match part {
                Part::Own { len } => {
                    let step = n.min(*len);
                    (*len, n) = (*len - step, n - step);
                    self.own_at += step as usize;
                    if *len > 0 {
                        break;
                    }
                }
                Part::Lent { start, end } => {
                    let step = n.min(*end - *start);
                    (*start, n) = (*start + step, n - step);
                    if start < end {
                        break;
                    }
                }
            }
            done += 1;
        }
        debug_assert_eq!(n, 0, "more was sent than was waiting");
        self.parts.drain(..done);
        if self.parts.is_empty() && self.own.capacity() > 0 {
            shelf.put(std::mem::take(&mut self.own));
            self.own_at = 0;
        }
    }

    /// Copies what is lent, because the shell wants its buffer back.
    pub(crate) fn reclaim(&mut self, chunk: &[u8], shelf: &mut Shelf) {
        if self.parts.iter().any(|part| matches!(part, Part::Lent { .. })) {
            let mut all = shelf.take();
            self.copy_to(chunk, &mut all);
            shelf.put(std::mem::replace(&mut self.own, all));
            self.own_at = 0;
            self.parts.clear();
            self.parts.push(Part::Own { len: self.own.len() as u32 });
        }
    }

    /// Empties the outbox into one vector.
    pub(crate) fn take(&mut self, chunk: &[u8], shelf: &mut Shelf) -> Vec<u8> {
        let mut all = Vec::new();
        self.copy_to(chunk, &mut all);
        self.parts = Vec::new();
        shelf.put(std::mem::take(&mut self.own));
        self.own_at = 0;
        all
    }

    fn copy_to(&self, chunk: &[u8], all: &mut Vec<u8>) {
        let mut own = self.own_at;
        for part in &self.parts {
            match *part {
                Part::Own { len } => {
                    all.extend_from_slice(&self.own[own..own + len as usize]);
                    own += len as usize;
                }
                Part::Lent { start, end } => {
                    all.extend_from_slice(&chunk[start as usize..end as usize]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
