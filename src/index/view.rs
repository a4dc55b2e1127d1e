//! Tables read as a whole, in order.

use std::ops::Range;

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::ids::Ids;
use crate::ids::reader::IdWalk;
use crate::index::Index;
use crate::permutation::Permutation;
use crate::table::Table;
use hamdex_fingerprint::Fingerprint;

/// A sorted table in blocks.
pub(crate) trait SortedBlocks<F>: Sync {
    /// Returns the number of blocks.
    fn blocks(&self) -> usize;

    /// Returns a bound of the values of a block: the last one, or above it, and not above the key of the next block.
    fn key(&self, block: usize) -> F;

    /// Returns the number of ids before the first of a block; after the last block, the number of all ids. 0 without ids.
    fn ids_before(&self, block: usize) -> Result<u64, ReadError>;

    /// Appends the values of some blocks.
    fn decode(
        &self,
        blocks: Range<usize>,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError>;
}

/// A table of an index.
#[derive(Clone, Copy)]
pub(crate) struct TableView<'i, F> {
    index: &'i Index<F>,
    table: &'i Table<F>,
    /// The number added to each id.
    id_offset: u64,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the table that begins with the bits under a mask, if any.
    pub(crate) fn table_of(&self, mask: F) -> Option<TableView<'_, F>> {
        let table = self.tables.iter().find(|table| table.permutation.mask() == mask)?;
        Some(TableView { index: self, table, id_offset: 0 })
    }

    /// Returns the table in natural order.
    pub(crate) fn natural_table(&self) -> TableView<'_, F> {
        TableView { index: self, table: &self.tables[0], id_offset: 0 }
    }

    /// Returns all tables but the one in natural order.
    pub(crate) fn other_tables(&self) -> impl Iterator<Item = TableView<'_, F>> {
        self.tables[1..].iter().map(|table| TableView { index: self, table, id_offset: 0 })
    }

    /// Returns an upper bound of the ids, from the width of their fields; `None` if there are none.
    pub(crate) fn most_id(&self) -> Option<u64> {
        let ids = self.ids.as_ref()?.record;
        if ids.count == 0 {
            return None;
        }
        let most = u64::MAX.checked_shr(u64::BITS - ids.bits).unwrap_or(0);
        Some(ids.base.saturating_add(most))
    }

    /// Returns the greatest id; reads all.
    pub(crate) fn last_id(&self) -> Result<Option<u64>, ReadError> {
        let Some(ids) = &self.ids else { return Ok(None) };
        let all = ids.range(self.data.as_ref(), 0, ids.record.count).map_err(|error| self.error(error))?;
        Ok(all.max())
    }
}

impl<F: Fingerprint> SortedBlocks<F> for TableView<'_, F> {
    fn blocks(&self) -> usize {
        self.table.keys.len()
    }

    fn key(&self, block: usize) -> F {
        self.table.keys.in_file(self.index.data.as_ref()).get(block)
    }

    fn decode(
        &self,
        blocks: Range<usize>,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError> {
        self.index.read_ahead.blocks(&self.index.data, self.table, blocks.clone());
        let file = self.index.data.as_ref();
        self.table.decode_run(file, blocks, scratch, values).map_err(|error| self.index.error(error))
    }

    fn ids_before(&self, block: usize) -> Result<u64, ReadError> {
        match &self.index.ids {
            None => Ok(0),
            Some(ids) if block == self.blocks() => Ok(ids.record.count),
            Some(ids) => {
                ids.first_of_block(self.index.data.as_ref(), block).map_err(|error| self.index.error(error))
            }
        }
    }
}

impl<'i, F: Fingerprint> TableView<'i, F> {
    /// Returns the same with that added to each id, which must not exceed 64 bits for it.
    pub(crate) fn renumbered(self, id_offset: u64) -> Self {
        Self { id_offset, ..self }
    }

    /// Returns the permutation of its entries.
    pub(crate) fn permutation(&self) -> &'i Permutation<F> {
        &self.table.permutation
    }

    /// Calls `visit` with each id of some entries of table 0, counted from the first one of a block, and how many
    /// of these entries come before the one that it belongs to.
    pub(crate) fn for_each_id(
        &self,
        block: usize,
        entries: Range<usize>,
        mut visit: impl FnMut(usize, u64),
    ) -> Result<(), ReadError> {
        let Some(ids) = &self.index.ids else { return Ok(()) };
        let offset = self.id_offset;
        let visit = |entry, id: u64| visit(entry, id.wrapping_add(offset));
        let visited = ids.for_each(self.index.data.as_ref(), block, entries, visit);
        visited.map_err(|error| self.index.error(error))
    }

    /// Returns the ids of the entries of table 0 from the first one of a block on. To be called with the entries in
    /// their order.
    pub(crate) fn ids_from(
        &self,
        block: usize,
    ) -> Result<impl FnMut() -> Result<Ids<'i>, ReadError> + use<'i, F>, ReadError> {
        let (index, offset) = (self.index, self.id_offset);
        let file = index.data.as_ref();
        let mut walk: Option<IdWalk> = match &index.ids {
            Some(ids) => Some(ids.walk(file, block, 0).map_err(|error| index.error(error))?),
            None => None,
        };
        Ok(move || match (&index.ids, &mut walk) {
            (Some(ids), Some(walk)) => {
                let ids = ids.next(file, walk).map_err(|error| index.error(error))?;
                Ok(ids.renumbered(offset))
            }
            _ => Ok(Ids::NONE),
        })
    }
}
