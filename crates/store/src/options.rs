//! Options for creating and opening a store.

use hamdex::{Codec, FilterChoice, default_memory};

use crate::log::MAX_OPERATIONS;
use crate::memtable::MAX_RUN_PAIRS;
use crate::segment::Opening;
use crate::write::writer::Durability;

/// Greatest default and least memory for the memtable, in bytes.
const MAX_DEFAULT_MEMTABLE_BYTES: u64 = 256 << 20;
const MIN_MEMTABLE_BYTES: u64 = 1 << 12;

/// Greatest memory for the memtable, in bytes.
const MAX_MEMTABLE_BYTES: u64 = 8 << 30;

// After a crash, one memtable gets the pairs of up to three, each an eighth above its limit, and of a group of batches.
// Each takes at least its id.
const _: () = assert!(
    3 * (MAX_MEMTABLE_BYTES + MAX_MEMTABLE_BYTES / 8) / 8 + 8 * MAX_OPERATIONS as u64 <= MAX_RUN_PAIRS,
    "one run takes all recent pairs"
);

/// Number of fingerprints that the default design is chosen for.
pub(crate) const EXPECTED_FINGERPRINTS: u64 = 100_000_000;

/// Options for opening a store for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    pub(crate) durability: Durability,
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    pub(crate) merges: bool,
    pub(crate) in_memory: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreOptions {
    /// Returns the defaults: every acknowledged write is durable, a memtable has up to 256 MiB, and merges run in the
    /// background.
    #[must_use]
    pub fn new() -> Self {
        let memory = MAX_DEFAULT_MEMTABLE_BYTES.min(default_memory() / 2);
        Self { durability: Durability::Sync, memory, threads: 0, merges: true, in_memory: false }
    }

    /// Sets the durability of acknowledged writes.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the memory of the memtable, in bytes: at most 8 GiB, and more counts as that. A pair takes about 40. A full
    /// memtable is flushed concurrently with further writes, and so is one whose log is as long, for example with
    /// removals. Writers are slowed down from 1.5 times this on, and wait at three times this.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes.clamp(MIN_MEMTABLE_BYTES, MAX_MEMTABLE_BYTES);
        self
    }

    /// Sets the maximum number of threads per flush or merge; 0, the default, means one per processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets whether segments are merged in the background, as by default. Otherwise queries search more and more
    /// segments until [`Store::compact`](crate::Store::compact) is called.
    #[must_use]
    pub fn merges(mut self, merges: bool) -> Self {
        self.merges = merges;
        self
    }

    /// Sets whether segments are read into process memory, in huge pages if the system has them, instead of mapped.
    /// This makes queries of gigabytes faster and opening slower, and needs memory for the whole store.
    #[must_use]
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    pub(crate) fn opening(&self) -> Opening {
        Opening { in_memory: self.in_memory, is_checked: false }
    }

    pub(crate) fn memtable_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }
}

/// Options for creating a store. They are fixed from then on.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    pub(crate) distance: u32,
    pub(crate) design: Option<String>,
    pub(crate) codec: Codec,
    pub(crate) filter: FilterChoice,
    pub(crate) ids: bool,
    pub(crate) names: bool,
    pub(crate) recipe: Option<String>,
    pub(crate) shingles: Option<String>,
    pub(crate) lookups: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl CreateOptions {
    /// Returns the defaults: distance 3, with ids, a design for a hundred million fingerprints, the default codec, and
    /// filters where they pay.
    #[must_use]
    pub fn new() -> Self {
        Self {
            distance: 3,
            design: None,
            codec: Codec::default(),
            filter: FilterChoice::Auto,
            ids: true,
            names: false,
            recipe: None,
            shingles: None,
            lookups: false,
        }
    }

    /// Sets the usual distance of queries. Other distances are exact as well; greater ones are slower.
    #[must_use]
    pub fn distance(mut self, distance: u32) -> Self {
        self.distance = distance;
        self
    }

    /// Sets the design of segments by name: see [`hamdex::Design::names`].
    #[must_use]
    pub fn design(mut self, name: impl Into<String>) -> Self {
        self.design = Some(name.into());
        self
    }

    /// Sets the codec of segments.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the filters of segments.
    #[must_use]
    pub fn filter(mut self, filter: FilterChoice) -> Self {
        self.filter = filter;
        self
    }

    /// Sets whether fingerprints have ids.
    #[must_use]
    pub fn ids(mut self, ids: bool) -> Self {
        self.ids = ids;
        self.lookups &= ids;
        let names = self.names && ids;
        self.names(names)
    }

    /// Sets whether ids have names. The store assigns the ids then, and every fingerprint is inserted with a name
    /// ([`Store::put`](crate::Store::put)). Names imply ids.
    #[must_use]
    pub fn names(mut self, names: bool) -> Self {
        self.names = names;
        self.ids |= names;
        self.shingles = self.shingles.filter(|_| names);
        self
    }

    /// Sets that every id has the shingles of its document, made as `definition` says; documents are stored as
    /// [`Record::document`](crate::Record::document) then. Shingles imply names.
    #[must_use]
    pub fn shingles(mut self, definition: impl Into<String>) -> Self {
        self.shingles = Some(definition.into());
        self.names(true)
    }

    /// Sets whether pairs are found by id, and ids by name, without a pass over the set: for
    /// [replacements](crate::When::replacing), and removal by id and name. It takes about 5 bytes per pair, and as
    /// much per name. Look-ups imply ids.
    #[must_use]
    pub fn lookups(mut self, lookups: bool) -> Self {
        self.lookups = lookups;
        self.ids |= lookups;
        self
    }

    /// Sets the recipe that turns texts into fingerprints, for information.
    #[must_use]
    pub fn recipe(mut self, recipe: impl Into<String>) -> Self {
        self.recipe = Some(recipe.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_bounds() {
        let memory_of = |bytes: u64| StoreOptions::new().memory(bytes).memory;
        assert_eq!([0, 1 << 20, u64::MAX].map(memory_of), [1 << 12, 1 << 20, 8 << 30]);
    }
}
