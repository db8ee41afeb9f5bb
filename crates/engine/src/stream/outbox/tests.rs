//! An outbox beside a plain queue of bytes: the same bytes in the same order, whatever happens.

use std::collections::VecDeque;

use super::{Outbox, PARTS_MAX, Shelf, Source};

#[allow(dead_code, clippy::duplicate_mod, reason = "other tests need more of it")]
#[path = "../../../tests/story/dice.rs"]
mod dice;
use dice::Dice;

#[test]
fn bytes_leave_in_order_whatever_happens() {
    for seed in 0..2000 {
        let mut scene = Scene::new(seed);
        for _ in 0..60 {
            scene.step();
        }
        scene.end();
    }
}

/// An outbox, what it must contain, and the buffer that is lent.
struct Scene {
    dice: Dice,
    outbox: Outbox,
    shelf: Shelf,
    chunk: Vec<u8>,
    /// How much of the chunk has been passed.
    at: usize,
    queue: VecDeque<u8>,
    fresh: u8,
}

impl Scene {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            outbox: Outbox::new(),
            shelf: Shelf::default(),
            chunk: Vec::new(),
            at: 0,
            queue: VecDeque::new(),
            fresh: 0,
        }
    }

    fn step(&mut self) {
        match self.dice.below(6) {
            0 => self.pass_lent(),
            1 => self.pass_held(),
            2 => self.write(),
            3 | 4 => self.send(),
            _ => self.receive(),
        }
        self.look();
    }

    /// Passes the next bytes of the chunk, or leaves some of them out.
    fn pass_lent(&mut self) {
        let len = self.dice.below(self.chunk.len() - self.at + 1);
        let range = self.at..self.at + len;
        self.at = range.end;
        if !self.dice.once_in(4) {
            self.queue.extend(&self.chunk[range.clone()]);
            self.outbox.pass(&self.chunk, range, Source::Lent, &mut self.shelf);
        }
    }

    fn pass_held(&mut self) {
        let held = self.bytes(20);
        let start = self.dice.below(held.len() + 1);
        self.queue.extend(&held[start..]);
        self.outbox.pass(&held, start..held.len(), Source::Held, &mut self.shelf);
    }

    fn write(&mut self) {
        let own = self.bytes(12);
        self.queue.extend(&own);
        self.outbox.write(&mut self.shelf, |out| out.extend_from_slice(&own));
    }

    /// Some of what can be gathered is sent.
    fn send(&mut self) {
        let gathered = self.gather();
        let sent = self.dice.below(gathered.len() + 1);
        let expected: Vec<u8> = self.queue.drain(..sent).collect();
        assert_eq!(gathered[..sent], expected);
        self.outbox.sent(sent, &mut self.shelf);
    }

    /// The shell wants its buffer back and fills it anew.
    fn receive(&mut self) {
        self.outbox.reclaim(&self.chunk, &mut self.shelf);
        self.chunk = self.bytes(40);
        self.at = 0;
    }

    fn look(&self) {
        assert_eq!(self.outbox.is_empty(), self.queue.is_empty());
        let gathered = self.gather();
        assert!(self.queue.iter().zip(&gathered).all(|(one, other)| one == other));
        assert!(gathered.len() <= self.queue.len());
        assert!(!gathered.is_empty() || self.queue.is_empty(), "nothing is gathered");
    }

    fn end(mut self) {
        let taken = self.outbox.take(&self.chunk, &mut self.shelf);
        assert_eq!(taken, Vec::from(self.queue));
        assert!(self.outbox.is_empty());
        assert_eq!(self.shelf.out(), 0, "a block is not back on the shelf");
    }

    fn gather(&self) -> Vec<u8> {
        let mut parts = [&[][..]; PARTS_MAX];
        let count = self.outbox.gather(&self.chunk, &mut parts);
        parts[..count].concat()
    }

    /// Up to so many bytes, no two of which follow each other by accident.
    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.dice.below(most + 1);
        let fresh = |_| {
            self.fresh = self.fresh.wrapping_add(1);
            self.fresh
        };
        (0..len).map(fresh).collect()
    }
}

/// What is lent from one end to the other is one part: nothing is copied in the steady state.
#[test]
fn neighbours_are_one_part() {
    let (mut outbox, mut shelf) = (Outbox::new(), Shelf::default());
    let chunk = b"one message, and another";
    for range in [0..4, 4..12, 12..12, 12..24] {
        outbox.pass(chunk, range, Source::Lent, &mut shelf);
    }
    let mut parts = [&[][..]; PARTS_MAX];
    assert_eq!(outbox.gather(chunk, &mut parts), 1);
    assert_eq!(parts[0], chunk);
    outbox.sent(chunk.len(), &mut shelf);
    assert!(outbox.is_empty());
    outbox.reclaim(chunk, &mut shelf);
    assert_eq!(shelf.out(), 0, "no block was needed");
}

#[test]
fn own_bytes_stand_between_lent_ones() {
    let (mut outbox, mut shelf) = (Outbox::new(), Shelf::default());
    let chunk = b"ab";
    outbox.pass(chunk, 0..1, Source::Lent, &mut shelf);
    outbox.write(&mut shelf, |out| out.push(b'-'));
    outbox.pass(chunk, 1..2, Source::Lent, &mut shelf);
    let mut parts = [&[][..]; PARTS_MAX];
    assert_eq!(outbox.gather(chunk, &mut parts), 3);
    assert_eq!(parts[..3].concat(), b"a-b");
    outbox.reclaim(chunk, &mut shelf);
    assert_eq!(outbox.take(&[], &mut shelf), b"a-b");
}
