//! Entries in file order that are found by their name, however many there are.
//!
//! Knows nothing of what an entry is, but that it has a name.

use std::collections::BTreeMap;
use std::ops::Deref;

/// Something that has a name within its section.
pub trait HasName {
    /// The name.
    fn name(&self) -> &str;
}

/// The entries of a section: a slice in file order, each name once.
#[derive(Debug, Clone)]
pub struct Named<Entry> {
    entries: Vec<Entry>,
    places: BTreeMap<String, usize>,
}

impl<Entry: HasName> Named<Entry> {
    /// The entry of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(name)?)
    }

    /// Adds an entry; one of the same name is replaced at its place, and returned.
    pub fn put(&mut self, entry: Entry) -> Option<Entry> {
        if let Some(&place) = self.places.get(entry.name()) {
            return self.entries.get_mut(place).map(|old| std::mem::replace(old, entry));
        }
        self.places.insert(entry.name().to_owned(), self.entries.len());
        self.entries.push(entry);
        None
    }
}

impl<Entry> Default for Named<Entry> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: BTreeMap::new() }
    }
}

impl<Entry: HasName> FromIterator<Entry> for Named<Entry> {
    fn from_iter<Entries: IntoIterator<Item = Entry>>(entries: Entries) -> Self {
        let mut named = Self::default();
        for entry in entries {
            named.put(entry);
        }
        named
    }
}

impl<Entry> Deref for Named<Entry> {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl<Entry: PartialEq> PartialEq for Named<Entry> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<'a, Entry> IntoIterator for &'a Named<Entry> {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests;
