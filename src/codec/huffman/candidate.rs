//! A candidate block of a query, judged by its front and its key; and the entries of it that may have a prefix, found
//! without reading any suffix.
//!
//! The h of a block tell the bits that its entries share with their neighbours: they are a trie over the
//! entries (a blind, or Patricia, trie: Morrison, J. ACM 1968). So the query's bits alone lead down to the run
//! of entries that have its prefix, if any have; one suffix then shows whether they do, as far as that goes.
//! Hardly any entry remains to be decoded in full.
//!
//! Not all h need be known. A difference at a position where the query has a zero is an upper bound of the run: all
//! entries from there on lie after it. The bound is final once the lower bounds before it are decoded: the positions
//! where the query has a one.

use std::ops::Range;

use crate::arch::{BYTES, Instructions, LINE_BYTES};
use crate::bits::read;
use crate::codec::huffman::{Block, TYPICAL_CODE_BITS, codes_at, entry};
use crate::codec::{BlockError, Target};
use hamdex_fingerprint::Fingerprint;

/// Number of entries decoded past the interpolated position: this many, and a share of the block's entries.
const MARGIN: usize = 8;
const MARGIN_SHARE: usize = 32;

/// A block that may contain a match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<F> {
    /// Its first entry.
    pub(super) first: F,
    /// Number of entries after the first.
    pub(super) coded: usize,
    /// The bits that all of its entries share.
    shared: u32,
    /// Whether these have as many errors as the prefix may have.
    pub(super) used_up: bool,
    /// End of the suffix of its first coded entry, in bits.
    pub(super) end: usize,
    /// The number of the entry nearest to the query if the entries were evenly spread.
    likely: usize,
}

impl<F: Fingerprint> Candidate<F> {
    /// Returns the block of these bytes, if it may hold something alive; `last` is its last entry. Reads nothing but
    /// the front of the block.
    #[inline(always)]
    pub(super) fn find(bytes: &[u8], last: F, target: &Target<F>) -> Result<Option<Self>, BlockError> {
        let block = Block::new(bytes)?;
        let Block { first, coded, .. } = block;
        let used_up = target.uses_up(first, last);
        if !used_up && target.rules_out(first, last) {
            return Ok(None);
        }
        let likely = target.place_between(first, last, coded);
        Ok(Some(Self {
            first,
            coded,
            shared: first.first_difference(last),
            used_up,
            end: block.end(),
            likely,
        }))
    }

    /// Returns the number of codes that a search should decode first: up to the probable position of the query,
    /// and enough to show that it is not further on. All, if the search needs all entries.
    #[inline(always)]
    pub(super) fn first_codes(&self) -> usize {
        if self.used_up {
            self.coded.min(self.likely + MARGIN + self.coded / MARGIN_SHARE)
        } else {
            self.coded
        }
    }

    /// Returns, if the errors of the prefix are used up, a value that begins as a match must: with the bits
    /// that the entries share, then as the query.
    #[inline(always)]
    pub(super) fn wanted(&self, target: &Target<F>) -> F {
        let shared = F::prefix_mask(self.shared);
        (self.first & shared) | (target.query & !shared)
    }

    /// Returns the start of suffixes of that many bits that end at bit `end`; an error if they would reach back
    /// into the codes' first bit.
    #[inline(always)]
    pub(super) fn suffix(&self, end: usize, bits: usize) -> Result<usize, BlockError> {
        end.checked_sub(bits).filter(|&start| start >= codes_at::<F>() * 8).ok_or(BlockError::Length)
    }

    /// Returns the ranges that a scan will probably read, in bytes from the start of the block: codes, and a
    /// suffix; or all.
    #[inline(always)]
    pub(super) fn reads(&self) -> [Range<usize>; 2] {
        let start = codes_at::<F>();
        if self.used_up {
            // Codes may take a bit more than one thinks, and entries are not quite evenly spread.
            let codes = start..start + self.first_codes() * (TYPICAL_CODE_BITS + 1) / 8;
            let suffixes = (self.end / 8).saturating_sub(codes.start + self.coded * TYPICAL_CODE_BITS / 8);
            let likely = self.end / 8 - suffixes * self.likely / self.coded.max(1);
            [codes, likely.saturating_sub(LINE_BYTES)..likely + LINE_BYTES / 2]
        } else {
            [start..self.end / 8, 0..0]
        }
    }
}

/// A run of entries: the only ones of a block that can have a prefix.
#[derive(Clone, Copy)]
pub(super) struct PrefixRun {
    /// The first and the last; 0 is the block's own first entry.
    first: usize,
    last: usize,
    /// Start of the suffix of the first one, in bits; 0 on damaged bytes.
    suffix: usize,
}

impl PrefixRun {
    /// Finds the run for the rest of the prefix, if all of a block's entries share the maximum of errors. `hs`
    /// are the first `known` of the block, and [`BYTES`] more; `None` if these leave open whether the run lies
    /// behind them.
    #[inline(always)]
    pub(super) fn find<F: Fingerprint>(
        instructions: impl Instructions,
        (known, hs): (usize, &[u8]),
        candidate: &Candidate<F>,
        target: &Target<F>,
    ) -> Option<Self> {
        let wanted = candidate.wanted(target);
        // Between the first and the last entry of the run so far, all have the same bits before `position`.
        let (mut first, mut last) = (0, known);
        // Whether the end is known: entries after the known ones may have the same bits.
        let mut is_bounded = known == candidate.coded;
        let mut position = candidate.shared;
        while last - first > BYTES && position < target.prefix_bits {
            // The first entry that differs here, if any: entries before it have a zero, entries from it on a
            // one.
            let is_one = wanted & F::bit(position) != F::ZERO;
            match find_byte(instructions, hs, first..last, position as u8) {
                Some(before) if is_one => first = before + 1,
                Some(before) => (last, is_bounded) = (before, true),
                None if is_one && !is_bounded && !is_one_of_first(candidate, first, position) => return None,
                None => {}
            }
            position += 1;
        }
        // The rest of the way, bit i stands for the difference between entries `first + i` and the one after it.
        if last - first <= BYTES {
            let near = hs[first..].first_chunk().expect("there are so many more");
            let mut from_first = u64::MAX;
            let mut before_last = !u64::MAX.unbounded_shl((last - first) as u32);
            while position < target.prefix_bits && from_first & before_last != 0 {
                let here = instructions.equal_bytes(near, position as u8) & from_first & before_last;
                let up_to_here = if here == 0 { 0 } else { here ^ here.wrapping_sub(1) };
                let is_one = wanted & F::bit(position) != F::ZERO;
                if !is_bounded {
                    let begins = first + from_first.trailing_zeros() as usize;
                    if is_one && here == 0 && !is_one_of_first(candidate, begins, position) {
                        return None;
                    }
                    is_bounded = !is_one && here != 0;
                }
                from_first &= if is_one { !up_to_here } else { u64::MAX };
                before_last &= if is_one { u64::MAX } else { here.wrapping_sub(1) };
                position += 1;
            }
            last = first + before_last.trailing_ones() as usize;
            first += from_first.trailing_zeros() as usize;
        }
        if !is_bounded {
            return None;
        }
        let bits = first * (F::BITS - 1) as usize - instructions.sum_of_bytes(&hs[..first]);
        Some(Self { first, last, suffix: candidate.end.saturating_sub(bits) })
    }

    /// Returns the number of its last entry.
    #[inline(always)]
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Returns the first bit that a check of the run reads.
    #[inline(always)]
    pub(super) fn reads(&self) -> usize {
        self.suffix
    }

    /// Returns whether any entry of the run meets the target, if the bits outside its suffixes are as wanted.
    /// `hs` are the block's.
    #[inline(always)]
    pub(super) fn may_match<F: Fingerprint>(
        &self,
        bytes: &[u8],
        candidate: &Candidate<F>,
        hs: &[u8],
        target: &Target<F>,
    ) -> Result<bool, BlockError> {
        let wanted = candidate.wanted(target);
        let mut suffix = self.suffix;
        let mut value = match self.first.checked_sub(1) {
            None => candidate.first,
            Some(coded) => {
                let h = u32::from(hs[coded]);
                entry(wanted, h, read(bytes, candidate.suffix(suffix, 0)?, F::BITS - 1 - h))
            }
        };
        if (value ^ wanted) & F::prefix_mask(target.prefix_bits) != F::ZERO {
            return Ok(false);
        }
        for &h in &hs[self.first..self.last] {
            if target.admits(value) {
                return Ok(true);
            }
            let h = u32::from(h);
            let length = F::BITS - 1 - h;
            suffix = candidate.suffix(suffix, length as usize)?;
            value = entry(value, h, read(bytes, suffix, length));
        }
        Ok(target.admits(value))
    }
}

/// Returns whether a run that begins with entry `first` begins with the block's own first entry, which has a
/// one at `position`: then all of the run have it, including unknown entries. (Seldom is a block's first entry
/// the first one with its leading bits: without this, a quarter of the blocks would be decoded whole.)
#[inline(always)]
fn is_one_of_first<F: Fingerprint>(candidate: &Candidate<F>, first: usize, position: u32) -> bool {
    first == 0 && candidate.first & F::bit(position) != F::ZERO
}

/// Returns the first place of a range at which `bytes` has `byte`. Behind the range there are [`BYTES`] more.
#[inline(always)]
fn find_byte(instructions: impl Instructions, bytes: &[u8], range: Range<usize>, byte: u8) -> Option<usize> {
    let mut start = range.start;
    while start < range.end {
        let chunk = bytes[start..].first_chunk().expect("there are so many more");
        let equal = instructions.equal_bytes(chunk, byte);
        if equal != 0 {
            let place = start + equal.trailing_zeros() as usize;
            return (place < range.end).then_some(place);
        }
        start += BYTES;
    }
    None
}
