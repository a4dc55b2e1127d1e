//! Scanning many blocks.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel};
use crate::codec::blocks::{Blocks, Located, SCAN_BATCH};
use crate::codec::elias_fano::scan::Candidates;
use crate::codec::elias_fano::scratch::Scratch;
use hamdex_fingerprint::Fingerprint;

/// Finds in many blocks what is to be compared, then compares it: the first is done from the fronts of
/// the blocks, and decides what to prefetch.
pub(crate) struct ScanBlocks<'a, F, B, V> {
    pub(crate) blocks: &'a B,
    pub(crate) scratch: &'a mut Scratch,
    /// Called with the block, the number in the block, and the value.
    pub(crate) visit: V,
    pub(crate) width: PhantomData<F>,
}

impl<F, B, V> Kernel for ScanBlocks<'_, F, B, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    V: FnMut(Located, usize, F) -> ControlFlow<()>,
{
    type Output = Result<ControlFlow<()>, B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, scratch: Scratch { candidates: chosen, .. }, .. } = self;
        let mut batches = blocks.list().chunks(SCAN_BATCH).peekable();
        while let Some(together) = batches.next() {
            blocks.prefetch_fronts(batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for &at in together {
                let bytes = blocks.checked_bytes(at)?;
                let found = Candidates::find(instructions, bytes, || blocks.key(at), blocks.target(at));
                let (first, candidates) = found.map_err(|error| blocks.damaged(at, error))?;
                if first.is_some_and(|first| (self.visit)(at, 0, first).is_break()) {
                    return Ok(ControlFlow::Break(()));
                }
                if !candidates.are_none() {
                    candidates.prefetch(bytes);
                    chosen.push((at, candidates));
                }
            }
            for &(at, ref candidates) in &*chosen {
                let mut visit = |entry, value| (self.visit)(at, entry, value);
                let outcome = candidates.scan(instructions, blocks.bytes(at), blocks.target(at), &mut visit);
                if outcome.map_err(|error| blocks.damaged(at, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
