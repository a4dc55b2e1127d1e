//! Scanning many blocks.

use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel, LANES, prefetch, prefetch_lines};
use crate::codec::blocks::{Blocks, Located, SCAN_BATCH};
use crate::codec::error::BlockError;
use crate::codec::huffman::block::codes_at;
use crate::codec::huffman::candidate::Candidate;
use crate::codec::huffman::codec::HuffmanCodec;
use crate::codec::huffman::differences::{Codes, Differences};
use crate::codec::huffman::prefix_run::PrefixRun;
use crate::codec::huffman::scan;
use crate::codec::huffman::scratch::Scratch;
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// Judges many blocks by their fronts, then decodes several of those left at once.
pub(crate) struct ScanBlocks<'a, F, B, C, V> {
    pub(crate) blocks: &'a B,
    /// The codec of a block.
    pub(crate) codec: C,
    pub(crate) scratch: &'a mut Scratch<F>,
    /// Called with the block, the number in the block, and the value.
    pub(crate) visit: V,
}

impl<'c, F, B, C, V> Kernel for ScanBlocks<'_, F, B, C, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    C: Fn(Located) -> &'c HuffmanCodec,
    V: FnMut(Located, usize, F) -> ControlFlow<()>,
{
    type Output = Result<ControlFlow<()>, B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, ref codec, scratch: Scratch { differences, candidates: chosen }, .. } = self;
        let mut batches = blocks.list().chunks(SCAN_BATCH).peekable();
        while let Some(together) = batches.next() {
            blocks.prefetch_fronts(batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for &at in together {
                let bytes = blocks.checked_bytes(at)?;
                let found = Candidate::find(bytes, blocks.key(at), blocks.target(at));
                if let Some(candidate) = found.map_err(|error| blocks.damaged(at, error))? {
                    candidate.reads().into_iter().for_each(|reads| prefetch_lines(bytes, reads));
                    chosen.push((at, candidate));
                }
            }
            for scanned in chosen.chunks(LANES) {
                let mut work = [None; LANES];
                for (work, &(at, ref candidate)) in work.iter_mut().zip(scanned) {
                    let (bytes, target) = (blocks.bytes(at), blocks.target(at));
                    *work = Some(Work { codec: codec(at), bytes, candidate, target });
                }
                let visit = &mut self.visit;
                let mut visit = |place: usize, entry, value| visit(scanned[place].0, entry, value);
                let outcome = scan_together(instructions, &work, differences, &mut visit);
                if outcome.map_err(|(place, error)| blocks.damaged(scanned[place].0, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A block to be scanned for what a target meets.
#[derive(Clone, Copy)]
struct Work<'a, F> {
    /// The codec of its table.
    codec: &'a HuffmanCodec,
    bytes: &'a [u8],
    /// The facts of its front.
    candidate: &'a Candidate<F>,
    /// Its target.
    target: &'a Target<F>,
}

impl<'a, F: Fingerprint> Work<'a, F> {
    /// Returns the first `count` of its codes.
    #[inline(always)]
    fn codes(&self, count: usize) -> Codes<'a> {
        let Self { codec, bytes, .. } = self;
        Codes { codebook: &codec.codebook, bytes, start: codes_at::<F>() * 8, count }
    }

    /// Returns the run that can have the prefix, as far as the h in its lane show it.
    #[inline(always)]
    fn find_run(
        &self,
        instructions: impl Instructions,
        differences: &Differences,
        lane: usize,
    ) -> Option<PrefixRun> {
        let hs = differences.padded_lane(lane, self.candidate.coded);
        let run = PrefixRun::find(instructions, hs, self.candidate, self.target)?;
        prefetch(self.bytes, run.reads() / 8);
        Some(run)
    }
}

/// Calls `visit` with the place of the work, and with number in the block and value of each entry that
/// its target meets. The codes of several blocks, of as many tables, are decoded in lockstep: see
/// `codebook::decode_together`. Then all are searched for what can have the prefix, and only then the
/// first suffix is read, so that memory brings them all at once.
///
/// # Errors
/// When a block contradicts itself; with the place of the work.
#[inline(always)]
fn scan_together<'a, F: Fingerprint + 'a>(
    instructions: impl Instructions,
    work: &[Option<Work<'a, F>>; LANES],
    differences: &mut Differences,
    visit: &mut impl FnMut(usize, usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, (usize, BlockError)> {
    let lanes = || work.iter().map_while(Option::as_ref);
    differences.decode(lanes().map(|work| work.codes(work.candidate.first_codes())));

    let mut runs = [None; LANES];
    // All codes of the blocks whose first ones leave open where the run is.
    let mut rest = [None; LANES];
    for (lane, work) in lanes().enumerate().filter(|(_, work)| work.candidate.used_up) {
        runs[lane] = work.find_run(instructions, differences, lane);
        if runs[lane].is_none() {
            rest[lane] = Some(work.codes(work.candidate.coded));
        }
    }
    if rest.iter().any(Option::is_some) {
        differences.decode_more(rest);
        for (lane, work) in lanes().enumerate().filter(|&(lane, _)| rest[lane].is_some()) {
            runs[lane] = work.find_run(instructions, differences, lane);
        }
    }

    for (lane, &Work { bytes, candidate, target, .. }) in lanes().enumerate() {
        let damaged = |error| (lane, error);
        let mut hs = differences.lane(lane, candidate.coded);
        if let Some(run) = runs[lane] {
            // The codes after the run need not have been decoded.
            hs = &hs[..run.last()];
            if !run.may_match(bytes, candidate, hs, target).map_err(damaged)? {
                continue;
            }
        }
        let mut visit = |entry, value| visit(lane, entry, value);
        if scan::scan(bytes, candidate, hs, target, &mut visit).map_err(damaged)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
