//! The set of a self-join, in an index or in memory.
//!
//! [`MultiIndex`](crate::MultiIndex) has its own in its module.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::OnceLock;

use crate::design::{lead_sets, lead_sets_of_all};
use crate::error::{ReadError, ReadErrorKind};
use crate::index::Index;
use crate::join::Workspace;
use crate::memory::QUERY_HEADROOM_BYTES;
use crate::progress::{Counter, Stopped};
use crate::sorting;
use crate::table::{Table, runs_of};
use crate::threads::Pool;
use hamdex_fingerprint::Fingerprint;

/// Fingerprints to be joined with each other.
pub(crate) trait Population<F: Fingerprint>: Send + Sync {
    /// Returns the number of fingerprints, repeats counted.
    fn len(&self) -> u64;

    /// Returns whether a fingerprint may occur several times.
    fn has_repeats(&self) -> bool {
        false
    }

    /// Prepares, on that many threads, or in the current pool for 0.
    fn prepare(&self, _threads: usize, _done: &Counter) -> Result<(), ReadError> {
        Ok(())
    }

    /// Returns the number of values in memory regardless of the limit, so that smaller slices are useless.
    fn held(&self) -> u64 {
        0
    }

    /// Sets of masks to choose from, under one of which each pair within a distance agrees.
    fn lead_sets(&self, distance: u32) -> Vec<Vec<F>> {
        lead_sets_of_all(distance)
    }

    /// Tables that each hold all of it in another order, and the file that they are in; none if there is no such
    /// file.
    fn tables(&self) -> (&[Table<F>], &[u8]) {
        (&[], &[])
    }

    /// Reads ahead blocks of one of these tables.
    fn read_ahead(&self, _table: &Table<F>, _blocks: Range<usize>) {}

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

    /// Returns a search for the neighbours of one fingerprint, for a thread.
    fn neighbours(&self) -> Neighbours<'_, F>;

    /// Returns the error with the name of the file; by default as it is, since it has the name, or there is no file.
    fn error(&self, error: ReadError) -> ReadError {
        error
    }
}

/// A part of a population.
pub(crate) struct Part {
    /// Number of its source, or of its table.
    pub(crate) source: usize,
    /// Its blocks, or the places of its values.
    pub(crate) range: Range<usize>,
}

/// A function of a source, a query of it, a distance and a visitor, which it calls with each fingerprint near the query;
/// with none if an earlier source has the query, too.
pub(crate) type Neighbours<'p, F> = Box<dyn FnMut(usize, F, u32, Visit<'_, F>) -> Result<(), ReadError> + 'p>;

type Visit<'v, F> = &'v mut dyn FnMut(F) -> Result<(), Stopped>;

/// Returns a length in equal ranges.
pub(crate) fn ranges(length: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    let step = NonZeroUsize::new(step).unwrap_or(NonZeroUsize::MIN).get();
    (0..length).step_by(step).map(move |start| start..length.min(start + step))
}

/// All fingerprints of an index.
pub(crate) struct OfIndex<'i, F>(pub(crate) &'i Index<F>);

impl<F: Fingerprint> Population<F> for OfIndex<'_, F> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn lead_sets(&self, distance: u32) -> Vec<Vec<F>> {
        lead_sets(self.0.plan(distance))
    }

    fn tables(&self) -> (&[Table<F>], &[u8]) {
        (&self.0.tables, self.0.data.as_ref())
    }

    fn read_ahead(&self, table: &Table<F>, blocks: Range<usize>) {
        self.0.read_ahead.blocks(&self.0.data, table, blocks);
    }

    fn parts(&self, table: usize, size: u64) -> Vec<Part> {
        let ranges = parts_of_table(self.0, &self.0.tables[table], size);
        ranges.map(|range| Part { source: table, range }).collect()
    }

    fn bounds(&self, part: &Part) -> (F, F) {
        bounds_of_blocks(self.0, &self.0.tables[part.source], &part.range)
    }

    fn prefetch(&self, part: &Part) {
        self.read_ahead(&self.0.tables[part.source], part.range.clone());
    }

    fn read(
        &self,
        part: &Part,
        workspace: &mut Workspace<F>,
        take: &mut dyn FnMut(&[F]),
    ) -> Result<(), ReadError> {
        let table = &self.0.tables[part.source];
        read_runs(self.0, table, part.range.clone(), workspace, take)
    }

    fn neighbours(&self) -> Neighbours<'_, F> {
        let mut searcher = self.0.searcher();
        Box::new(move |_, query, distance, visit| {
            searcher.for_each(query, distance, |found| Ok(visit(found.fingerprint)?))
        })
    }

    fn error(&self, error: ReadError) -> ReadError {
        self.0.error(error)
    }
}

/// Returns the blocks of a table in parts of about that many fingerprints.
pub(crate) fn parts_of_table<F: Fingerprint>(
    index: &Index<F>,
    table: &Table<F>,
    size: u64,
) -> impl Iterator<Item = Range<usize>> + use<F> {
    let blocks = table.keys.len();
    ranges(blocks, (blocks as u64 * size).div_ceil(index.len().max(1)) as usize)
}

/// Returns a lower and an upper bound of the values of these blocks of a table, at least one, in the table's
/// order.
pub(crate) fn bounds_of_blocks<F: Fingerprint>(
    index: &Index<F>,
    table: &Table<F>,
    blocks: &Range<usize>,
) -> (F, F) {
    let keys = table.keys.in_file(index.data.as_ref());
    let least = blocks.start.checked_sub(1).map_or(F::ZERO, |before| keys.get(before));
    (least, keys.get(blocks.end - 1))
}

/// Calls `take` with the fingerprints of these blocks of a table, in its order, several blocks at a time.
pub(crate) fn read_runs<F: Fingerprint>(
    index: &Index<F>,
    table: &Table<F>,
    blocks: Range<usize>,
    workspace: &mut Workspace<F>,
    take: &mut dyn FnMut(&[F]),
) -> Result<(), ReadError> {
    let file = index.data.as_ref();
    index.read_ahead.blocks(&index.data, table, blocks.clone());
    for run in runs_of(blocks) {
        workspace.values.clear();
        table.decode_run(file, run, &mut workspace.scratch, &mut workspace.values)?;
        take(&workspace.values);
    }
    Ok(())
}

/// Takes the number and the values of a block.
type Take<'a, F> = &'a mut dyn FnMut(usize, &[F]) -> Result<(), ReadError>;

/// Calls `take` with the number and the values of each of these blocks of table 0.
pub(crate) fn read_blocks<F: Fingerprint>(
    index: &Index<F>,
    blocks: Range<usize>,
    workspace: &mut Workspace<F>,
    take: Take<'_, F>,
) -> Result<(), ReadError> {
    let (table, file) = (&index.tables[0], index.data.as_ref());
    index.read_ahead.blocks(&index.data, table, blocks.clone());
    for block in blocks {
        workspace.values.clear();
        table.decode(file, block, &mut workspace.scratch, &mut workspace.values)?;
        take(block, &workspace.values)?;
    }
    Ok(())
}

/// Fingerprints of a slice; equal ones are one.
pub(super) struct OfValues<'a, F> {
    given: &'a [F],
    /// Ascending, each once; made when it is needed.
    distinct: OnceLock<Vec<F>>,
}

impl<'a, F: Fingerprint> OfValues<'a, F> {
    pub(super) fn new(given: &'a [F]) -> Self {
        Self { given, distinct: OnceLock::new() }
    }

    fn values(&self) -> &[F] {
        self.distinct.get().map_or(self.given, Vec::as_slice)
    }
}

impl<F: Fingerprint> Population<F> for OfValues<'_, F> {
    fn len(&self) -> u64 {
        self.values().len() as u64
    }

    fn prepare(&self, threads: usize, done: &Counter) -> Result<(), ReadError> {
        if self.distinct.get().is_some() {
            return Ok(());
        }
        let mut distinct = Vec::new();
        let bytes = size_of_val(self.given) as u64;
        distinct
            .try_reserve_exact(self.given.len())
            .map_err(|_| ReadError::from(ReadErrorKind::OutOfMemory { bytes }))?;
        distinct.extend_from_slice(self.given);
        let pool = Pool::new(threads, QUERY_HEADROOM_BYTES)
            .map_err(|error| ReadError::from(ReadErrorKind::Threads(error)))?;
        let look = || done.check();
        pool.install(|| sorting::sort(&mut distinct, &look))?;
        sorting::dedup(&mut distinct, &look)?;
        // Another thread may have been quicker: it has made the same.
        let _ = self.distinct.set(distinct);
        Ok(())
    }

    fn held(&self) -> u64 {
        self.len()
    }

    fn parts(&self, _: usize, size: u64) -> Vec<Part> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        ranges(self.values().len(), size).map(|range| Part { source: 0, range }).collect()
    }

    fn bounds(&self, part: &Part) -> (F, F) {
        let values = &self.values()[part.range.clone()];
        (values[0], values[values.len() - 1])
    }

    fn read(&self, part: &Part, _: &mut Workspace<F>, take: &mut dyn FnMut(&[F])) -> Result<(), ReadError> {
        take(&self.values()[part.range.clone()]);
        Ok(())
    }

    fn neighbours(&self) -> Neighbours<'_, F> {
        Box::new(|_, query, distance, visit| {
            let mut near = self.values().iter().filter(|value| value.distance(query) <= distance);
            Ok(near.try_for_each(|&value| visit(value))?)
        })
    }
}
