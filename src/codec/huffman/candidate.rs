//! The segments of a block that a query has to read, chosen from the front of the block.
//!
//! The entries of a segment all share what its first one shares with the next segment's. Where that already
//! holds too many errors, the segment is passed over.

use std::ops::Range;

use crate::arch::LINE_BYTES;
use crate::codec::error::BlockError;
use crate::codec::huffman::block::{Block, Segment, TYPICAL_CODE_BITS};
use crate::codec::huffman::codebook::Codebook;
use crate::codec::huffman::differences::Codes;
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// A segment that may hold something alive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<F> {
    pub(super) segment: Segment<F>,
    /// The number in the block of its first entry.
    pub(super) before: usize,
    /// The bits that its entries share with each other and with the segment after it.
    shared: u32,
    /// Whether these have as many errors as the prefix may have.
    pub(super) used_up: bool,
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
            let codes = start / 8..(start + count * (TYPICAL_CODE_BITS + 1)) / 8;
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
pub(super) fn choose<F: Fingerprint>(
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
            let suffixes = (segment.end - segment.start).saturating_sub(segment.count * TYPICAL_CODE_BITS);
            let likely = segment.end - target.place_between(first, next, suffixes).min(suffixes);
            let before = block.first_entry_of(number);
            choose(Candidate { segment, before, shared: first.first_difference(next), used_up, likely });
        }
    }
    Ok(())
}
