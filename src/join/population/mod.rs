//! The set of a self-join, in an index or in memory.
//!
//! - [`of_index`]: the fingerprints of an index
//! - [`of_values`]: fingerprints in memory
//!
//! [`MultiIndex`](crate::MultiIndex) has its own in its module.

mod of_index;
mod of_values;

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};

pub(crate) use of_index::{OfIndex, bounds_of_blocks, parts_of_table, read_blocks, read_runs};
pub(super) use of_values::OfValues;

use crate::error::ReadError;
use crate::join::workspace::Workspace;
use crate::progress::Counter;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// Fingerprints to be joined with each other.
pub(crate) trait Population<F: Fingerprint>: Send + Sync {
    /// Returns the number of fingerprints, repeats counted.
    fn len(&self) -> u64;

    /// Returns whether a fingerprint may occur several times.
    fn has_repeats(&self) -> bool;

    /// Prepares, on that many threads, or in the current pool for 0.
    fn prepare(&self, _threads: usize, _done: &Counter) -> Result<(), ReadError> {
        Ok(())
    }

    /// Returns the number of values in memory regardless of the limit, so that smaller slices are useless.
    fn held(&self) -> u64 {
        0
    }

    /// Sets of masks to choose from, under one of which each pair within a distance agrees.
    fn lead_sets(&self, distance: u32) -> Vec<Vec<F>>;

    /// Tables that each hold all of it in another order, and the file that they are in; none if there is no such
    /// file.
    fn tables(&self) -> (&[Table<F>], &[u8]);

    /// Reads ahead blocks of one of these tables.
    fn read_ahead(&self, table: &Table<F>, blocks: Range<usize>);

    /// Returns all of it in parts of about that many fingerprints, in the order of a table: of table 0, which is the
    /// natural one, where there are no tables.
    fn parts(&self, table: usize, size: u64) -> Vec<Part>;

    /// Returns a lower and an upper bound of the fingerprints of a non-empty part, in the order of the part's
    /// table.
    fn bounds(&self, part: &Part) -> (F, F);

    /// Prefetches a part.
    fn prefetch(&self, _part: &Part) {}

    /// Delivers the fingerprints of a part, some at a time, in the order of its table.
    fn read(
        &self,
        part: &Part,
        workspace: &mut Workspace<F>,
        take: &mut dyn FnMut(&[F]),
    ) -> Result<(), ReadError>;

    /// Returns a searcher for the neighbours of one fingerprint, for a thread.
    fn neighbours(&self) -> Box<dyn Neighbours<F> + '_>;

    /// Returns an error that names the file.
    fn error(&self, error: ReadError) -> ReadError;
}

/// A part of a population.
pub(crate) struct Part {
    /// Number of its source, or of its table.
    pub(crate) source: usize,
    /// Its blocks, or the places of its values.
    pub(crate) range: Range<usize>,
}

/// Finds what is near one fingerprint after the other.
pub(crate) trait Neighbours<F> {
    /// Calls `visit` with each fingerprint within `distance` of `query`, which is of that source, until it breaks;
    /// with none if the query comes from an earlier source, too.
    fn for_each(
        &mut self,
        source: usize,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError>;
}

/// Returns a length in equal ranges.
pub(crate) fn ranges(length: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    let step = NonZeroUsize::new(step).unwrap_or(NonZeroUsize::MIN).get();
    (0..length).step_by(step).map(move |start| start..length.min(start + step))
}
