//! Inverted lists: classes by hash.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::error::Error;

/// The end of a list.
const END: u32 = u32::MAX;

/// Linked lists in one allocation, by hash.
#[derive(Default)]
pub(crate) struct HashLists {
    /// The newest entry of each list.
    heads: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    /// Classes, and the next older entry.
    entries: Vec<(u32, u32)>,
}

impl HashLists {
    pub(crate) fn add(&mut self, hash: u64, class: u32) -> Result<(), Error> {
        // An entry that is the end of a list cannot be its start.
        let entry = u32::try_from(self.entries.len()).ok().filter(|entry| *entry != END);
        let entry = entry.ok_or(Error::TooManyDocuments)?;
        let head = self.heads.entry(hash).or_insert(END);
        self.entries.push((class, *head));
        *head = entry;
        Ok(())
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // A map keeps an eighth of its places free, and a byte for each.
        let places = self.heads.capacity() as u64 * 8 / 7;
        places * (size_of::<(u64, u32)>() as u64 + 1)
            + (self.entries.capacity() * size_of::<(u32, u32)>()) as u64
    }

    /// Calls `visit` with the classes of a list.
    pub(crate) fn each(&self, hash: u64, mut visit: impl FnMut(u32)) {
        let mut at = self.heads.get(&hash).copied().unwrap_or(END);
        while at != END {
            let (class, next) = self.entries[at as usize];
            visit(class);
            at = next;
        }
    }
}

/// A multiplication as the hash function, for keys that are hashes of fewer bits: a map chooses by the highest bits as
/// well as by the lowest.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
