//! Finding what can have a prefix without reading any suffix.
//!
//! The h of a block are what its entries share with their neighbours: they are a trie over the entries
//! (a blind, or Patricia, trie: Morrison, J. ACM 1968). So the query's bits alone lead down to the run of
//! entries that have its prefix, if any have; one suffix then shows whether they do, as far as that goes.
//! Hardly anything is left to be looked at in full.

use crate::arch::{BYTES, Instructions};
use crate::bits::read;
use crate::codec::error::BlockError;
use crate::codec::huffman::candidate::Candidate;
use crate::codec::huffman::differences::entry;
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// A run of entries: the only ones of a block that can have a prefix.
#[derive(Clone, Copy)]
pub(super) struct PrefixRun {
    /// The first and the last; 0 is the block's own first entry.
    first: usize,
    last: usize,
    /// Where the suffix of the first one starts, in bits; on damaged bytes, 0.
    suffix: usize,
}

impl PrefixRun {
    /// Finds the run for what is left of the prefix where all of a block's entries share as many errors
    /// as it may have; `None` where they share fewer. `hs` are the block's, and [`BYTES`] more.
    #[inline(always)]
    pub(super) fn find<F: Fingerprint>(
        instructions: impl Instructions,
        hs: &[u8],
        candidate: &Candidate<F>,
        target: &Target<F>,
    ) -> Option<Self> {
        let wanted = candidate.wanted(target)?;
        // Between the first and the last entry of the run so far, all have the same bits before `position`.
        let (mut first, mut last) = (0, candidate.coded);
        let mut position = candidate.shared;
        while last - first > BYTES && position < target.prefix_bits {
            // Where entries first differ here, if any do: those before have a zero, those after a one.
            if let Some(before) = find_byte(instructions, hs, first, last, position as u8) {
                let is_one = wanted & F::bit(position) != F::ZERO;
                (first, last) = if is_one { (before + 1, last) } else { (first, before) };
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
                from_first &= if is_one { !up_to_here } else { u64::MAX };
                before_last &= if is_one { u64::MAX } else { here.wrapping_sub(1) };
                position += 1;
            }
            last = first + before_last.trailing_ones() as usize;
            first += from_first.trailing_zeros() as usize;
        }
        let bits: usize = hs[..first].iter().map(|&h| (F::BITS - 1) as usize - usize::from(h)).sum();
        Some(Self { first, last, suffix: candidate.end.saturating_sub(bits) })
    }

    /// Where a look at the run starts to read, in bits.
    #[inline(always)]
    pub(super) fn reads(&self) -> usize {
        self.suffix
    }

    /// Whether any of the run is what the target meets, if the bits that no suffix of it has are as wanted. `hs` are
    /// the block's.
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

/// The place of the first of `bytes` from `start` to before `end` that is equal to `byte`. Behind them there are
/// [`BYTES`] more.
#[inline(always)]
fn find_byte(
    instructions: impl Instructions,
    bytes: &[u8],
    start: usize,
    end: usize,
    byte: u8,
) -> Option<usize> {
    (start..end).step_by(BYTES).find_map(|start| {
        let chunk = bytes[start..].first_chunk().expect("there are so many more");
        let equal = instructions.equal_bytes(chunk, byte);
        let place = start + equal.trailing_zeros() as usize;
        (equal != 0 && place < end).then_some(place)
    })
}
