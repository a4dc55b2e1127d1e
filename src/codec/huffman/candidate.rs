//! A candidate block of a query, judged by its front and its key.

use std::ops::Range;

use crate::arch::LINE_BYTES;
use crate::codec::error::BlockError;
use crate::codec::huffman::block::{Block, TYPICAL_CODE_BITS, codes_at};
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// Entries behind the one nearest to the query, if all are evenly spread, that are decoded at first: these, and a share
/// of the block's.
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
    pub(super) shared: u32,
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
