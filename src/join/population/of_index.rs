//! The fingerprints of an index.

use std::ops::{ControlFlow, Range};

use crate::design::lead_sets;
use crate::error::ReadError;
use crate::index::handle::Index;
use crate::index::searcher::Searcher;
use crate::join::population::{Neighbours, Part, Population, ranges};
use crate::join::workspace::Workspace;
use crate::table::reader::{Table, runs_of};
use hamdex_fingerprint::Fingerprint;

/// All fingerprints of an index.
pub(crate) struct OfIndex<'i, F>(pub(crate) &'i Index<F>);

impl<F: Fingerprint> Population<F> for OfIndex<'_, F> {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn has_repeats(&self) -> bool {
        false
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

    fn neighbours(&self) -> Box<dyn Neighbours<F> + '_> {
        Box::new(self.0.searcher())
    }

    fn error(&self, error: ReadError) -> ReadError {
        self.0.error(error)
    }
}

impl<F: Fingerprint> Neighbours<F> for Searcher<&Index<F>> {
    fn for_each(
        &mut self,
        _: usize,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        Searcher::for_each(self, query, distance, |found| visit(found.fingerprint))
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
pub(crate) type Take<'a, F> = &'a mut dyn FnMut(usize, &[F]) -> Result<(), ReadError>;

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
