//! The target of a probe, and lists of blocks to scan, each with its target.

use crate::codec::BlockError;
use hamdex_fingerprint::Fingerprint;

/// The target of a probe in a table, in the table's order of bits.
#[derive(Debug, Clone, Copy)]
pub struct Target<F> {
    /// The permuted query.
    pub query: F,
    /// The length of the prefix.
    pub prefix_bits: u32,
    /// The errors admitted inside the prefix.
    pub radius: u32,
    /// The errors admitted in all.
    pub distance: u32,
}

impl<F: Fingerprint> Target<F> {
    /// Returns the maximum number of errors in the prefix.
    #[inline(always)]
    pub(crate) fn prefix_errors(&self) -> u32 {
        self.radius.min(self.distance)
    }

    /// Returns the least and the greatest value with the prefix of `value`, which differs from the query in `errors`
    /// bits.
    #[inline(always)]
    pub(crate) fn run_of(&self, value: F, errors: u32) -> (F, F) {
        // If no further error is allowed, all bits must be the value's.
        let depth = if errors < self.distance { self.prefix_bits } else { F::BITS };
        let mask = F::prefix_mask(depth);
        (value & mask, value | !mask)
    }

    /// Returns whether the target meets a value.
    #[inline]
    pub(crate) fn admits(&self, value: F) -> bool {
        let difference = value ^ self.query;
        difference.count_ones() <= self.distance
            && (difference & F::prefix_mask(self.prefix_bits)).count_ones() <= self.radius
    }

    /// Returns the position at which a fingerprint that differs in `difference` becomes dead: that of the first
    /// error too many, or the width if it is alive.
    #[inline]
    pub(crate) fn dead_at(&self, mut difference: F) -> u32 {
        let mut errors = 0;
        loop {
            let position = difference.leading_zeros();
            if position == F::BITS {
                return position;
            }
            let allowed = if position < self.prefix_bits { self.prefix_errors() } else { self.distance };
            if errors >= allowed {
                return position;
            }
            errors += 1;
            difference ^= F::bit(position);
        }
    }

    /// Returns whether every value between the two, which are ascending, is dead.
    #[inline]
    pub(crate) fn rules_out(&self, low: F, high: F) -> bool {
        self.dead_at(self.query ^ low) < low.first_difference(high)
    }

    /// Returns whether the bits of the prefix shared by all values from `low` to `high` use up the errors of
    /// the prefix.
    #[inline]
    pub(crate) fn uses_up(&self, low: F, high: F) -> bool {
        let shared = F::prefix_mask(low.first_difference(high).min(self.prefix_bits));
        ((self.query ^ low) & shared).count_ones() >= self.prefix_errors()
    }

    /// Returns bounds of the values from `low` to `high` whose prefixes can match; the first is above the second if
    /// none can.
    #[inline(always)]
    pub(crate) fn span(&self, low: F, high: F) -> (F, F) {
        let shared = low.first_difference(high).min(self.prefix_bits);
        let shared_mask = F::prefix_mask(shared);
        let prefix = F::prefix_mask(self.prefix_bits);
        let errors = ((self.query ^ low) & shared_mask).count_ones();
        // The nearest to the query that has the bits that all share.
        let nearest = (low & shared_mask) | (self.query & !shared_mask);
        match self.prefix_errors().checked_sub(errors) {
            None => (F::ONES, F::ZERO),
            // No error is left: the rest of the prefix must be the query's.
            Some(0) => (nearest & prefix, nearest | !prefix),
            Some(1) => {
                let (mut least, mut greatest) = (F::ONES, F::ZERO);
                let mut take = |value: F| {
                    let (first, last) = (value & prefix, value | !prefix);
                    let is_between = first <= high && last >= low;
                    least = least.min(if is_between { first } else { F::ONES });
                    greatest = greatest.max(if is_between { last } else { F::ZERO });
                };
                take(nearest);
                for position in shared..self.prefix_bits {
                    take(nearest ^ F::bit(position));
                }
                (least, greatest)
            }
            Some(_) => (low, high),
        }
    }

    /// Returns whether every value after `value`, which is dead at `position`, is dead too, given that the
    /// errors are used up in the bits shared with `value`. A later value differs from it first in a bit that it
    /// has clear: above `position` the query has that bit clear too, so it would be one error too many.
    #[inline]
    pub(crate) fn is_passed_by(&self, value: F, position: u32) -> bool {
        position < self.prefix_bits && value & F::bit(position) != F::ZERO
    }

    /// Returns the interpolated position of the query between the two, which are ascending, if it had the bits
    /// that they share, as a part of `length`. It is precise to half a dozen digits: for guesses only.
    #[inline(always)]
    pub(crate) fn place_between(&self, low: F, high: F, length: usize) -> usize {
        let shared = F::prefix_mask(low.first_difference(high));
        let nearest = (low & shared) | (self.query & !shared);
        let (span, offset) = (high.minus(low), nearest.max(low).minus(low));
        // 32 bits of each are plenty for a guess.
        let shift = (F::BITS - span.leading_zeros()).saturating_sub(32);
        let (span, offset) = ((span >> shift).to_u128() as u64, (offset.min(span) >> shift).to_u128() as u64);
        (offset as f32 / (span + 1) as f32 * length as f32) as usize
    }
}

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
pub(crate) const SCAN_BATCH: usize = 48;

/// A block to be searched. The list that it is in defines the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The number of its target.
    pub(crate) target: u32,
}

/// A list of blocks, each with its target.
///
/// The codecs scan many blocks at a time, so that their memory accesses overlap. The list knows the position of
/// each block, whether its checksum has been verified, and how to report its errors.
pub(crate) trait Blocks<F> {
    /// The error for a damaged block.
    type Error;

    /// Returns all of the blocks.
    fn list(&self) -> &[Located];

    /// Prefetches the fronts of some of the blocks.
    fn prefetch_fronts(&self, blocks: &[Located]);

    /// Returns a block, after its checksum has been verified.
    fn checked_bytes(&self, at: Located) -> Result<&[u8], Self::Error>;

    /// Returns the key of a block, which is its last entry.
    fn key(&self, at: Located) -> F;

    /// Returns the bytes of a block that has been checked.
    fn bytes(&self, at: Located) -> &[u8];

    /// Returns the target of a block.
    fn target(&self, at: Located) -> &Target<F>;

    /// Returns the error for a block that contradicts itself.
    fn damaged(&self, at: Located, error: BlockError) -> Self::Error;
}
