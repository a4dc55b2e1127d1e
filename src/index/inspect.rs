//! Blocks as they are, for tools that look into a file or read all of it.

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::index::handle::Index;
use crate::index::read_ahead::Windows;
use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// A block as it lies in the file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RawBlock<'a, F> {
    /// Where it starts in the file, in bytes.
    pub offset: u64,
    /// Its bytes, for [`reference::read_block`](crate::reference::read_block).
    pub bytes: &'a [u8],
    /// Its last entry, in the table's order of bits, as the keys have it.
    pub key: F,
    /// Whether its checksum is right.
    pub is_whole: bool,
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
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
            key: table.keys.get(block),
            is_whole: table.check(file, block).is_ok(),
        })
    }

    /// The permutation of a table; `None` when there is no such table.
    #[must_use]
    pub fn permutation(&self, table: usize) -> Option<&Permutation<F>> {
        Some(&self.tables.get(table)?.permutation)
    }

    /// All fingerprints, ascending, read block by block. Ends after the first error.
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints<'_, F, D> {
        Fingerprints {
            index: self,
            next_block: 0,
            scratch: Scratch::default(),
            values: Vec::new(),
            at: 0,
            windows: self.read_ahead.windows(&self.data),
        }
    }
}

/// All fingerprints of an index, ascending; made by [`Index::fingerprints`].
pub struct Fingerprints<'i, F, D> {
    index: &'i Index<F, D>,
    next_block: usize,
    scratch: Scratch<F>,
    values: Vec<F>,
    at: usize,
    windows: Windows<'i, D>,
}

impl<F: Fingerprint, D: AsRef<[u8]>> Iterator for Fingerprints<'_, F, D> {
    type Item = Result<F, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.values.len() {
            // Table 0 is in natural order.
            let table = &self.index.tables[0];
            if self.next_block == table.keys.len() {
                return None;
            }
            self.values.clear();
            self.at = 0;
            let file = self.index.data.as_ref();
            self.windows.reach(table, self.next_block);
            if let Err(error) = table.decode(file, self.next_block, &mut self.scratch, &mut self.values) {
                self.values.clear();
                self.next_block = table.keys.len();
                return Some(Err(self.index.error(error)));
            }
            self.next_block += 1;
        }
        self.at += 1;
        Some(Ok(self.values[self.at - 1]))
    }
}
