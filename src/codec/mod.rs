//! Encoding sorted fingerprints as blocks, and scanning these for a probe: the codecs, the layout of
//! blocks, the target of a probe, and lists of blocks to scan for it.
//!
//! A block holds ascending, distinct, permuted fingerprints; the first is raw. The codec of the file codes the
//! others.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits plain, the rest in unary: for speed
//! - [`block_codec`]: either of them
//! - [`reference`]: a slow second implementation, straight from format-spec.md

mod block_codec;
pub(crate) mod elias_fano;
pub(crate) mod huffman;
pub mod reference;

use std::fmt;
use std::str::FromStr;

pub use block_codec::{BlockCodec, Scratch, count_differences};
pub(crate) use block_codec::{find_runs, scan_blocks};
use byteorder::{ByteOrder, LittleEndian};

use crate::category::ParseOptionError;
use hamdex_fingerprint::Fingerprint;

/// The block codec of a file.
///
/// ```
/// use hamdex::Codec;
///
/// assert_eq!("elias-fano".parse(), Ok(Codec::EliasFano));
/// assert_eq!(Codec::default().to_string(), "huffman");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// Huffman-coded first differing positions and suffixes (§3.1.3 of the paper): the smaller one
    /// for clustered fingerprints, as of real documents.
    #[default]
    Huffman,
    /// Elias–Fano coding of each block: 1.5 to 1.8 times as fast to query with filters, 3 to 4 times without, and smaller
    /// if fingerprints are spread evenly.
    EliasFano,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Huffman, Self::EliasFano];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Huffman => "huffman",
            Self::EliasFano => "elias-fano",
        }
    }

    /// Returns its tag in a file's footer.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Huffman => 1,
            Self::EliasFano => 2,
        }
    }

    /// Returns the bytes of a block by default; docs/engine.md has the measurements.
    #[must_use]
    pub fn default_block_bytes(self) -> usize {
        match self {
            Self::Huffman | Self::EliasFano => 1024,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = ParseOptionError;

    fn from_str(name: &str) -> Result<Self, ParseOptionError> {
        let unknown = || ParseOptionError::new("unknown codec; use huffman or elias-fano");
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(unknown)
    }
}

/// Length of the checksum of a block; it covers the bytes after it.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Returns the number of entries of a block, which follows the checksum in both codecs.
pub(crate) fn entry_count(block: &[u8]) -> usize {
    usize::from(LittleEndian::read_u16(&block[CHECKSUM_BYTES..]))
}

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// The layout of the blocks of a file, the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The codec of the blocks.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
}

/// Bits of a Huffman-coded entry beyond the information bound: the entropy of h is 3.25 bits, 1.443 of which
/// the bound leaves out, and the code loses 0.04.
const HUFFMAN_OVERHEAD_BITS: f64 = 1.92;

/// Returns the information bound: bits per fingerprint that no code for a set of `count` uniformly spread
/// fingerprints goes below, `width − log2 count + log2 e`.
pub(crate) fn information_bound_bits(width: u32, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // log2 C(2^w, n) / n, exact enough from n = 1 (w bits) on.
    let n = count as f64;
    let ln_factorial = if n < 2.0 { 0.0 } else { n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() };
    (f64::from(width) - ln_factorial / n * std::f64::consts::LOG2_E).max(0.0)
}

impl Codec {
    /// Returns the entries of a block, on average, among `count` uniformly spread fingerprints.
    pub(crate) fn expected_entries<F: Fingerprint>(self, count: u64, block_bytes: u32) -> f64 {
        let entry_bits = entry_bits::<F>(self, count);
        // The first coded entry starts after the header and the first fingerprint, which is raw.
        let front_bytes = match self {
            Self::Huffman => huffman::codes_at::<F>(),
            Self::EliasFano => elias_fano::uppers_at::<F>(),
        };
        let coded_bits = f64::from(block_bytes) * 8.0 - (front_bytes * 8) as f64;
        // On average half an entry is left over.
        1.0 + (coded_bits - entry_bits / 2.0).max(0.0) / entry_bits
    }
}

/// Returns the bits of one entry among `count` uniformly spread ones, without the overhead of the block.
fn entry_bits<F: Fingerprint>(codec: Codec, count: u64) -> f64 {
    let bound = information_bound_bits(F::BITS, count);
    match codec {
        Codec::Huffman => bound + HUFFMAN_OVERHEAD_BITS,
        Codec::EliasFano => {
            // l low bits, a one, and the zeros of the buckets that the gap crosses.
            let log2_gap = f64::from(F::BITS) - (count.max(1) as f64).log2();
            let bits = |low_bits: u32| f64::from(low_bits + 1) + (log2_gap - f64::from(low_bits)).exp2();
            (0..=elias_fano::max_low_bits::<F>()).map(bits).fold(f64::INFINITY, f64::min)
        }
    }
}

/// An error in a block whose checksum is right: no correct writer wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// No entries, or more than a block of that size can hold.
    #[error("its entry count is impossible")]
    Count,
    /// The size of the low fields is out of range, or a byte that must be zero is not.
    #[error("the size of its low fields is impossible")]
    LowBits,
    /// Codes and suffixes overlap, or there are fewer unary numbers than entries.
    #[error("its entries do not end where they should")]
    Length,
    /// Entries are not strictly ascending.
    #[error("its entries are not ascending")]
    Order,
    /// Bits that belong to no entry are set.
    #[error("bits that belong to no entry are set")]
    Padding,
    /// The last entry is not the block's key.
    #[error("its last entry is not the one its key says")]
    Key,
}

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

#[cfg(test)]
mod tests;
