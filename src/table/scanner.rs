//! From located blocks to the entries that meet their targets.

use std::ops::ControlFlow;

use crate::codec::huffman::{Candidate, SCANNED_TOGETHER, scan_together};
use crate::codec::{Scratch, Target};
use crate::error::ReadError;
use crate::fingerprint::Fingerprint;
use crate::table::reader::Table;

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
const BLOCKS_TOGETHER: usize = 48;

/// A block to be looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The place of what is looked for among the targets.
    pub(crate) target: u32,
}

/// Looks into blocks, of any of a file's tables, using the same memory again and again.
#[derive(Debug)]
pub(crate) struct Scanner<F> {
    scratch: Scratch<F>,
    /// Segments that may hold something.
    chosen: Vec<(Located, Candidate<F>)>,
}

impl<F> Default for Scanner<F> {
    fn default() -> Self {
        Self { scratch: Scratch::default(), chosen: Vec::new() }
    }
}

impl<F: Fingerprint> Scanner<F> {
    /// Calls `visit` with each entry of these blocks that its target meets: where it was, its number
    /// in the block, and its value in the table's order of bits. Stops when told to, and tells so.
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
        let Self { scratch, chosen } = self;
        let prefetch = |blocks: &[Located]| {
            for at in blocks {
                tables[at.table as usize].prefetch(file, at.block);
            }
        };
        let mut batches = located.chunks(BLOCKS_TOGETHER).peekable();
        prefetch(batches.peek().copied().unwrap_or_default());
        while let Some(together) = batches.next() {
            prefetch(batches.peek().copied().unwrap_or_default());
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
                let outcome =
                    scan_together(work, &mut scratch.differences, &mut visit).map_err(|(place, error)| {
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
