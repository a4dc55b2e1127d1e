//! Fixed-width numbers, packed as a bit string (see [`crate::bits`]).

use crate::bits::read;

/// Returns the number of that place in an array of `bits`-wide numbers.
#[inline]
pub(super) fn get(bytes: &[u8], place: u64, bits: u32) -> u64 {
    // In 64 bits: a byte string of half a gigabyte has more bits than a small machine counts.
    let bit = place * u64::from(bits);
    let rest = bytes.get((bit / 8) as usize..).unwrap_or_default();
    read::<u64>(rest, (bit % 8) as usize, bits)
}

/// Appends numbers to a byte string.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    pending: u128,
    pending_bits: u32,
}

impl Packer {
    /// Appends the low `bits` bits of `value`, which has no others set; hands over finished bytes.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, bits: u32, finished: &mut Vec<u8>) {
        // Bits that have been written remain above the pending ones, and are shifted out in time.
        self.pending = self.pending << bits | u128::from(value);
        self.pending_bits += bits;
        if self.pending_bits >= u64::BITS {
            self.pending_bits -= u64::BITS;
            finished.extend_from_slice(&((self.pending >> self.pending_bits) as u64).to_be_bytes());
        }
    }

    /// Hands over the last bytes, filled up with zeros.
    pub(crate) fn finish(self, finished: &mut Vec<u8>) {
        if self.pending_bits > 0 {
            let rest = (self.pending << (u64::BITS - self.pending_bits)) as u64;
            finished.extend_from_slice(&rest.to_be_bytes()[..self.pending_bits.div_ceil(8) as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_back(values: Vec<u64>, bits in 0u32..=64) {
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let (mut bytes, mut packer) = (Vec::new(), Packer::default());
            for value in &values {
                packer.put(value & mask, bits, &mut bytes);
            }
            packer.finish(&mut bytes);
            prop_assert_eq!(bytes.len(), (values.len() * bits as usize).div_ceil(8));
            for (place, value) in (0..).zip(&values) {
                prop_assert_eq!(get(&bytes, place, bits), value & mask);
            }
        }
    }
}
