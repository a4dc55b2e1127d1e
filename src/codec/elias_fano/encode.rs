//! Filling blocks.

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::elias_fano::block::{FIRST_AT, LOW_BITS_AT, max_low_bits, uppers_at};
use crate::codec::elias_fano::codec::EliasFanoCodec;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

/// The size of a block of some values.
struct Size {
    low_bits: u32,
    /// Of the unary part and the low fields.
    bits: u128,
}

/// Returns the least that `count` values from `first` to `last` can take, and how.
fn size<F: Fingerprint>(first: F, last: F, count: usize) -> Size {
    let coded = count as u128 - 1;
    if coded == 0 {
        return Size { low_bits: 0, bits: 0 };
    }
    // Around the logarithm of the mean gap: the best is never further off than one.
    let mean = last.minus(first).to_u128() / coded;
    let middle = u128::BITS - 1 - (mean | 1).leading_zeros();
    (middle.saturating_sub(1)..=middle + 1)
        .map(|low_bits| low_bits.min(max_low_bits::<F>()))
        .map(|low_bits| {
            let buckets = (last >> low_bits).minus(first >> low_bits).to_u128();
            Size { low_bits, bits: coded * u128::from(low_bits + 1) + buckets }
        })
        .min_by_key(|size| size.bits)
        .expect("there are three")
}

impl EliasFanoCodec {
    /// Returns how many of the ascending, distinct, non-empty `values` the next block takes. If it takes all of
    /// them, more might fit.
    pub(crate) fn fill<F: Fingerprint>(self, values: &[F]) -> usize {
        let room = ((self.layout.block_bytes - uppers_at::<F>()) * 8) as u128;
        let most = values.len().min(usize::from(u16::MAX));
        let fits = |count: usize| size(values[0], values[count - 1], count).bits <= room;
        // More values never take less: search in steps that double, then halve.
        let (mut enough, mut step) = (1, 64);
        while enough < most {
            let next = (enough + step).min(most);
            if !fits(next) {
                break;
            }
            (enough, step) = (next, step * 2);
        }
        let mut too_many = (enough + step).min(most + 1);
        while too_many - enough > 1 {
            let middle = enough.midpoint(too_many);
            if fits(middle) {
                enough = middle;
            } else {
                too_many = middle;
            }
        }
        enough
    }

    /// Writes a block of these values into `bytes`, which are zero, all but its checksum.
    pub(crate) fn encode<F: Fingerprint>(self, values: &[F], bytes: &mut [u8]) {
        let (first, last) = (values[0], values[values.len() - 1]);
        let low_bits = size(first, last, values.len()).low_bits;
        LittleEndian::write_u16(&mut bytes[CHECKSUM_BYTES..], values.len() as u16);
        bytes[LOW_BITS_AT] = low_bits as u8;
        first.write_le(&mut bytes[FIRST_AT..]);

        let mut low_end = bytes.len() * 8 - (values.len() - 1) * low_bits as usize;
        for (coded, &value) in values[1..].iter().enumerate() {
            let bucket = (value >> low_bits).minus(first >> low_bits).to_u128() as usize;
            let place = uppers_at::<F>() * 8 + bucket + coded;
            bytes[place / 8] |= 1 << (place % 8);

            if low_bits > 0 {
                low_end += low_bits as usize;
                let last_byte = low_end.div_ceil(8);
                let word = &mut bytes[last_byte - F::BYTES..];
                let low = value << (F::BITS - low_bits) >> (last_byte * 8 - low_end) as u32;
                (F::read_le(word) | low).write_le(word);
            }
        }
    }
}
