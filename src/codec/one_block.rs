//! A scan of a single block. Queries scan many at once: see `table::scanner`.

use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel};
use crate::codec::huffman::{HuffmanCodec, SCANNED_TOGETHER, Work, scan_together};
use crate::codec::{BlockError, Scratch, Target, elias_fano};
use hamdex_fingerprint::Fingerprint;

/// A scan of one block, Huffman-coded.
pub(super) struct HuffmanScan<'a, F, V> {
    pub(super) codec: &'a HuffmanCodec,
    pub(super) bytes: &'a [u8],
    pub(super) last: F,
    pub(super) target: &'a Target<F>,
    pub(super) scratch: &'a mut Scratch<F>,
    pub(super) visit: V,
}

impl<F: Fingerprint, V: FnMut(usize, F) -> ControlFlow<()>> Kernel for HuffmanScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, BlockError>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { codec, bytes, last, target, .. } = self;
        let Scratch { differences, candidates, .. } = self.scratch;
        candidates.clear();
        codec.candidates(bytes, last, target, &mut |candidate| candidates.push(candidate))?;
        let mut visit = |_, entry, value| (self.visit)(entry, value);
        for together in candidates.chunks(SCANNED_TOGETHER) {
            let work = together.iter().map(|candidate| Work { codec, bytes, candidate, target });
            let outcome = scan_together(instructions, work, differences, &mut visit);
            if outcome.map_err(|(_, error)| error)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A scan of one block, Elias–Fano coded.
pub(super) struct EliasFanoScan<'a, F, V> {
    pub(super) bytes: &'a [u8],
    pub(super) last: F,
    pub(super) target: &'a Target<F>,
    pub(super) visit: V,
}

impl<F: Fingerprint, V: FnMut(usize, F) -> ControlFlow<()>> Kernel for EliasFanoScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, BlockError>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { bytes, last, target, .. } = self;
        let (candidates, _) = elias_fano::Candidates::find(instructions, bytes, last, target)?;
        candidates.scan(instructions, bytes, target, &mut self.visit)
    }
}
