//! Scanning many blocks.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel, LINE_BYTES, prefetch};
use crate::codec::blocks::{Blocks, SCAN_BATCH};
use crate::codec::elias_fano::scan::Candidates;
use crate::codec::elias_fano::scratch::Scratch;
use hamdex_fingerprint::Fingerprint;

/// Finds in many blocks what is to be compared, then compares it: the first is done from the fronts of
/// the blocks, and decides what to prefetch.
pub(crate) struct ScanBlocks<'a, F, B, V> {
    pub(crate) blocks: &'a B,
    pub(crate) scratch: &'a mut Scratch,
    /// Called with the number of the block in the list, the number in the block, and the value.
    pub(crate) visit: V,
    pub(crate) width: PhantomData<F>,
}

impl<F, B, V> Kernel for ScanBlocks<'_, F, B, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    V: FnMut(usize, usize, F) -> ControlFlow<()>,
{
    type Output = Result<ControlFlow<()>, B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, scratch: Scratch { candidates: chosen, .. }, .. } = self;
        let count = blocks.len();
        for start in (0..count).step_by(SCAN_BATCH) {
            let end = count.min(start + SCAN_BATCH);
            blocks.prefetch_fronts(end..count.min(end + SCAN_BATCH));
            chosen.clear();
            for number in start..end {
                let bytes = blocks.checked_bytes(number)?;
                let (last, target) = (blocks.last(number), blocks.target(number));
                let (candidates, reads) = Candidates::find(instructions, bytes, last, target)
                    .map_err(|error| blocks.damaged(number, error))?;
                // Eight fields are loaded at once, wherever the run ends.
                let end = reads.end.max(reads.start + LINE_BYTES);
                for at in (reads.start..end + LINE_BYTES).step_by(LINE_BYTES) {
                    prefetch(bytes, at);
                }
                chosen.push(candidates);
            }
            for (number, candidates) in (start..end).zip(&*chosen) {
                let mut visit = |entry, value| (self.visit)(number, entry, value);
                let outcome =
                    candidates.scan(instructions, blocks.bytes(number), blocks.target(number), &mut visit);
                if outcome.map_err(|error| blocks.damaged(number, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
