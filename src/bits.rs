//! Bit strings, most significant bit first: bit 0 of a string is the top bit of its first byte.

use hamdex_fingerprint::Fingerprint;

/// Up to 57 bits of `bytes` from bit `position` on, at the top of the result, followed by later bits; zeros
/// beyond the end.
#[inline(always)]
pub(crate) fn window(bytes: &[u8], position: usize) -> u64 {
    let at = position / 8;
    let word = match bytes.get(at..at + 8) {
        Some(word) => u64::from_be_bytes(word.try_into().expect("8 bytes")),
        None => window_at_end(bytes, at),
    };
    word << (position % 8)
}

#[cold]
fn window_at_end(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let tail = bytes.get(at..).unwrap_or_default();
    word[..tail.len()].copy_from_slice(tail);
    u64::from_be_bytes(word)
}

/// Number of bits that [`window`] always returns.
pub(crate) const WINDOW_BITS: u32 = 57;

/// Returns the `length` bits from bit `position` on as a number; zeros beyond the end.
#[inline(always)]
pub(crate) fn read<F: Fingerprint>(bytes: &[u8], position: usize, length: u32) -> F {
    if length <= WINDOW_BITS {
        // Two shifts, since a shift by all 64 bits is none.
        return F::truncate(u128::from((window(bytes, position) >> 1) >> (63 - length)));
    }
    read_long(bytes, position, length)
}

#[inline(never)]
fn read_long<F: Fingerprint>(bytes: &[u8], mut position: usize, length: u32) -> F {
    const STEP: u32 = 56;
    let mut value = F::ZERO;
    let mut left = length;
    while left > 0 {
        let step = left.min(STEP);
        value = (value << step) | F::truncate(u128::from(window(bytes, position) >> (64 - step)));
        position += step as usize;
        left -= step;
    }
    value
}

/// Returns the first `bits` bits as a number.
#[inline(always)]
pub(crate) fn leading<F: Fingerprint>(value: F, bits: u32) -> usize {
    if bits == 0 { 0 } else { (value >> (F::BITS - bits)).to_u128() as usize }
}

/// Returns the first bits of a mask, at most `count`.
pub(crate) fn first_of_mask<F: Fingerprint>(mask: F, count: u32) -> F {
    let (mut first, mut rest) = (F::ZERO, mask);
    for _ in 0..count.min(mask.count_ones()) {
        let bit = F::bit(rest.leading_zeros());
        (first, rest) = (first | bit, rest ^ bit);
    }
    first
}

/// Returns the whole bytes of `count` numbers of `bits` bits each; `None` beyond 64 bits.
pub(crate) fn packed_bytes(count: u64, bits: u32) -> Option<u64> {
    u64::try_from((u128::from(count) * u128::from(bits)).div_ceil(8)).ok()
}

/// Returns whether a string of `length` bits, in whole bytes, has no bit set after them.
pub(crate) fn are_zero_after(bytes: &[u8], length: u64) -> bool {
    let used = length % 8;
    used == 0 || bytes.last().is_none_or(|last| last & (0xff >> used) == 0)
}

/// Appends bits to a buffer of zeros.
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    /// Whole words written so far, in bytes.
    at: usize,
    /// Bits not yet written, from the top.
    pending: u64,
    pending_bits: u32,
}

impl<'a> Writer<'a> {
    /// Starts at bit `position`; it and all after it, up to the last that is written, must be zero. Bits before
    /// it are kept.
    pub(crate) fn new(bytes: &'a mut [u8], position: usize) -> Self {
        let (at, pending_bits) = (position / 8, position as u32 % 8);
        let pending = bytes.get(at).map_or(0, |&byte| u64::from(byte) << 56);
        Self { bytes, at, pending, pending_bits }
    }

    /// Position of the next bit, from the start of the buffer.
    pub(crate) fn position(&self) -> usize {
        self.at * 8 + self.pending_bits as usize
    }

    /// Appends the low `length` bits of `value`, which has no others set; `length` at most 64.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, length: u32) {
        debug_assert!(length == 64 || value >> length == 0);
        let room = 64 - self.pending_bits;
        if length < room {
            // Unbounded, since a field of no bits may meet an empty word.
            self.pending |= value.unbounded_shl(room - length);
            self.pending_bits += length;
            return;
        }
        let over = length - room;
        let word = self.pending | (value >> over);
        self.bytes[self.at..self.at + 8].copy_from_slice(&word.to_be_bytes());
        self.at += 8;
        self.pending = if over == 0 { 0 } else { value << (64 - over) };
        self.pending_bits = over;
    }

    /// Appends the low `length` bits of a fingerprint, which has no others set.
    #[inline]
    pub(crate) fn put_fingerprint<F: Fingerprint>(&mut self, value: F, length: u32) {
        let wide = value.to_u128();
        if length > 64 {
            self.put((wide >> 64) as u64, length - 64);
        }
        self.put(wide as u64, length.min(64));
    }

    /// Writes the pending bits; returns the position of the end.
    pub(crate) fn finish(self) -> usize {
        let end = self.position();
        let tail = (self.pending_bits as usize).div_ceil(8);
        self.bytes[self.at..self.at + tail].copy_from_slice(&self.pending.to_be_bytes()[..tail]);
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            fields in prop::collection::vec((any::<u128>(), 0u32..=128), 0..40),
            start in 0usize..70,
        ) {
            let bits: usize = fields.iter().map(|&(_, length)| length as usize).sum();
            let mut bytes = vec![0; (start + bits).div_ceil(8)];
            let mut before = Writer::new(&mut bytes, 0);
            (0..start).for_each(|_| before.put(1, 1));
            before.finish();
            let mut writer = Writer::new(&mut bytes, start);
            for &(value, length) in &fields {
                writer.put_fingerprint(value & !u128::prefix_mask(128 - length), length);
            }
            prop_assert_eq!(writer.finish(), start + bits);
            prop_assert!((0..start).all(|position| read::<u64>(&bytes, position, 1) == 1));
            let mut position = start;
            for (value, length) in fields {
                let expected = value & !u128::prefix_mask(128 - length);
                prop_assert_eq!(read::<u128>(&bytes, position, length), expected);
                if length <= 64 {
                    prop_assert_eq!(read::<u64>(&bytes, position, length), expected as u64);
                }
                position += length as usize;
            }
        }
    }

    #[test]
    fn beyond_the_end_there_are_zeros() {
        assert_eq!(window(&[0xff], 4), 0xf << 60);
        assert_eq!(window(&[0xff], 800), 0);
        assert_eq!(read::<u64>(&[], 3, 64), 0);
    }

    #[test]
    fn the_first_bits_of_a_mask() {
        let mask = 0xf0f0_0000_0000_ff00u64;
        for count in 0..=16 {
            let first = first_of_mask(mask, count);
            assert_eq!(first.count_ones(), count);
            assert_eq!(first & !mask, 0);
            assert!((mask & !first) < first || count == 0);
        }
    }
}
