//! The operations in plain code: what every other implementation must equal.

use crate::bits::read;

/// Values that instructions take at a time.
pub(crate) const LANES: usize = 8;

/// Bytes that instructions take at a time.
pub(crate) const BYTES: usize = 64;

/// Fields of equal size in a row of a bit string, least significant bit first: bit i of the string is
/// bit i mod 8 of byte i / 8, and the first bit of a field is its lowest.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// The bytes from the one on in which the first field starts.
    pub(super) bytes: &'a [u8],
    /// Its first bit in that byte.
    pub(super) phase: u32,
    /// Bits of a field.
    pub(super) bits: u32,
}

impl<'a> Fields<'a> {
    /// The most bits of a field: so few that the eight bytes from its first on have all of it.
    pub(crate) const MAX_BITS: u32 = 56;

    /// Fields of 1 to [`Self::MAX_BITS`] bits, the first of which starts at bit `start` of `bytes`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], start: usize, bits: u32) -> Self {
        debug_assert!((1..=Self::MAX_BITS).contains(&bits));
        Self { bytes: &bytes[start / 8..], phase: start as u32 % 8, bits }
    }

    /// Returns the fields after the first [`LANES`].
    #[inline(always)]
    pub(crate) fn skip_lanes(self) -> Self {
        // Eight fields of n bits are n bytes.
        const _: () = assert!(LANES == 8);
        Self { bytes: self.bytes.get(self.bits as usize..).unwrap_or_default(), ..self }
    }
}

#[inline(always)]
pub(super) fn select(word: u64, rank: u32) -> u32 {
    let mut word = word;
    for _ in 0..rank {
        word &= word.wrapping_sub(1);
    }
    word.trailing_zeros()
}

/// `select` is that of the instruction set.
#[inline(always)]
pub(super) fn select_zero(select: impl Fn(u64, u32) -> u32, bytes: &[u8; 64], rank: u32) -> Result<u32, u32> {
    let mut before = 0;
    for (number, word) in bytes.as_chunks().0.iter().enumerate() {
        let zero_bits = !u64::from_le_bytes(*word);
        let zeros = zero_bits.count_ones();
        if before + zeros > rank {
            return Ok(number as u32 * u64::BITS + select(zero_bits, rank - before));
        }
        before += zeros;
    }
    Err(before)
}

#[inline(always)]
pub(super) fn places_of_ones(mut word: u64, base: u16, places: &mut [u16; 64]) {
    for place in places {
        if word == 0 {
            return;
        }
        *place = base + word.trailing_zeros() as u16;
        word &= word - 1;
    }
}

/// Returns the field of that number, with the bits after it above.
#[inline(always)]
fn field(fields: Fields<'_>, number: usize) -> u64 {
    let start = fields.phase as usize + number * fields.bits as usize;
    let rest = &fields.bytes[start / 8..];
    let word = match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            assert!(rest.len() * 8 >= start % 8 + fields.bits as usize, "a field lies outside the bytes");
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    };
    word >> (start % 8)
}

/// Returns the lowest bits of a word, as many as a field has.
#[inline(always)]
fn mask(fields: Fields<'_>) -> u64 {
    u64::MAX >> (u64::BITS - fields.bits)
}

#[inline(always)]
pub(super) fn join(first: u64, places: &[u16; LANES], fields: Fields<'_>) -> [u64; LANES] {
    std::array::from_fn(|number| {
        let upper = first.wrapping_add(u64::from(places[number])).wrapping_sub(number as u64);
        upper << fields.bits | field(fields, number) & mask(fields)
    })
}

#[inline(always)]
pub(super) fn near_fields(fields: Fields<'_>, count: usize, value: u64, distance: u32) -> u32 {
    (0..count.min(LANES)).fold(0, |near, number| {
        let difference = (field(fields, number) ^ value) & mask(fields);
        near | u32::from(difference.count_ones() <= distance) << number
    })
}

#[inline(always)]
pub(super) fn follow(
    bytes: &[u8],
    mut end: usize,
    hs: &[u8; LANES],
    before: u64,
    values: &mut [u64; LANES],
) -> bool {
    const TOP: u64 = 1 << 63;
    let mut value = before;
    let mut was_set = 0;
    for (&h, next) in hs.iter().zip(values) {
        let h = u32::from(h);
        end -= (u64::BITS - 1 - h) as usize;
        was_set |= value & (TOP >> h);
        value = (value & !(u64::MAX >> h)) | (TOP >> h) | read::<u64>(bytes, end, u64::BITS - 1 - h);
        *next = value;
    }
    was_set == 0
}

#[inline(always)]
pub(super) fn equal_bytes(bytes: &[u8; BYTES], byte: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Moves the lowest bit of every byte of a word to the top byte, that of the first byte lowest.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let wanted = u64::from(byte) * ONES;
    let mut equal = 0;
    for (number, word) in bytes.chunks_exact(8).enumerate() {
        let difference = u64::from_le_bytes(word.try_into().expect("8 bytes")) ^ wanted;
        // The top bit of a byte stays clear where nothing in it is set.
        let differs = ((difference & (ONES * 0x7f)) + ONES * 0x7f) | difference;
        let zero_bytes = !(differs >> 7) & ONES;
        equal |= (zero_bytes.wrapping_mul(GATHER) >> 56) << (number * 8);
    }
    equal
}

#[inline(always)]
pub(super) fn sum_of_bytes(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| usize::from(byte)).sum()
}

#[inline(always)]
pub(super) fn near_values(values: &[u64; LANES], value: u64, distance: u32) -> u32 {
    let mut near = 0;
    for (number, other) in values.iter().enumerate() {
        near |= u32::from((other ^ value).count_ones() <= distance) << number;
    }
    near
}

#[inline(always)]
pub(super) fn have_bits(bytes: &[u8], offsets: &[u64; LANES], masks: &[u64; LANES]) -> u32 {
    let mut found = 0;
    for (lane, (&offset, &mask)) in offsets.iter().zip(masks).enumerate() {
        let word = bytes[offset as usize..].first_chunk().expect("the word lies inside the bytes");
        found |= u32::from(u64::from_le_bytes(*word) & mask == mask) << lane;
    }
    found
}

/// The interface of this folder on processors that have nothing special to offer.
#[cfg(not(target_arch = "x86_64"))]
pub(super) mod fallback {
    use crate::arch::{Kernel, Portable};

    /// Never made here: no instruction gathers bits.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum BitGather {}

    impl BitGather {
        pub(crate) fn detect() -> Option<Self> {
            None
        }

        pub(crate) fn gather(self, _value: u64, _mask: u64) -> u64 {
            match self {}
        }

        pub(crate) fn scatter(self, _value: u64, _mask: u64) -> u64 {
            match self {}
        }
    }

    /// Does nothing: a prefetch is only ever a hint.
    pub(crate) fn prefetch<T>(_values: &[T], _number: usize) {}

    /// Runs a kernel.
    #[inline]
    pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Portable)
    }
}
