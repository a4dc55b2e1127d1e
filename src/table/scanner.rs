//! From located blocks to the entries that meet their targets.

use std::ops::ControlFlow;

use crate::arch::{self, Instructions, Kernel, LINE_BYTES, prefetch};
use crate::codec::huffman::{Candidate, SCANNED_TOGETHER, scan_together};
use crate::codec::{BlockCodec, Scratch, Target, elias_fano};
use crate::error::ReadError;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
pub(crate) const BLOCKS_TOGETHER: usize = 48;

/// A block to be looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The place of what is looked for among the targets.
    pub(crate) target: u32,
}

/// Asks the processor for the fronts of blocks, and for what tells that they have been checked.
#[inline(always)]
pub(crate) fn prefetch_fronts<F: Fingerprint>(tables: &[Table<F>], file: &[u8], located: &[Located]) {
    for at in located {
        tables[at.table as usize].prefetch_front(file, at.block);
    }
}

impl Located {
    /// Asks the processor for what a scan is likely to read behind the front of the block.
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

/// Looks into blocks, of any of a file's tables, using the same memory again and again.
#[derive(Debug)]
pub(crate) struct Scanner<F> {
    scratch: Scratch<F>,
    /// Segments that may hold something.
    chosen: Vec<(Located, Candidate<F>)>,
    /// Runs of entries that may.
    runs: Vec<elias_fano::Candidates>,
}

impl<F> Default for Scanner<F> {
    fn default() -> Self {
        Self { scratch: Scratch::default(), chosen: Vec::new(), runs: Vec::new() }
    }
}

impl<F: Fingerprint> Scanner<F> {
    /// Calls `visit` with each entry of these blocks that its target meets: where it was, its number
    /// in the block, and its value in the table's order of bits. Stops when told to, and tells so.
    ///
    /// The first [`BLOCKS_TOGETHER`] blocks are best prefetched as soon as they are located.
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
        let Self { scratch, chosen, runs } = self;
        let visit = &mut visit;
        // All tables of a file have one codec.
        match tables.first().map(|table| &table.codec) {
            Some(BlockCodec::Huffman(_)) => {
                arch::run(HuffmanScan { tables, file, located, targets, scratch, chosen, visit })
            }
            Some(BlockCodec::EliasFano(_)) => {
                arch::run(EliasFanoScan { tables, file, located, targets, chosen: runs, visit })
            }
            None => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Chooses segments from the fronts of many blocks, then decodes several of them at once.
struct HuffmanScan<'a, F, V> {
    tables: &'a [Table<F>],
    file: &'a [u8],
    located: &'a [Located],
    targets: &'a [Target<F>],
    scratch: &'a mut Scratch<F>,
    chosen: &'a mut Vec<(Located, Candidate<F>)>,
    visit: &'a mut V,
}

impl<F: Fingerprint, V: FnMut(Located, usize, F) -> ControlFlow<()>> Kernel for HuffmanScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, ReadError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let Self { tables, file, located, targets, scratch, chosen, visit } = self;
        let mut batches = located.chunks(BLOCKS_TOGETHER).peekable();
        while let Some(together) = batches.next() {
            prefetch_fronts(tables, file, batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for &at in together {
                let target = &targets[at.target as usize];
                tables[at.table as usize]
                    .candidates(file, at.block, target, &mut |found| chosen.push((at, found)))?;
            }
            for scanned in chosen.chunks(SCANNED_TOGETHER) {
                let work = scanned.iter().map(|(at, candidate)| {
                    tables[at.table as usize].work(file, at.block, candidate, &targets[at.target as usize])
                });
                let mut visit = |place: usize, entry, value| visit(scanned[place].0, entry, value);
                let outcome = scan_together(instructions, work, &mut scratch.differences, &mut visit);
                let outcome = outcome.map_err(|(place, error)| {
                    let at = scanned[place].0;
                    tables[at.table as usize].damaged(at.block as usize, error)
                });
                if outcome?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Finds in many blocks what is to be compared, then compares it: the first is done from the fronts of
/// the blocks, and tells what to ask the processor for.
struct EliasFanoScan<'a, F, V> {
    tables: &'a [Table<F>],
    file: &'a [u8],
    located: &'a [Located],
    targets: &'a [Target<F>],
    chosen: &'a mut Vec<elias_fano::Candidates>,
    visit: &'a mut V,
}

impl<F: Fingerprint, V: FnMut(Located, usize, F) -> ControlFlow<()>> Kernel for EliasFanoScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, ReadError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let Self { tables, file, located, targets, chosen, visit } = self;
        let mut batches = located.chunks(BLOCKS_TOGETHER).peekable();
        while let Some(together) = batches.next() {
            prefetch_fronts(tables, file, batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for at in together {
                let (table, block) = (&tables[at.table as usize], at.block as usize);
                let bytes = table.block(file, block)?;
                let (last, target) = (table.keys.get(block), &targets[at.target as usize]);
                let (candidates, reads) = elias_fano::Candidates::find(instructions, bytes, last, target)
                    .map_err(|error| table.damaged(block, error))?;
                // Eight fields are loaded at once, wherever the run ends.
                let end = reads.end.max(reads.start + LINE_BYTES);
                for at in (reads.start..end + LINE_BYTES).step_by(LINE_BYTES) {
                    prefetch(bytes, at);
                }
                chosen.push(candidates);
            }
            for (&at, candidates) in together.iter().zip(&*chosen) {
                let (table, block) = (&tables[at.table as usize], at.block as usize);
                let bytes = table.bytes(file, block);
                let mut visit = |entry, value| visit(at, entry, value);
                let outcome = candidates.scan(instructions, bytes, &targets[at.target as usize], &mut visit);
                if outcome.map_err(|error| table.damaged(block, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
