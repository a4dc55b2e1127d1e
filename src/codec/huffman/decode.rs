//! Reading all of some blocks, in order, checking all that can be checked.

use crate::arch::{BYTES, Instructions, Kernel, LANES, prefetch_lines};
use crate::bits::{read, window};
use crate::codec::BlockError;
use crate::codec::huffman::codebook::{CodeReader, Codebook, DECODE_SLACK, decode_together};
use crate::codec::huffman::{Block, codes_at};
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

/// Returns the entry that first differs from `previous` at `h`, and ends with `suffix`.
#[inline(always)]
pub(crate) fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    // Clears the bits at and after h; h is below the width.
    (previous & !(F::ONES >> h)) | F::bit(h) | suffix
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
