//! Names for connections and workers, and the slab that connection names point into.
//!
//! A name carries the generation of its slot, so that an event which comes late, after its
//! connection has gone, cannot hit the next one in the same slot.

use std::marker::PhantomData;

/// A worker of the process, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u8);

/// Which of the two sides a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A connection that somebody opened to the pooler.
    Client,
    /// A connection that the pooler opened to PostgreSQL, also for a cancel request.
    Server,
}

/// Names one connection of one worker for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    slot: u32,
    generation: u32,
}

impl ConnId {
    /// The place of this connection in a table: small, dense, used again after a close.
    pub fn slot(self) -> usize {
        self.slot as usize
    }

    /// The side of this connection.
    pub fn kind(self) -> Kind {
        if self.slot & 1 == 0 { Kind::Client } else { Kind::Server }
    }

    /// The name as a number, for an event token.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The name that [`to_bits`](Self::to_bits) made.
    pub fn from_bits(bits: u64) -> Self {
        Self { slot: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// What a slab holds, and which side of a pair its connections are on.
pub(crate) trait Sided {
    /// 0 for clients, 1 for servers: the lowest bit of a [`ConnId`]'s slot.
    const SIDE: u32;
}

/// Names one entry of a [`Slab`].
pub(crate) struct Id<T> {
    index: u32,
    generation: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && self.generation == other.generation
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}
impl<T> std::fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

impl<T: Sided> From<Id<T>> for ConnId {
    fn from(id: Id<T>) -> Self {
        Self { slot: id.index << 1 | T::SIDE, generation: id.generation }
    }
}

impl<T: Sided> From<ConnId> for Id<T> {
    /// The caller has looked at [`ConnId::kind`].
    fn from(conn: ConnId) -> Self {
        debug_assert_eq!(conn.slot & 1, T::SIDE);
        Self { index: conn.slot >> 1, generation: conn.generation, of: PhantomData }
    }
}

/// Entries with generational names; a freed slot is used again, last freed first.
pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// The number of slots that are free to be used again.
    pub(crate) fn spare(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Id<T> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, value: None });
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[index as usize];
        entry.value = Some(value);
        Id { index, generation: entry.generation, of: PhantomData }
    }

    pub(crate) fn find(&self, id: Id<T>) -> Option<&T> {
        let entry = self.entries.get(id.index as usize)?;
        entry.value.as_ref().filter(|_| entry.generation == id.generation)
    }

    pub(crate) fn find_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        let entry = self.entries.get_mut(id.index as usize)?;
        entry.value.as_mut().filter(|_| entry.generation == id.generation)
    }

    pub(crate) fn remove(&mut self, id: Id<T>) -> Option<T> {
        let entry = self.entries.get_mut(id.index as usize)?;
        if entry.generation != id.generation {
            return None;
        }
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(id.index);
        Some(value)
    }

    /// All names, in the order of their slots.
    pub(crate) fn ids(&self) -> Vec<Id<T>> {
        self.iter().map(|(id, _)| id).collect()
    }

    /// All entries, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(|entry| entry.value.as_mut())
    }

    /// All entries, in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| {
            let id = Id { index: index as u32, generation: entry.generation, of: PhantomData };
            entry.value.as_ref().map(|value| (id, value))
        })
    }
}

impl<T> std::ops::Index<Id<T>> for Slab<T> {
    type Output = T;

    /// Panics when the entry has gone: the engine took a name for valid that is not.
    fn index(&self, id: Id<T>) -> &T {
        self.find(id).expect("the entry of this name is there")
    }
}

impl<T> std::ops::IndexMut<Id<T>> for Slab<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        self.find_mut(id).expect("the entry of this name is there")
    }
}
