//! Reading all of a block, in order, checking all that can be checked.

use crate::arch::{self, Instructions, Kernel, prefetch_lines};
use crate::bits::read;
use crate::codec::error::BlockError;
use crate::codec::huffman::block::{Block, Segment};
use crate::codec::huffman::codebook::Codebook;
use crate::codec::huffman::differences::{Codes, Differences, LANES, entry};
use hamdex_fingerprint::Fingerprint;

/// Appends all entries of a block to `values`.
pub(crate) fn decode<F: Fingerprint>(
    block: &Block<'_, F>,
    codebook: &Codebook,
    differences: &mut Differences,
    values: &mut Vec<F>,
) -> Result<(), BlockError> {
    arch::run(Decode { block, codebook, differences, values })
}

struct Decode<'a, F> {
    block: &'a Block<'a, F>,
    codebook: &'a Codebook,
    differences: &'a mut Differences,
    values: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Decode<'_, F> {
    type Output = Result<(), BlockError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let Self { block, codebook, differences, values } = self;
        // Read from many places at once, and backwards: no processor guesses that.
        prefetch_lines(block.bytes(), 0..block.end() / 8);
        let start = values.len();
        values.resize(start + block.count(), F::ZERO);
        let mut rest = &mut values[start..];
        let mut last = None;
        for number in (0..block.segments()).step_by(LANES) {
            let count = LANES.min(block.segments() - number);
            let mut segments = [block.segment(number)?; LANES];
            for (lane, segment) in segments.iter_mut().enumerate().take(count).skip(1) {
                *segment = block.segment(number + lane)?;
            }
            let segments = &segments[..count];
            let codes = |segment: &Segment<F>| Codes {
                codebook,
                bytes: block.bytes(),
                start: segment.start,
                count: segment.count - 1,
            };
            let ends = differences.decode_to_ends(codes(&segments[0]), segments[1..].iter().map(codes));
            for (lane, segment) in segments.iter().enumerate() {
                let hs = differences.lane(lane, segment.count - 1);
                let (values, after) = rest.split_at_mut(segment.count);
                decode_suffixes(instructions, block.bytes(), segment, hs, ends[lane], values)?;
                if last >= Some(segment.first) {
                    return Err(BlockError::Order);
                }
                last = values.last().copied();
                rest = after;
            }
        }
        Ok(())
    }
}

/// Writes the entries of a segment to `values`, given their h and where the codes end.
#[inline(always)]
fn decode_suffixes<F: Fingerprint>(
    instructions: impl Instructions,
    bytes: &[u8],
    segment: &Segment<F>,
    hs: &[u8],
    codes_end: usize,
    values: &mut [F],
) -> Result<(), BlockError> {
    if codes_end + suffix_bits::<F>(hs) != segment.end {
        return Err(BlockError::Length);
    }
    values[0] = segment.first;
    // The bit that an entry has set first, its predecessor must have clear.
    let mut is_ascending = true;
    if let Some(words) = F::as_words(values).filter(|_| hs.len() >= LANES) {
        let mut end = segment.end;
        let groups = hs.len().div_ceil(LANES);
        for number in 0..groups {
            // The last group has as many of those before it as make it whole.
            let start = (number * LANES).min(hs.len() - LANES);
            let group = hs[start..].first_chunk().expect("a whole group");
            let bits = suffix_bits::<F>(group);
            if number + 1 == groups {
                end = codes_end + bits;
            }
            let (before, after) = words.split_at_mut(start + 1);
            let values = after.first_chunk_mut().expect("as many values as h");
            is_ascending &= instructions.follow(bytes, end, group, before[start], values);
            end -= bits;
        }
    } else {
        let (mut value, mut end) = (segment.first, segment.end);
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

/// The bits of the suffixes of entries with these h.
#[inline(always)]
fn suffix_bits<F: Fingerprint>(hs: &[u8]) -> usize {
    let sum: usize = hs.iter().map(|&h| usize::from(h)).sum();
    hs.len() * (F::BITS as usize - 1) - sum
}

/// Whether all bits after the last entry are zero.
pub(crate) fn padding_is_zero<F: Fingerprint>(block: &Block<'_, F>) -> bool {
    let (byte, bit) = (block.end() / 8, block.end() % 8);
    let Some((first, rest)) = block.bytes()[byte..].split_first() else { return true };
    *first & (0xff >> bit) == 0 && rest.iter().all(|&b| b == 0)
}
