//! The codec for speed: Elias–Fano coding (Elias, J. ACM 1974; Fano, MIT 1971) of each block.
//!
//! The first fingerprint of a block is raw. Of each later one, the lowest `l` bits are stored plain, in fields
//! of equal size; the others, as a number of *buckets* above those of the first fingerprint, in unary. So a
//! probe finds the entries with a prefix by counting zeros in a few words, and compares their low bits, eight
//! at a time, without decoding anything.
//!
//! All bit strings here have the least significant bit first: bit i of a block is bit i mod 8 of its
//! byte i / 8, and the first bit of a field is its lowest.
//!
//! - [`read`]: reading a block, all of it or as little as a query needs
//! - [`runs`]: the numbers of the entries in a range of values
//!
//! The layout of a block:
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

mod read;
mod runs;

use byteorder::{ByteOrder, LittleEndian};
use read::Candidates;
pub(crate) use read::{ScanBlocks, decode};
use runs::Ends;
pub(crate) use runs::{FindRuns, decode_entries};

use crate::arch::{Fields, LINE_BYTES, prefetch};
use crate::codec::{BlockError, CHECKSUM_BYTES, Layout, Located};
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes blocks.
#[derive(Clone, Copy)]
pub struct EliasFanoCodec {
    layout: Layout,
}

impl EliasFanoCodec {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout }
    }

    pub(crate) fn layout(self) -> Layout {
        self.layout
    }

    /// Prefetches what a scan would read after the front of a block if all entries were evenly spread: see
    /// [`BlockCodec::prefetch_likely`](crate::codec::BlockCodec::prefetch_likely).
    #[inline(always)]
    pub(crate) fn prefetch_likely(self, file: &[u8], start: usize, fraction: f32) {
        let place = (fraction * (self.layout.block_bytes - LINE_BYTES) as f32) as usize;
        // The line in which the nearest to the query would be, and those next to it.
        prefetch(file, start + LINE_BYTES / 2 + place);
        prefetch(file, start + LINE_BYTES * 3 / 2 + place);
        prefetch(file, start + LINE_BYTES * 5 / 2 + place);
    }
}

/// Offset of l, and of the zero after it.
const LOW_BITS_AT: usize = CHECKSUM_BYTES + 2;

/// Offset of the first fingerprint.
const FIRST_AT: usize = 8;

/// Offset of the unary numbers, in bytes.
pub(crate) const fn uppers_at<F: Fingerprint>() -> usize {
    FIRST_AT + F::BYTES
}

/// Maximum number of low bits such that one unaligned load of the fingerprint's width covers a field.
/// ([`Fields`] rely on it.)
pub(crate) const fn max_low_bits<F: Fingerprint>() -> u32 {
    F::BITS - 8
}

/// A block whose header has been checked.
#[derive(Clone, Copy)]
struct Block<'a, F> {
    bytes: &'a [u8],
    /// Entries that follow the first.
    coded: usize,
    low_bits: u32,
    first: F,
    /// Start of the low fields, in bits.
    lows_start: usize,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the header. Everything that later reads rely on is checked here.
    #[inline(always)]
    fn new(bytes: &'a [u8]) -> Result<Self, BlockError> {
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
    fn bucket_of(&self, value: F) -> u64 {
        // No block has a number of buckets beyond 64 bits.
        let bucket = (value >> self.low_bits).minus(self.first >> self.low_bits).to_u128();
        u64::try_from(bucket).unwrap_or(u64::MAX)
    }

    /// Returns the value with this bucket and these low bits; `None` when it is beyond the width.
    #[inline(always)]
    fn value(&self, bucket: usize, low: F) -> Option<F> {
        let upper = (self.first >> self.low_bits).to_u128() + bucket as u128;
        // A fingerprint has at least the bits that are not low.
        let most = (F::ONES >> self.low_bits).to_u128();
        (upper <= most).then(|| F::truncate(upper) << self.low_bits | low)
    }

    /// Returns the low bits of a coded entry, counted from 0.
    #[inline(always)]
    fn low(&self, coded: usize) -> F {
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
    fn fields(&self, coded: usize) -> Option<Fields<'a>> {
        let start = self.lows_start + coded * self.low_bits as usize;
        (F::BITS == 64 && self.low_bits > 0).then(|| Fields::new(self.bytes, start, self.low_bits))
    }
}

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

/// Memory that reading blocks uses again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The places of the ones of a block's unary part.
    places: Vec<u16>,
    /// Blocks in which something is to be compared, and what.
    candidates: Vec<(Located, Candidates)>,
    /// Of blocks in which a range is looked for, where low bits decide.
    ends: Vec<Ends>,
}
