//! The layout of a block.
//!
//! ```text
//! offset  size        what
//! 0       4           CRC-32 of the block's context and of its bytes from offset 4 on
//! 4       2           n: entries, at least 1
//! 6       1           l: bits of a low field
//! 7       1           zero
//! 8       W           the first fingerprint
//! 8 + W   …           for each later entry its bucket, in unary; then zeros
//! …       (n − 1) × l bits, up to the end of the block: for each later entry its low bits
//! ```

use byteorder::{ByteOrder, LittleEndian};

use crate::arch::Fields;
use crate::codec::error::BlockError;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

/// Offset of l, and of the zero after it.
pub(super) const LOW_BITS_AT: usize = CHECKSUM_BYTES + 2;

/// Offset of the first fingerprint.
pub(super) const FIRST_AT: usize = 8;

/// Offset of the unary numbers, in bytes.
pub(crate) const fn uppers_at<F: Fingerprint>() -> usize {
    FIRST_AT + F::BYTES
}

/// Returns the most low bits: so few that a word of the fingerprint's width, at whole bytes, has all of a field.
/// ([`Fields`] rely on it.)
pub(crate) const fn max_low_bits<F: Fingerprint>() -> u32 {
    F::BITS - 8
}

/// A block whose header has been checked.
#[derive(Clone, Copy)]
pub(super) struct Block<'a, F> {
    pub(super) bytes: &'a [u8],
    /// Entries that follow the first.
    pub(super) coded: usize,
    pub(super) low_bits: u32,
    pub(super) first: F,
    /// Start of the low fields, in bits.
    pub(super) lows_start: usize,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the header. Everything that later reads rely on is checked here.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, BlockError> {
        let count = usize::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES..]));
        let low_bits = u32::from(bytes[LOW_BITS_AT]);
        let Some(coded) = count.checked_sub(1) else { return Err(BlockError::Count) };
        if low_bits > max_low_bits::<F>() || bytes[LOW_BITS_AT + 1] != 0 {
            return Err(BlockError::LowBits);
        }
        // Each coded entry has at least the one that ends its unary number.
        if uppers_at::<F>() * 8 + coded * (low_bits as usize + 1) > bytes.len() * 8 {
            return Err(BlockError::Count);
        }
        let lows_start = bytes.len() * 8 - coded * low_bits as usize;
        Ok(Self { bytes, coded, low_bits, first: F::read_le(&bytes[FIRST_AT..]), lows_start })
    }

    /// Returns the bucket of a value, counted from that of the first entry; the value is not below that.
    #[inline(always)]
    pub(super) fn bucket_of(&self, value: F) -> u64 {
        // No block has a number of buckets beyond 64 bits.
        let bucket = (value >> self.low_bits).minus(self.first >> self.low_bits).to_u128();
        u64::try_from(bucket).unwrap_or(u64::MAX)
    }

    /// Returns the value with this bucket and these low bits; `None` when it is beyond the width.
    #[inline(always)]
    pub(super) fn value(&self, bucket: usize, low: F) -> Option<F> {
        let upper = (self.first >> self.low_bits).to_u128() + bucket as u128;
        // A fingerprint has at least the bits that are not low.
        let most = (F::ONES >> self.low_bits).to_u128();
        (upper <= most).then(|| F::truncate(upper) << self.low_bits | low)
    }

    /// Returns the low bits of a coded entry, counted from 0.
    #[inline(always)]
    pub(super) fn low(&self, coded: usize) -> F {
        if self.low_bits == 0 {
            return F::ZERO;
        }
        let end = self.low_end(coded);
        let last_byte = end.div_ceil(8);
        let word = F::read_le(&self.bytes[last_byte - F::BYTES..]);
        (word << (last_byte * 8 - end) as u32) >> (F::BITS - self.low_bits)
    }

    /// End of the low bits of a coded entry, in bits.
    #[inline(always)]
    fn low_end(&self, coded: usize) -> usize {
        self.lows_start + (coded + 1) * self.low_bits as usize
    }

    /// Returns the low bits of this coded entry and the ones after it, as words of 64 bits; `None` if they
    /// are wider than fits, or have no bits.
    #[inline(always)]
    pub(super) fn fields(&self, coded: usize) -> Option<Fields<'a>> {
        let start = self.lows_start + coded * self.low_bits as usize;
        (F::BITS == 64 && self.low_bits > 0).then(|| Fields::new(self.bytes, start, self.low_bits))
    }
}
