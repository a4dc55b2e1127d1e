//! Inverted lists: classes by hash.

use std::iter;

use crate::error::Error;

/// No entry: the list is empty.
const END: u32 = u32::MAX;

/// The fewest lists, and the factor by which they multiply when there are as many entries.
const MIN_HEADS: usize = 1 << 10;
const GROWTH: usize = 4;

/// Linked lists in one allocation. Several hashes share a list; their entries are told apart. Lists are circular, so that
/// one number per list leads to its newest entry, and from there to the oldest.
#[derive(Default)]
pub(crate) struct HashLists {
    /// The newest entry of each list; a power of two of them.
    newest: Vec<u32>,
    entries: Vec<Entry>,
}

struct Entry {
    hash: u64,
    class: u32,
    /// The next newer entry of the list; of the newest, the oldest.
    next: u32,
}

impl HashLists {
    /// Returns about the memory of this many entries, in bytes.
    pub(crate) fn bytes_of(entries: u64) -> u64 {
        let heads = entries.max(MIN_HEADS as u64) * GROWTH as u64;
        entries * size_of::<Entry>() as u64 + heads * size_of::<u32>() as u64 / 2
    }

    pub(crate) fn add(&mut self, hash: u64, class: u32) -> Result<(), Error> {
        let entry = u32::try_from(self.entries.len()).ok().filter(|entry| *entry != END);
        let entry = entry.ok_or(Error::TooManyDocuments)?;
        if self.entries.len() == self.newest.len() {
            self.grow();
        }
        self.entries.push(Entry { hash, class, next: entry });
        self.link(entry);
        Ok(())
    }

    /// Makes an entry the newest of its list.
    fn link(&mut self, entry: u32) {
        let list = self.list(self.entries[entry as usize].hash);
        let before = std::mem::replace(&mut self.newest[list], entry);
        let oldest = match before {
            END => entry,
            before => std::mem::replace(&mut self.entries[before as usize].next, entry),
        };
        self.entries[entry as usize].next = oldest;
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // Room that entries have not taken yet is not backed by memory.
        (self.entries.len() * size_of::<Entry>() + self.newest.len() * size_of::<u32>()) as u64
    }

    /// Returns the classes of a hash, in the order in which they were added.
    pub(crate) fn classes(&self, hash: u64) -> impl Iterator<Item = u32> {
        let newest = if self.newest.is_empty() { END } else { self.newest[self.list(hash)] };
        let (mut at, mut is_over) = (newest, newest == END);
        iter::from_fn(move || {
            while !is_over {
                at = self.entries[at as usize].next;
                is_over = at == newest;
                let entry = &self.entries[at as usize];
                if entry.hash == hash {
                    return Some(entry.class);
                }
            }
            None
        })
    }

    /// Returns the list of a hash, by a multiplication, since some hashes have fewer bits.
    fn list(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.newest.len().ilog2())) as usize
    }

    fn grow(&mut self) {
        let lists = (self.newest.len() * GROWTH).max(MIN_HEADS);
        self.newest = Vec::new();
        self.newest.resize(lists, END);
        (0..self.entries.len()).for_each(|entry| self.link(entry as u32));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn every_class_is_found_by_its_hashes_alone() {
        let (mut lists, mut expected) = (HashLists::default(), HashMap::<u64, Vec<u32>>::new());
        assert_eq!(lists.classes(1).next(), None, "there is nothing yet");
        for class in 0..9000u32 {
            // Some hashes are common, and some differ in their lowest or highest bits only.
            for hash in [u64::from(class % 7), u64::from(class) << 40, u64::from(class / 3)] {
                lists.add(hash, class).unwrap();
                expected.entry(hash).or_default().push(class);
            }
        }
        for (hash, classes) in &expected {
            assert_eq!(&lists.classes(*hash).collect::<Vec<_>>(), classes, "{hash}");
        }
        assert_eq!(lists.classes(u64::MAX).next(), None, "nothing has this hash");
        assert!(lists.bytes() >= 27_000 * 20 && lists.bytes() <= HashLists::bytes_of(27_000) * 2);
    }
}
