//! Reading as little of a block as a query needs.
//!
//! The entries of a block are walked in order. Once an entry is dead for the query, because its bits
//! up to position m already hold too many errors, every later entry with h > m shares those bits and
//! is dead too: it is skipped without reading its suffix. The same holds for a whole block ([`Candidate`]).

use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel, LANES, prefetch, prefetch_lines};
use crate::bits::read;
use crate::codec::BlockError;
use crate::codec::huffman::candidate::{Candidate, PrefixRun};
use crate::codec::huffman::decode::{Codes, Differences, entry};
use crate::codec::huffman::{HuffmanCodec, Scratch, codes_at};
use crate::codec::target::{Blocks, Located, SCAN_BATCH, Target};
use hamdex_fingerprint::Fingerprint;

/// Calls `visit` with the number in the block and the value of each entry that is alive, given the h of the
/// later ones.
#[inline(always)]
pub(crate) fn scan<F: Fingerprint>(
    bytes: &[u8],
    candidate: &Candidate<F>,
    hs: &[u8],
    target: &Target<F>,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, BlockError> {
    let mut value = candidate.first;
    let mut dead_at = target.dead_at(value ^ target.query);
    if dead_at == F::BITS && visit(0, value).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    // The suffixes of the entries before `at` take the bits from `end` to the block's end.
    let (mut at, mut end) = (0, candidate.end);
    while !(candidate.used_up && target.is_passed_by(value, dead_at)) {
        let (dead, dead_bits) = skip_greater::<F>(&hs[at..], dead_at);
        at += dead;
        let Some(&h) = hs.get(at) else { break };
        let h = u32::from(h);
        let length = F::BITS - 1 - h;
        at += 1;
        end = candidate.suffix(end, dead_bits + length as usize)?;
        value = entry(value, h, read(bytes, end, length));
        dead_at = target.dead_at(value ^ target.query);
        if dead_at == F::BITS && visit(at, value).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A one in every byte of a word, and the top bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// The low byte of every pair of bytes.
const LOWS: u64 = 0x00ff_00ff_00ff_00ff;

/// Returns the number of leading `hs` that are greater than `limit`, and the bits of their suffixes. Eight at a
/// time: h is below 128, so the top bit of each byte is free to catch a borrow.
#[inline]
fn skip_greater<F: Fingerprint>(hs: &[u8], limit: u32) -> (usize, usize) {
    let (mut count, mut sum) = (0, 0);
    if limit < F::BITS - 1 {
        for word in hs.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("8 bytes"));
            let greater = ((word | TOPS) - ONES * u64::from(limit + 1)) & TOPS;
            let kept_bytes = (greater ^ TOPS).trailing_zeros() / 8;
            let kept = word & 1u64.unbounded_shl(kept_bytes * 8).wrapping_sub(1);
            // The sum of eight bytes below 128, in pairs that cannot overflow.
            let pairs = (kept & LOWS) + (kept >> 8 & LOWS);
            sum += (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize;
            count += kept_bytes as usize;
            if kept_bytes < 8 {
                return (count, count * (F::BITS - 1) as usize - sum);
            }
        }
    }
    for &h in &hs[count..] {
        if u32::from(h) <= limit {
            break;
        }
        count += 1;
        sum += usize::from(h);
    }
    (count, count * (F::BITS - 1) as usize - sum)
}

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
        if scan(bytes, candidate, hs, target, &mut visit).map_err(damaged)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn skipping_is_what_it_says(hs in prop::collection::vec(0u8..128, 0..40), limit in 0u32..=128) {
            let expected = hs.iter().position(|&h| u32::from(h) <= limit).unwrap_or(hs.len());
            let bits: usize = hs[..expected].iter().map(|&h| 127 - usize::from(h)).sum();
            prop_assert_eq!(skip_greater::<u128>(&hs, limit), (expected, bits));
        }
    }
}
