//! Blocks as stored, for tools that inspect a file.

use crate::index::handle::Index;
use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// A block as stored.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RawBlock<'a, F> {
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// Its bytes, for [`reference::read_block`](crate::inspect::reference::read_block).
    pub bytes: &'a [u8],
    /// Its last entry, in the table's order of bits, from the keys.
    pub key: F,
    /// Whether its checksum is right.
    pub is_whole: bool,
}

impl<F: Fingerprint> Index<F> {
    /// Returns a block as stored, damaged or not; `None` if there is no such table or block.
    #[must_use]
    pub fn raw_block(&self, table: usize, block: u64) -> Option<RawBlock<'_, F>> {
        let table = self.tables.get(table)?;
        let block = usize::try_from(block).ok().filter(|&block| block < table.keys.len())?;
        let file = self.data.as_ref();
        let bytes = table.bytes(file, block);
        Some(RawBlock {
            offset: (table.offset + block * bytes.len()) as u64,
            bytes,
            key: table.keys.in_file(file).get(block),
            is_whole: table.check(file, block).is_ok(),
        })
    }

    /// Returns the key of a block, its last entry in the table's order of bits, without reading the block; `None` if
    /// there is no such table or block.
    #[must_use]
    pub fn block_key(&self, table: usize, block: u64) -> Option<F> {
        let table = self.tables.get(table)?;
        let block = usize::try_from(block).ok().filter(|&block| block < table.keys.len())?;
        Some(table.keys.in_file(self.data.as_ref()).get(block))
    }

    /// Returns the permutation of a table; `None` if there is no such table.
    #[must_use]
    pub fn permutation(&self, table: usize) -> Option<&Permutation<F>> {
        Some(&self.tables.get(table)?.permutation)
    }
}
