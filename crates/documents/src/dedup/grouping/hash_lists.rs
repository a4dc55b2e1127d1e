//! Inverted lists: classes by hash.

use crate::error::Error;

/// The end of a list.
const END: u32 = u32::MAX;

/// The fewest lists, and the factor by which they multiply when there are as many entries.
const MIN_HEADS: usize = 1 << 10;
const GROWTH: usize = 4;

/// Linked lists in one allocation. Several hashes share a list; their entries are told apart.
#[derive(Default)]
pub(crate) struct HashLists {
    /// The newest entry of each list; a power of two of them.
    heads: Vec<u32>,
    entries: Vec<Entry>,
}

struct Entry {
    hash: u64,
    class: u32,
    /// The next older entry of the list.
    next: u32,
}

impl HashLists {
    /// Returns about the memory of this many entries, in bytes.
    pub(crate) fn bytes_of(entries: u64) -> u64 {
        let heads = entries.max(MIN_HEADS as u64) * GROWTH as u64;
        entries * size_of::<Entry>() as u64 + heads * size_of::<u32>() as u64 / 2
    }

    pub(crate) fn add(&mut self, hash: u64, class: u32) -> Result<(), Error> {
        // An entry that is the end of a list cannot be its start.
        let entry = u32::try_from(self.entries.len()).ok().filter(|entry| *entry != END);
        let entry = entry.ok_or(Error::TooManyDocuments)?;
        if self.entries.len() == self.heads.len() {
            self.grow();
        }
        let list = self.list(hash);
        let next = std::mem::replace(&mut self.heads[list], entry);
        self.entries.push(Entry { hash, class, next });
        Ok(())
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // Room that entries have not taken yet is not backed by memory.
        (self.entries.len() * size_of::<Entry>() + self.heads.len() * size_of::<u32>()) as u64
    }

    /// Calls `visit` with the classes of a hash.
    pub(crate) fn each(&self, hash: u64, mut visit: impl FnMut(u32)) {
        if self.heads.is_empty() {
            return;
        }
        let mut at = self.heads[self.list(hash)];
        while at != END {
            let entry = &self.entries[at as usize];
            if entry.hash == hash {
                visit(entry.class);
            }
            at = entry.next;
        }
    }

    /// Returns the list of a hash, by a multiplication, since some hashes have fewer bits.
    fn list(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.heads.len().ilog2())) as usize
    }

    fn grow(&mut self) {
        let lists = (self.heads.len() * GROWTH).max(MIN_HEADS);
        self.heads = Vec::new();
        self.heads.resize(lists, END);
        for at in 0..self.entries.len() {
            let list = self.list(self.entries[at].hash);
            self.entries[at].next = std::mem::replace(&mut self.heads[list], at as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn every_class_is_found_by_its_hashes_alone() {
        let (mut lists, mut expected) = (HashLists::default(), HashMap::<u64, Vec<u32>>::new());
        lists.each(1, |_| panic!("there is nothing yet"));
        for class in 0..9000u32 {
            // Some hashes are common, and some differ in their lowest or highest bits only.
            for hash in [u64::from(class % 7), u64::from(class) << 40, u64::from(class / 3)] {
                lists.add(hash, class).unwrap();
                expected.entry(hash).or_default().push(class);
            }
        }
        for (hash, classes) in &expected {
            let mut found = Vec::new();
            lists.each(*hash, |class| found.push(class));
            found.sort_unstable();
            let mut classes = classes.clone();
            classes.sort_unstable();
            assert_eq!(found, classes, "{hash}");
        }
        lists.each(u64::MAX, |_| panic!("nothing has this hash"));
        assert!(lists.bytes() >= 27_000 * 20 && lists.bytes() <= HashLists::bytes_of(27_000) * 2);
    }
}
