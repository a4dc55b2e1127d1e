//! Reading as little of a block as a query needs.
//!
//! The entries of a block are walked in order. Once an entry is dead for the query, because its bits
//! up to position m already hold too many errors, every later entry with h > m shares those bits and
//! is dead too: it is passed over without a look at its suffix. The same holds for a whole segment,
//! whose entries all share what its first one shares with the next segment's, and for a whole block.

use std::ops::{ControlFlow, Range};

use crate::arch::LINE_BYTES;
use crate::codec::bits::read;
use crate::codec::huffman::CODE_BITS;
use crate::codec::huffman::block::{Block, Segment};
use crate::codec::huffman::codebook::Codebook;
use crate::codec::huffman::decode::{Codes, entry};
use crate::codec::{BlockError, Target};
use hamdex_fingerprint::Fingerprint;

/// A segment that may hold something alive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<F> {
    segment: Segment<F>,
    /// The number in the block of its first entry.
    before: usize,
    /// The bits that its entries share with each other and with the segment after it.
    shared: u32,
    /// Whether these have as many errors as the prefix may have.
    used_up: bool,
    /// Where the suffix of the entry nearest to the query would start if the entries were evenly spread,
    /// in bits.
    likely: usize,
}

impl<F: Fingerprint> Candidate<F> {
    /// Its codes, in the block of these bytes.
    #[inline]
    pub(crate) fn codes<'a>(&self, codebook: &'a Codebook, bytes: &'a [u8]) -> Codes<'a> {
        Codes { codebook, bytes, start: self.segment.start, count: self.segment.count - 1 }
    }

    /// Where its codes start, in bits.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.segment.start
    }

    /// Where the suffix of its first coded entry ends, in bits.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.segment.end
    }

    /// Its first entry.
    #[inline]
    pub(super) fn first(&self) -> F {
        self.segment.first
    }

    /// How many bits its entries share.
    #[inline]
    pub(super) fn shared(&self) -> u32 {
        self.shared
    }

    /// A value that begins as its entries have to, to be met: with the bits that they share, then as the
    /// query does. `None` where they may have further errors in the prefix.
    #[inline]
    pub(super) fn wanted(&self, target: &Target<F>) -> Option<F> {
        let shared = F::prefix_mask(self.shared);
        self.used_up.then(|| (self.segment.first & shared) | (target.query & !shared))
    }

    /// How many entries follow its first.
    #[inline]
    pub(crate) fn coded(&self) -> usize {
        self.segment.count - 1
    }

    /// What a scan will probably read, in bytes from the start of the block: codes, and a suffix; or all.
    #[inline(always)]
    pub(crate) fn reads(&self) -> [Range<usize>; 2] {
        let Segment { start, end, count, .. } = self.segment;
        if self.used_up {
            // Codes may take a bit more than one thinks, and entries are not quite evenly spread.
            let codes = start / 8..(start + count * (CODE_BITS + 1)) / 8;
            let likely = self.likely / 8;
            [codes, likely.saturating_sub(LINE_BYTES / 2)..likely + LINE_BYTES / 2]
        } else {
            [start / 8..end / 8, 0..0]
        }
    }
}

/// Calls `choose` with each segment of a block that may hold something alive. `last` is the block's
/// last entry. Reads nothing but the front of the block.
#[inline(always)]
pub(crate) fn candidates<F: Fingerprint>(
    block: &Block<'_, F>,
    last: F,
    target: &Target<F>,
    choose: &mut impl FnMut(Candidate<F>),
) -> Result<(), BlockError> {
    let segments = block.segments();
    let (least, greatest) = target.span(block.first_of(0), last);
    // All before the last one that starts at or below the least end below it.
    let below = (1..segments).map(|number| usize::from(block.first_of(number) <= least)).sum();
    for number in below..segments {
        let first = block.first_of(number);
        if first > greatest {
            break;
        }
        let next = if number + 1 < segments { block.first_of(number + 1) } else { last };
        let used_up = target.uses_up(first, next);
        if used_up || !target.rules_out(first, next) {
            let segment = block.segment(number)?;
            let suffixes = (segment.end - segment.start).saturating_sub(segment.count * CODE_BITS);
            let likely = segment.end - target.place_between(first, next, suffixes).min(suffixes);
            let before = block.first_entry_of(number);
            choose(Candidate { segment, before, shared: first.first_difference(next), used_up, likely });
        }
    }
    Ok(())
}

/// Calls `visit` with the number in the block and the value of each entry of a segment that is alive,
/// given the segment's h.
#[inline(always)]
pub(crate) fn scan<F: Fingerprint>(
    bytes: &[u8],
    candidate: &Candidate<F>,
    hs: &[u8],
    target: &Target<F>,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, BlockError> {
    let Candidate { segment, before, used_up, .. } = candidate;
    let mut value = segment.first;
    let mut dead_at = target.dead_at(value ^ target.query);
    if dead_at == F::BITS && visit(*before, value).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    // The suffixes of the entries before `at` take the bits from `end` to the segment's end.
    let (mut at, mut end) = (0, segment.end);
    while !(*used_up && target.is_passed_by(value, dead_at)) {
        let (dead, dead_bits) = skip_greater::<F>(&hs[at..], dead_at);
        at += dead;
        let Some(&h) = hs.get(at) else { break };
        let h = u32::from(h);
        let length = F::BITS - 1 - h;
        at += 1;
        let bits = dead_bits + length as usize;
        end = end.checked_sub(bits).filter(|&end| end >= segment.start).ok_or(BlockError::Length)?;
        value = entry(value, h, read(bytes, end, length));
        dead_at = target.dead_at(value ^ target.query);
        if dead_at == F::BITS && visit(before + at, value).is_break() {
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

/// How many of `hs` from the front on are greater than `limit`, and how many bits their suffixes
/// take. Eight at a time: h is below 128, so the top bit of each byte is free to catch a borrow.
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
