//! Finding what can have a prefix without reading any suffix.
//!
//! The h of a segment are what its entries share with their neighbours: they are a trie over the entries
//! (a blind, or Patricia, trie: Morrison, J. ACM 1968). So the query's bits alone lead down to the run of
//! entries that have its prefix, if any have; one suffix then shows whether they do, as far as that goes.
//! Hardly anything is left to be looked at in full.

use crate::arch::Instructions;
use crate::bits::read;
use crate::codec::error::BlockError;
use crate::codec::huffman::candidate::Candidate;
use crate::codec::huffman::differences::{MAX_SEARCHED, entry};
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// A run of entries: the only ones in a segment that can have a prefix.
#[derive(Clone, Copy)]
pub(super) struct PrefixRun {
    /// The first and the last; 0 is the segment's own first entry.
    first: usize,
    last: usize,
    /// Where the suffix of the first one starts, in bits; on damaged bytes, 0.
    suffix: usize,
}

impl PrefixRun {
    /// Finds the run for what is left of the prefix where all of a segment's entries share as many errors
    /// as it may have; `None` where they share fewer. `hs` are the segment's, and whatever lies behind.
    #[inline(always)]
    pub(super) fn find<F: Fingerprint>(
        instructions: impl Instructions,
        hs: &[u8; MAX_SEARCHED],
        candidate: &Candidate<F>,
        target: &Target<F>,
    ) -> Option<Self> {
        let wanted = candidate.wanted(target)?;
        // Bit i stands for the difference between entries i and i + 1. Between the first and the last entry
        // of the run so far, all have the same bits before `position`.
        let mut from_first = u128::MAX;
        let mut before_last = !u128::MAX.unbounded_shl(candidate.coded() as u32);
        for position in candidate.shared()..target.prefix_bits {
            // Where entries first differ here, if any do: those before have a zero, those after a one.
            let here = instructions.equal_bytes(hs, position as u8) & from_first & before_last;
            let up_to_here = if here == 0 { 0 } else { here ^ here.wrapping_sub(1) };
            let is_one = wanted & F::bit(position) != F::ZERO;
            from_first &= if is_one { !up_to_here } else { u128::MAX };
            before_last &= if is_one { u128::MAX } else { here.wrapping_sub(1) };
        }
        let first = from_first.trailing_zeros() as usize;
        let last = before_last.trailing_ones() as usize;
        let bits: usize = hs[..first].iter().map(|&h| (F::BITS - 1) as usize - usize::from(h)).sum();
        Some(Self { first, last, suffix: candidate.end().saturating_sub(bits) })
    }

    /// Where a look at the run starts to read, in bits.
    #[inline(always)]
    pub(super) fn reads(&self) -> usize {
        self.suffix
    }

    /// Whether any of the run is what the target meets, if the bits that no suffix of it has are as wanted. `hs` are
    /// the segment's.
    #[inline(always)]
    pub(super) fn may_match<F: Fingerprint>(
        &self,
        bytes: &[u8],
        candidate: &Candidate<F>,
        hs: &[u8],
        target: &Target<F>,
    ) -> Result<bool, BlockError> {
        let Some(wanted) = candidate.wanted(target) else { return Ok(true) };
        let mut suffix = self.suffix;
        let mut value = match self.first.checked_sub(1) {
            None => candidate.first(),
            Some(coded) if suffix >= candidate.start() => {
                let h = u32::from(hs[coded]);
                entry(wanted, h, read(bytes, suffix, F::BITS - 1 - h))
            }
            Some(_) => return Err(BlockError::Length),
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
            suffix = suffix
                .checked_sub(length as usize)
                .filter(|&suffix| suffix >= candidate.start())
                .ok_or(BlockError::Length)?;
            value = entry(value, h, read(bytes, suffix, length));
        }
        Ok(target.admits(value))
    }
}
