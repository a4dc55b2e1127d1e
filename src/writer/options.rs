//! Options of a build.

use std::path::{Path, PathBuf};

use crate::codec::{Codec, Layout, SIZES_LOG2};
use crate::design::{Design, DesignError, FilterChoice, MAX_FILTER_BITS};
use crate::error::BuildError;
use crate::format::footer::MAX_METADATA_BYTES;
use crate::memory::{MIN_MEMORY, default_memory};
use crate::metadata::{self, Metadata};
use crate::progress::{Counter, Phase, Progress, Report};
use crate::threads::MAX_THREADS;
use hamdex_fingerprint::Fingerprint;

/// The default distance: the paper's.
const DEFAULT_DISTANCE: u32 = 3;

/// The choice of tables.
#[derive(Debug, Clone)]
pub(super) enum DesignChoice<F> {
    /// The one that [`Design::auto`] takes for this distance and the number of fingerprints.
    Auto {
        /// The distance.
        distance: u32,
    },
    /// This one.
    Given(Design<F>),
}

/// Options of a build; the defaults suit most uses.
#[derive(Debug, Clone)]
pub struct BuildOptions<F> {
    pub(super) design: DesignChoice<F>,
    codec: Codec,
    /// Bytes of a block, if set.
    block_bytes: Option<usize>,
    pub(super) memory: u64,
    pub(super) threads: usize,
    pub(super) temp_dir: Option<PathBuf>,
    pub(super) overwrite: bool,
    pub(crate) ids: bool,
    pub(crate) names: bool,
    pub(crate) shingles: bool,
    pub(crate) lookups: bool,
    pub(super) sorted: bool,
    pub(crate) filter: FilterChoice,
    pub(super) metadata: Metadata,
    /// The most blocks that a table may have. Tests lower it.
    pub(super) max_blocks: u64,
    pub(crate) report: Report,
}

impl<F: Fingerprint> Default for BuildOptions<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Fingerprint> BuildOptions<F> {
    /// Returns the defaults: distance 3, a design chosen by the number of fingerprints, the Huffman codec, a
    /// quarter of the machine's memory, all its threads, no ids.
    #[must_use]
    pub fn new() -> Self {
        Self {
            design: DesignChoice::Auto { distance: DEFAULT_DISTANCE },
            codec: Codec::default(),
            block_bytes: None,
            memory: default_memory(),
            threads: 0,
            temp_dir: None,
            overwrite: false,
            ids: false,
            names: false,
            shingles: false,
            lookups: false,
            sorted: false,
            filter: FilterChoice::Auto,
            metadata: Metadata::new(),
            max_blocks: u64::from(u32::MAX),
            report: Report::default(),
        }
    }

    /// Sets the design.
    #[must_use]
    pub fn design(mut self, design: Design<F>) -> Self {
        self.design = DesignChoice::Given(design);
        self
    }

    /// Sets the distance; the design is chosen by it and by the number of fingerprints.
    #[must_use]
    pub fn distance(mut self, distance: u32) -> Self {
        self.design = DesignChoice::Auto { distance };
        self
    }

    /// Sets the codec of the blocks.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the size of a block: a power of two from 512 to 8,192 bytes; 1,024 by default. Larger blocks make
    /// the file smaller, and queries slower.
    #[must_use]
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = Some(bytes);
        self
    }

    /// Sets which tables have a filter of their prefixes, with which a query reads only blocks that probably have a
    /// match. It takes some bits per fingerprint and table, in the file and in memory while the file is open.
    #[must_use]
    pub fn filter(mut self, filter: FilterChoice) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the memory limit, in bytes, at least 16 MiB. Records that do not fit are sorted through temporary
    /// files. In addition to the limit, the keys take 8 or 16 bytes for every block (with ids another 18), and
    /// buffers some tens of MiB for any input.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the number of threads, at most 1,024; 0, the default, for all: see [the
    /// crate](crate#threads-memory-progress).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the directory of temporary files; by default that of the output, which has room for files of its
    /// size (for a stream: `TMPDIR` or, on Unix, `/var/tmp`). They have no names, and are gone when the build
    /// ends.
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Sets whether an existing file may be replaced. It keeps its mode and, if permitted, its owner.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets whether every fingerprint has an id. Without ids there are no names, no shingles and no look-ups.
    #[must_use]
    pub fn ids(mut self, ids: bool) -> Self {
        self.ids = ids;
        self.names &= ids;
        self.shingles &= ids;
        self.lookups &= ids;
        self
    }

    /// Sets whether every id has a name ([`Builder::push_name`](crate::Builder::push_name)). With names there
    /// are ids.
    #[must_use]
    pub fn names(mut self, names: bool) -> Self {
        self.names = names;
        self.ids |= names;
        self
    }

    /// Sets whether every id has the shingles of its document
    /// ([`Builder::push_shingles`](crate::Builder::push_shingles)), with which documents are compared by their texts.
    /// With shingles there are ids.
    #[must_use]
    pub fn shingles(mut self, shingles: bool) -> Self {
        self.shingles = shingles;
        self.ids |= shingles;
        self
    }

    /// Sets whether fingerprints are found by id, and ids by name if they have names
    /// ([`Index::lookups`](crate::Index::lookups)). It takes about 5 bytes per id, and as much per name. With look-ups
    /// there are ids.
    #[must_use]
    pub fn lookups(mut self, lookups: bool) -> Self {
        self.lookups = lookups;
        self.ids |= lookups;
        self
    }

    /// Sets whether fingerprints are pushed in ascending order, pairs of a fingerprint and an id by fingerprint
    /// first; repeats are allowed. They are not sorted for the first table then, only for later ones. Input out
    /// of order is refused.
    #[must_use]
    pub fn sorted(mut self, sorted: bool) -> Self {
        self.sorted = sorted;
        self
    }

    /// Adds a named byte string that travels with the index, 16 MiB of them in all. Names that begin
    /// with `hamdex.` are kept for the project's own tools.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Removes metadata.
    #[must_use]
    pub fn without_metadata(mut self, name: &str) -> Self {
        self.metadata.remove(name);
        self
    }

    crate::progress::report_setters!();

    /// Returns whether every fingerprint has an id.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        self.ids
    }

    /// Returns whether every id has a name.
    #[must_use]
    pub fn has_names(&self) -> bool {
        self.names
    }

    /// Returns whether every id has the shingles of its document.
    #[must_use]
    pub fn has_shingles(&self) -> bool {
        self.shingles
    }

    /// Returns whether fingerprints are found by id.
    #[must_use]
    pub fn has_lookups(&self) -> bool {
        self.lookups
    }

    /// Returns the memory limit, in bytes.
    #[must_use]
    pub fn memory_limit(&self) -> u64 {
        self.memory
    }

    /// Returns the directory of temporary files, if set.
    #[must_use]
    pub fn temp_dir_path(&self) -> Option<&Path> {
        self.temp_dir.as_deref()
    }

    /// Returns a value that has been added to the metadata.
    #[must_use]
    pub fn metadata_value(&self, name: &str) -> Option<&[u8]> {
        self.metadata.get(name).map(Vec::as_slice)
    }

    /// Returns the distance, in bits, for which the index will be made.
    #[must_use]
    pub fn design_distance(&self) -> u32 {
        match &self.design {
            DesignChoice::Auto { distance } => *distance,
            DesignChoice::Given(design) => design.distance(),
        }
    }

    pub(crate) fn progressed(&self, progress: Progress) -> Result<(), BuildError> {
        Ok(self.report.progressed(progress)?)
    }

    /// Returns a counter for the units of a phase; fails if the work is cancelled.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Result<Counter, BuildError> {
        Ok(self.report.counter(phase, total)?)
    }

    /// As [`Self::counter`], before anything is to be reported.
    pub(crate) fn silent_counter(&self, phase: Phase) -> Counter {
        Counter::new(self.report.clone(), phase, None)
    }

    pub(super) fn layout(&self) -> Layout {
        Layout {
            codec: self.codec,
            block_bytes: self.block_bytes.unwrap_or(self.codec.default_block_bytes()),
        }
    }

    /// Returns the design, now that the number of fingerprints is known.
    pub(super) fn choose_design(&self, count: u64) -> Result<Design<F>, DesignError> {
        match &self.design {
            DesignChoice::Auto { distance } => {
                Design::auto_with(*distance, count, self.layout(), self.filter)
            }
            DesignChoice::Given(design) => Ok(design.clone()),
        }
    }

    /// Returns the number of tables, as far as it is known before anything is counted.
    pub(crate) fn known_tables(&self) -> usize {
        match &self.design {
            DesignChoice::Auto { .. } => 1,
            DesignChoice::Given(design) => design.tables().len(),
        }
    }

    /// Returns the share of the memory limit for sorting; the rest is for batches to be written.
    pub(crate) fn sort_memory(&self) -> usize {
        usize::try_from(self.memory - self.memory / 8).unwrap_or(usize::MAX)
    }

    /// Returns whether an existing file may be replaced.
    #[must_use]
    pub fn is_overwriting(&self) -> bool {
        self.overwrite
    }

    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let refused =
            |option, given: String, expected: String| Err(BuildError::Option { option, given, expected });
        let sizes = (1usize << SIZES_LOG2.start())..=(1usize << SIZES_LOG2.end());
        let block_bytes = self.layout().block_bytes;
        if !block_bytes.is_power_of_two() || !sizes.contains(&block_bytes) {
            let expected = format!("a power of two from {} to {}", sizes.start(), sizes.end());
            return refused("the block size", block_bytes.to_string(), expected);
        }
        if self.memory < MIN_MEMORY {
            let expected = format!("at least {} MiB", MIN_MEMORY >> 20);
            return refused("the memory limit", format!("{} bytes", self.memory), expected);
        }
        if !self.filter.is_valid() {
            let given = format!("{:?}", self.filter);
            let expected = format!("1 to {MAX_FILTER_BITS} bits per fingerprint");
            return refused("the size of the filters", given, expected);
        }
        if self.threads > MAX_THREADS.get() {
            let expected = format!("at most {MAX_THREADS}");
            return refused("the number of threads", self.threads.to_string(), expected);
        }
        let metadata = metadata::to_bytes(&self.metadata).len() as u64;
        if metadata > MAX_METADATA_BYTES {
            let expected = format!("at most {MAX_METADATA_BYTES} bytes in all");
            return refused("the metadata", format!("{metadata} bytes"), expected);
        }
        if let DesignChoice::Auto { distance } = self.design {
            // A distance that no design serves is known before anything is read.
            Design::<F>::auto_with(distance, 0, self.layout(), self.filter)?;
        }
        Ok(())
    }
}
