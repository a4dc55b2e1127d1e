//! From located blocks to the entries that meet their targets.

use std::ops::{ControlFlow, Range};

use crate::codec::{BlockError, Blocks, Scratch, Target, scan_blocks};
use crate::error::ReadError;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// A block to be looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The place of what is looked for among the targets.
    pub(crate) target: u32,
}

/// Prefetches the fronts of blocks.
#[inline(always)]
pub(crate) fn prefetch_fronts<F: Fingerprint>(tables: &[Table<F>], file: &[u8], located: &[Located]) {
    for at in located {
        tables[at.table as usize].prefetch_front(file, at.block);
    }
}

impl Located {
    /// Prefetches what a scan is likely to read behind the front of the block.
    #[inline(always)]
    pub(crate) fn prefetch_likely<F: Fingerprint>(
        &self,
        tables: &[Table<F>],
        file: &[u8],
        targets: &[Target<F>],
    ) {
        tables[self.table as usize].prefetch_likely(file, self.block, &targets[self.target as usize]);
    }
}

/// Blocks of the tables of a file.
struct LocatedBlocks<'a, F> {
    tables: &'a [Table<F>],
    file: &'a [u8],
    located: &'a [Located],
    targets: &'a [Target<F>],
}

impl<'a, F> LocatedBlocks<'a, F> {
    /// The table of a block, and its number there.
    #[inline(always)]
    fn at(&self, number: usize) -> (&'a Table<F>, usize) {
        let at = self.located[number];
        (&self.tables[at.table as usize], at.block as usize)
    }
}

impl<F: Fingerprint> Blocks<F> for LocatedBlocks<'_, F> {
    type Error = ReadError;

    #[inline(always)]
    fn len(&self) -> usize {
        self.located.len()
    }

    #[inline(always)]
    fn prefetch_fronts(&self, numbers: Range<usize>) {
        prefetch_fronts(self.tables, self.file, &self.located[numbers]);
    }

    #[inline(always)]
    fn checked_bytes(&self, number: usize) -> Result<&[u8], ReadError> {
        let (table, block) = self.at(number);
        table.block(self.file, block)
    }

    #[inline(always)]
    fn bytes(&self, number: usize) -> &[u8] {
        let (table, block) = self.at(number);
        table.bytes(self.file, block)
    }

    #[inline(always)]
    fn last(&self, number: usize) -> F {
        let (table, block) = self.at(number);
        table.keys.get(block)
    }

    #[inline(always)]
    fn target(&self, number: usize) -> &Target<F> {
        &self.targets[self.located[number].target as usize]
    }

    #[cold]
    fn damaged(&self, number: usize, error: BlockError) -> ReadError {
        let (table, block) = self.at(number);
        table.damaged(block, error)
    }
}

/// Looks into blocks, of any of a file's tables, using the same memory again and again.
#[derive(Debug)]
pub(crate) struct Scanner<F> {
    scratch: Scratch<F>,
}

impl<F> Default for Scanner<F> {
    fn default() -> Self {
        Self { scratch: Scratch::default() }
    }
}

impl<F: Fingerprint> Scanner<F> {
    /// Calls `visit` with each entry of these blocks that its target meets: where it was, its number
    /// in the block, and its value in the table's order of bits. Stops when `visit` breaks, and returns
    /// whether it did.
    ///
    /// The first [`SCAN_BATCH`](crate::codec::SCAN_BATCH) blocks are best prefetched as soon as they are
    /// located.
    ///
    /// # Errors
    /// When a block is damaged.
    pub(crate) fn scan(
        &mut self,
        tables: &[Table<F>],
        file: &[u8],
        located: &[Located],
        targets: &[Target<F>],
        mut visit: impl FnMut(Located, usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let blocks = LocatedBlocks { tables, file, located, targets };
        scan_blocks(
            &blocks,
            |number| &blocks.at(number).0.codec,
            &mut self.scratch,
            |number, entry, value| visit(located[number], entry, value),
        )
    }
}
