//! Reading blocks: all of some, in order, checking all that can be checked; or as little as a query needs.
//!
//! For a query, the entries of a block are walked in order. Once an entry is dead for the query, because its bits
//! up to position m already hold too many errors, every later entry with h > m shares those bits and
//! is dead too: it is skipped without reading its suffix. The same holds for a whole block ([`Candidate`]).

use std::ops::ControlFlow;

use crate::arch::{BYTES, Instructions, Kernel, LANES, prefetch, prefetch_lines};
use crate::bits::{read, window};
use crate::codec::huffman::candidate::{Candidate, PrefixRun};
use crate::codec::huffman::codebook::{CodeReader, Codebook, DECODE_SLACK, decode_together};
use crate::codec::huffman::{Block, HuffmanCodec, Scratch, codes_at, entry};
use crate::codec::{BlockError, Blocks, Located, SCAN_BATCH, Target};
use hamdex_fingerprint::Fingerprint;

/// The h of a few blocks, each in a lane of its own; the memory is kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    lanes: [Vec<u8>; LANES],
    /// For each lane the start of its next code, in bits, and its number of h.
    states: [(usize, usize); LANES],
}

/// The codes of a block: their codebook and position.
#[derive(Clone, Copy)]
pub(crate) struct Codes<'a> {
    pub(crate) codebook: &'a Codebook,
    pub(crate) bytes: &'a [u8],
    pub(crate) start: usize,
    pub(crate) count: usize,
}

impl Differences {
    /// Decodes h of up to [`LANES`] blocks from the first one on.
    #[inline(always)]
    pub(crate) fn decode<'a>(&mut self, codes: impl Iterator<Item = Codes<'a>> + Clone) {
        for (state, codes) in self.states.iter_mut().zip(codes.clone()) {
            *state = (codes.start, 0);
        }
        let mut all = [None; LANES];
        all.iter_mut().zip(codes).for_each(|(lane, codes)| *lane = Some(codes));
        self.decode_more(all);
    }

    /// Decodes the number of h that each of the codes has; nothing in lanes of `None`.
    #[inline(always)]
    pub(crate) fn decode_more(&mut self, codes: [Option<Codes<'_>>; LANES]) {
        let Self { lanes, states } = self;
        let mut readers = [const { None }; LANES];
        for (((reader, room), &state), codes) in readers.iter_mut().zip(lanes).zip(&*states).zip(codes) {
            let Some(Codes { codebook, bytes, count, .. }) = codes else { continue };
            // More may be decoded than wanted, and a search may read the codes after them.
            let needed = count + DECODE_SLACK + BYTES;
            if room.len() < needed {
                room.resize(needed, 0);
            }
            *reader = Some(CodeReader::new(codebook, bytes, state, room, count));
        }
        decode_together(&mut readers);
        for (state, reader) in states.iter_mut().zip(&readers) {
            *state = reader.as_ref().map_or(*state, CodeReader::state);
        }
    }

    /// Returns the end of the first `count` codes of a lane, in bits: more may have been decoded, since a
    /// look-up yields several.
    pub(super) fn end(&self, lane: usize, codebook: &Codebook, count: usize) -> usize {
        let (position, done) = self.states[lane];
        let excess = self.lanes[lane][count..done].iter();
        position - excess.map(|&h| usize::from(codebook.lengths()[usize::from(h)])).sum::<usize>()
    }

    /// Returns the first h of a lane: the decoded ones, followed by meaningless ones.
    #[inline]
    pub(crate) fn lane(&self, lane: usize, count: usize) -> &[u8] {
        let lane = &self.lanes[lane];
        &lane[..count.min(lane.len())]
    }

    /// Returns the number of h of a lane, at most `count`, and these with [`BYTES`] meaningless ones after
    /// them.
    #[inline]
    pub(super) fn padded_lane(&self, lane: usize, count: usize) -> (usize, &[u8]) {
        let known = self.states[lane].1.min(count);
        (known, &self.lanes[lane][..known + BYTES])
    }
}

/// Appends the entries of some blocks, at most [`LANES`] of them, to `values`, and calls `each` after each block. A
/// code waits for the one before it; codes of other blocks need not wait with it.
pub(super) struct Decode<'a, F, E> {
    pub(super) blocks: &'a [&'a [u8]],
    pub(super) codebook: &'a Codebook,
    pub(super) differences: &'a mut Differences,
    pub(super) values: &'a mut Vec<F>,
    pub(super) each: &'a mut E,
}

impl<F, E> Kernel for Decode<'_, F, E>
where
    F: Fingerprint,
    E: FnMut(&mut Vec<F>) -> Result<(), BlockError>,
{
    type Output = Result<(), BlockError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, codebook, differences, values, each } = self;
        let start = codes_at::<F>() * 8;
        differences.decode(blocks.iter().map(|bytes| {
            // Read from many places at once, and backwards: no processor guesses that.
            prefetch_lines(bytes, 0..bytes.len());
            // A block whose header is wrong has no codes to be decoded.
            let count = Block::<F>::new(bytes).map_or(0, |block| block.coded);
            Codes { codebook, bytes, start, count }
        }));
        for (lane, bytes) in blocks.iter().enumerate() {
            let block = Block::new(bytes)?;
            let before = values.len();
            values.resize(before + block.coded + 1, F::ZERO);
            let hs = differences.lane(lane, block.coded);
            let codes_end = differences.end(lane, codebook, block.coded);
            decode_suffixes(instructions, &block, hs, codes_end, &mut values[before..])?;
            each(values)?;
        }
        Ok(())
    }
}

/// Writes the entries of a block to `values`, given their h and where the codes end.
#[inline(always)]
fn decode_suffixes<F: Fingerprint>(
    instructions: impl Instructions,
    block: &Block<'_, F>,
    hs: &[u8],
    codes_end: usize,
    values: &mut [F],
) -> Result<(), BlockError> {
    let bytes = block.bytes;
    let suffixes = block.end().checked_sub(suffix_bits::<F>(hs)).ok_or(BlockError::Length)?;
    if codes_end > suffixes {
        return Err(BlockError::Length);
    }
    if !are_zero(bytes, codes_end, suffixes) {
        return Err(BlockError::Padding);
    }
    values[0] = block.first;
    // The bit that an entry has set first, its predecessor must have clear.
    let mut is_ascending = true;
    if let Some(words) = F::as_words(values).filter(|_| hs.len() >= LANES) {
        let mut end = block.end();
        let groups = hs.len().div_ceil(LANES);
        for number in 0..groups {
            // The last group is filled up with entries before it.
            let start = (number * LANES).min(hs.len() - LANES);
            let group = hs[start..].first_chunk().expect("a whole group");
            let bits = suffix_bits::<F>(group);
            if number + 1 == groups {
                end = suffixes + bits;
            }
            let (before, after) = words.split_at_mut(start + 1);
            let values = after.first_chunk_mut().expect("as many values as h");
            is_ascending &= instructions.follow(bytes, end, group, before[start], values);
            end -= bits;
        }
    } else {
        let (mut value, mut end) = (block.first, block.end());
        for (&h, next) in hs.iter().zip(&mut values[1..]) {
            let h = u32::from(h);
            let length = F::BITS - 1 - h;
            end -= length as usize;
            is_ascending &= value & F::bit(h) == F::ZERO;
            value = entry(value, h, read(bytes, end, length));
            *next = value;
        }
    }
    if is_ascending { Ok(()) } else { Err(BlockError::Order) }
}

/// Returns the bits of the suffixes of entries with these h.
#[inline(always)]
fn suffix_bits<F: Fingerprint>(hs: &[u8]) -> usize {
    let sum: usize = hs.iter().map(|&h| usize::from(h)).sum();
    hs.len() * (F::BITS as usize - 1) - sum
}

/// Returns whether the bits from `start` to `end` are zero.
#[inline(always)]
fn are_zero(bytes: &[u8], start: usize, end: usize) -> bool {
    const STEP: usize = 32;
    (start..end).step_by(STEP).all(|at| {
        let bits = (end - at).min(STEP) as u32;
        window(bytes, at) >> (u64::BITS - bits) == 0
    })
}

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
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn skipping_is_what_it_says(hs in prop::collection::vec(0u8..128, 0..40), limit in 0u32..=128) {
            let expected = hs.iter().position(|&h| u32::from(h) <= limit).unwrap_or(hs.len());
            let bits: usize = hs[..expected].iter().map(|&h| 127 - usize::from(h)).sum();
            prop_assert_eq!(skip_greater::<u128>(&hs, limit), (expected, bits));
        }
    }
}
