//! Blocks as they are, for tools that look into a file.

use crate::index::handle::Index;
use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// A block as it lies in the file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RawBlock<'a, F> {
    /// Where it starts in the file, in bytes.
    pub offset: u64,
    /// Its bytes, for [`reference::read_block`](crate::inspect::reference::read_block).
    pub bytes: &'a [u8],
    /// Its last entry, in the table's order of bits, as the keys have it.
    pub key: F,
    /// Whether its checksum is right.
    pub is_whole: bool,
}

impl<F: Fingerprint> Index<F> {
    /// A block as it lies in the file, damaged or not; `None` when there is no such table or block.
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

    /// The permutation of a table; `None` when there is no such table.
    #[must_use]
    pub fn permutation(&self, table: usize) -> Option<&Permutation<F>> {
        Some(&self.tables.get(table)?.permutation)
    }
}
