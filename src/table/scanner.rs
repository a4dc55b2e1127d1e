//! From located blocks to the entries that meet their targets: blocks are prefetched into the processor's caches, then
//! scanned.

use std::ops::{ControlFlow, Range};

use crate::arch::{LINE_BYTES, prefetch};
use crate::codec::{BlockError, Blocks, Located, Scratch, Target, find_runs, scan_blocks};
use crate::error::ReadError;
use crate::progress::Stopped;
use crate::table::{self, Table};
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> Table<F> {
    /// Prefetches the data that locating the blocks of this target reads first: the directory's units of its
    /// prefix, and of those with one error.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, target: &Target<F>) {
        self.keys.directory.prefetch(target.query);
        if target.prefix_errors() == 1 {
            for position in 0..target.prefix_bits.min(self.keys.directory.bits()) {
                self.keys.directory.prefetch(target.query ^ F::bit(position));
            }
        }
    }

    /// Prefetches what [`Self::locate`] reads next for this target.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, file: &[u8], target: &Target<F>) {
        self.keys.in_file(file).prefetch_keys(target.query);
    }

    /// Prefetches the front of a block, its bit among the checked ones, and its key, if a scan for the target
    /// reads that.
    #[inline(always)]
    fn prefetch_front(&self, file: &[u8], block: u32, target: &Target<F>) {
        let start = self.offset + block as usize * self.block_bytes();
        prefetch(file, start);
        prefetch(file, start + LINE_BYTES);
        self.checked.prefetch(block as usize);
        if self.codec.needs_key(target) {
            self.keys.in_file(file).prefetch_key(block as usize);
        }
    }

    /// Prefetches the bytes after the front of its block that a scan for the target would read if the entries
    /// of the table were evenly spread. Unknown if the prefix may have errors.
    #[inline(always)]
    pub(crate) fn prefetch_likely(&self, file: &[u8], block: u32, target: &Target<F>) {
        let entries = (self.keys.len() * self.entries_per_block) as u64;
        let entries_per_prefix = entries.checked_shr(target.prefix_bits).unwrap_or(0);
        if target.prefix_errors() > 0 || !self.codec.reads_behind_front(entries_per_prefix) {
            return;
        }
        let start = self.offset + block as usize * self.block_bytes();
        self.codec.prefetch_likely::<F>(
            file,
            start,
            self.keys.directory.fraction(target.query),
            self.entries_per_block,
        );
    }
}

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

/// Prefetches what a scan is likely to read after the fronts of blocks that have the prefixes of their targets.
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
#[derive(Debug, Default)]
pub(crate) struct Scanner<F> {
    scratch: Scratch<F>,
}

impl<F: Fingerprint> Scanner<F> {
    /// Calls `visit` with each entry of these blocks that its target meets: its block, its number in the block,
    /// and its value in the table's order of bits.
    ///
    /// The first [`SCAN_BATCH`](crate::codec::SCAN_BATCH) blocks are best prefetched as soon as they are
    /// located.
    ///
    /// # Errors
    /// When a block is damaged, or `visit` stops it.
    pub(crate) fn scan(
        &mut self,
        tables: &[Table<F>],
        file: &[u8],
        located: &[Located],
        targets: &[Target<F>],
        // Rarely called: compiling the kernels once is worth more than saving a call.
        visit: &mut dyn FnMut(Located, usize, F) -> Result<(), Stopped>,
    ) -> Result<(), ReadError> {
        table::count(located.len());
        let blocks = LocatedBlocks { tables, file, located, targets };
        let visit = |at, entry, value| match visit(at, entry, value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(Stopped) => ControlFlow::Break(()),
        };
        match scan_blocks(&blocks, |at| &blocks.table(at).codec, &mut self.scratch, visit)? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped.into()),
        }
    }

    /// Calls `visit` with each of these blocks that has entries with the prefix of its target, in their order, and with
    /// their numbers in the block. The targets admit no errors in their prefixes, the blocks are Elias–Fano ones. The
    /// caller counts the blocks read.
    ///
    /// The first [`SCAN_BATCH`](crate::codec::SCAN_BATCH) blocks are best prefetched as soon as they are
    /// located.
    ///
    /// # Errors
    /// When a block is damaged.
    pub(crate) fn find_runs(
        &mut self,
        tables: &[Table<F>],
        file: &[u8],
        located: &[Located],
        targets: &[Target<F>],
        visit: impl FnMut(Located, Range<usize>),
    ) -> Result<(), ReadError> {
        find_runs(&LocatedBlocks { tables, file, located, targets }, &mut self.scratch, visit)
    }
}
