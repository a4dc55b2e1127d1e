//! From located blocks to the entries that meet their targets.

use std::ops::ControlFlow;

use crate::codec::{BlockError, Blocks, Located, Scratch, Target, scan_blocks};
use crate::error::ReadError;
use crate::table::blocks_read;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// Prefetches the fronts of blocks.
#[inline(always)]
pub(crate) fn prefetch_fronts<F: Fingerprint>(
    tables: &[Table<F>],
    file: &[u8],
    located: &[Located],
    targets: &[Target<F>],
) {
    for at in located {
        tables[at.table as usize].prefetch_front(file, at.block, &targets[at.target as usize]);
    }
}

/// Prefetches what a scan is likely to read behind the fronts of blocks that have the prefixes of their targets.
#[inline(always)]
pub(crate) fn prefetch_likely<F: Fingerprint>(
    tables: &[Table<F>],
    file: &[u8],
    located: &[Located],
    targets: &[Target<F>],
) {
    for at in located {
        tables[at.table as usize].prefetch_likely(file, at.block, &targets[at.target as usize]);
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
    #[inline(always)]
    fn table(&self, at: Located) -> &'a Table<F> {
        &self.tables[at.table as usize]
    }
}

impl<F: Fingerprint> Blocks<F> for LocatedBlocks<'_, F> {
    type Error = ReadError;

    #[inline(always)]
    fn list(&self) -> &[Located] {
        self.located
    }

    #[inline(always)]
    fn prefetch_fronts(&self, blocks: &[Located]) {
        prefetch_fronts(self.tables, self.file, blocks, self.targets);
    }

    #[inline(always)]
    fn checked_bytes(&self, at: Located) -> Result<&[u8], ReadError> {
        self.table(at).block(self.file, at.block as usize)
    }

    #[inline(always)]
    fn key(&self, at: Located) -> F {
        self.table(at).keys.in_file(self.file).get(at.block as usize)
    }

    #[inline(always)]
    fn bytes(&self, at: Located) -> &[u8] {
        self.table(at).bytes(self.file, at.block as usize)
    }

    #[inline(always)]
    fn target(&self, at: Located) -> &Target<F> {
        &self.targets[at.target as usize]
    }

    #[cold]
    fn damaged(&self, at: Located, error: BlockError) -> ReadError {
        self.table(at).damaged(at.block as usize, error)
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
    /// Calls `visit` with each entry of these blocks that its target meets: its block, its number in the block,
    /// and its value in the table's order of bits. Stops if `visit` breaks, and returns whether it did.
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
        // Rarely called: compiling the kernels once is worth more than saving a call.
        visit: &mut dyn FnMut(Located, usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        blocks_read::count(located.len());
        let blocks = LocatedBlocks { tables, file, located, targets };
        scan_blocks(&blocks, |at| &blocks.table(at).codec, &mut self.scratch, visit)
    }
}
