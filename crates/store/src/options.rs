//! How a store is created and opened.

use hamdex::{Codec, default_memory};

use crate::segment::Opening;
use crate::write::durability::Durability;

/// Memory for recent pairs, by default and at least, in bytes.
const MAX_DEFAULT_MEMTABLE_BYTES: u64 = 256 << 20;
const MIN_MEMTABLE_BYTES: u64 = 1 << 12;

/// How many fingerprints the default design is meant for.
pub(crate) const EXPECTED_FINGERPRINTS: u64 = 100_000_000;

/// How a store is opened for writing; the defaults suit most.
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
    /// Every write durable when it is acknowledged; up to 256 MiB for recent pairs; merges as they are due.
    #[must_use]
    pub fn new() -> Self {
        let memory = MAX_DEFAULT_MEMTABLE_BYTES.min(default_memory() / 2);
        Self { durability: Durability::Sync, memory, threads: 0, merges: true, in_memory: false }
    }

    /// When a write is durable.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Bytes of memory for recent pairs, about 40 for each. When they are used up, the pairs are written to a file
    /// beside further writes. From half of what may wait for that on, writers are slowed down; at three times as much as
    /// this they wait.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes.max(MIN_MEMTABLE_BYTES);
        self
    }

    /// Threads for writing and merging files, at most; 0, the default, for as many as there are processors.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Whether files are merged in the background as they become many, as they are by default. Without it, a
    /// query looks into more and more files until [`Store::compact`](crate::Store::compact) is called.
    #[must_use]
    pub fn merges(mut self, merges: bool) -> Self {
        self.merges = merges;
        self
    }

    /// Whether files are read into memory of the process, in huge pages where the system has them, instead of mapped:
    /// faster to query where there are gigabytes, slower to open, and with all of the store in memory.
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

/// What a store is to be; settled when it is created.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    pub(crate) distance: u32,
    pub(crate) design: Option<String>,
    pub(crate) codec: Codec,
    pub(crate) ids: bool,
    pub(crate) names: bool,
    pub(crate) recipe: Option<String>,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl CreateOptions {
    /// For distance 3, with ids, the design that suits a hundred million fingerprints, the default codec.
    #[must_use]
    pub fn new() -> Self {
        Self { distance: 3, design: None, codec: Codec::default(), ids: true, names: false, recipe: None }
    }

    /// The distance that queries mostly ask for. Any other is answered exactly, too; a greater one takes longer.
    #[must_use]
    pub fn distance(mut self, distance: u32) -> Self {
        self.distance = distance;
        self
    }

    /// The design of its files, by name: see [`hamdex::Design::names`].
    #[must_use]
    pub fn design(mut self, name: impl Into<String>) -> Self {
        self.design = Some(name.into());
        self
    }

    /// The codec of its files.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Whether each fingerprint comes with ids.
    #[must_use]
    pub fn ids(mut self, ids: bool) -> Self {
        self.ids = ids;
        self.names &= ids;
        self
    }

    /// Whether ids have names: then the store gives the ids, and everything is inserted with the name of its id
    /// ([`Store::insert_named`](crate::Store::insert_named)). With names there are ids.
    #[must_use]
    pub fn names(mut self, names: bool) -> Self {
        self.names = names;
        self.ids |= names;
        self
    }

    /// The recipe by which texts become its fingerprints: kept for those who ask.
    #[must_use]
    pub fn recipe(mut self, recipe: impl Into<String>) -> Self {
        self.recipe = Some(recipe.into());
        self
    }
}
