//! Everything that depends on the instruction set, behind one portable face.
//!
//! Code that gains from wider instructions is a [`Kernel`]: written once, over the operations of
//! [`Instructions`], and compiled once for each instruction set. [`run`] takes the best that this
//! processor has.
//!
//! Architecture invariant: no other module names an instruction set, and nothing here changes a
//! result: a path taken on one machine gives what the portable path gives on any other.

mod level;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::ops::Range;

pub use level::{Level, limit_level};
pub(crate) use portable::Portable;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{BitGather, prefetch, run};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{BitGather, prefetch, run};

/// Bytes that a prefetch brings, on most machines.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for all cache lines of a range of bytes that begin with a line.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], range: Range<usize>) {
    let first = range.start / LINE_BYTES * LINE_BYTES;
    for at in (first..range.end).step_by(LINE_BYTES) {
        prefetch(bytes, at);
    }
}

/// Values that [`Instructions`] take at a time.
pub(crate) const LANES: usize = 8;

/// What instruction sets differ in. Every implementation gives what [`Portable`] gives.
pub(crate) trait Instructions: Copy {
    /// The place, from the least significant bit, of the set bit of that rank; 64 if there are not so
    /// many.
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        portable::select(word, rank)
    }

    /// The place of the clear bit of that rank in 64 bytes, least significant bit first; how many clear
    /// bits there are, if not so many.
    #[inline(always)]
    fn select_zero(self, bytes: &[u8; 64], rank: u32) -> Result<u32, u32> {
        portable::select_zero(self, bytes, rank)
    }

    /// Writes `base` plus the place of each set bit to the front of `places`, ascending. What lies
    /// behind them is left in no particular state.
    #[inline(always)]
    fn places_of_ones(self, word: u64, base: u16, places: &mut [u16; 64]) {
        portable::places_of_ones(word, base, places);
    }

    /// Eight values: of each the low bits are a field, of eight in a row (see [`Fields`]), and the others
    /// the number `first` plus its place, less the number of places before it in `places`; all modulo 2^64.
    ///
    /// # Panics
    /// When a field lies outside the bytes.
    #[inline(always)]
    fn join(self, first: u64, places: &[u16; LANES], fields: Fields<'_>) -> [u64; LANES] {
        portable::join(first, places, fields)
    }

    /// Which of the first `count` of eight fields in a row differ from `value` in at most `distance`
    /// bits: one bit for each field, that of the first lowest.
    ///
    /// # Panics
    /// When a field, of the first `count`, lies outside the bytes.
    #[inline(always)]
    fn near_fields(self, fields: Fields<'_>, count: usize, value: u64, distance: u32) -> u32 {
        portable::near_fields(fields, count, value, distance)
    }

    /// Writes eight fingerprints, each told by the position `hs` of the first bit in which it differs from
    /// the one before (the first of them from `before`), and by the bits behind it: its suffix. The
    /// suffixes are bit strings, most significant bit first, that lie one before the other, the first one
    /// up to bit `end` of `bytes`. Tells whether each had its bit `h` from no other.
    /// `hs` are below 64, and the suffixes lie inside `bytes`.
    #[inline(always)]
    fn follow(
        self,
        bytes: &[u8],
        end: usize,
        hs: &[u8; LANES],
        before: u64,
        values: &mut [u64; LANES],
    ) -> bool {
        portable::follow(bytes, end, hs, before, values)
    }

    /// Which bytes are equal to `byte`: one bit for each, that of the first lowest.
    #[inline(always)]
    fn equal_bytes(self, bytes: &[u8; 128], byte: u8) -> u128 {
        portable::equal_bytes(bytes, byte)
    }

    /// Which of eight values differ from `value` in at most `distance` bits: one bit for each, that of
    /// the first lowest.
    #[inline(always)]
    fn near_values(self, values: &[u64; LANES], value: u64, distance: u32) -> u32 {
        portable::near_values(values, value, distance)
    }
}

/// Fields of equal size in a row of a bit string, least significant bit first: bit i of the string is
/// bit i mod 8 of byte i / 8, and the first bit of a field is its lowest.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// The bytes from the one on in which the first field starts.
    bytes: &'a [u8],
    /// Where it starts there.
    phase: u32,
    /// Bits of a field.
    bits: u32,
}

impl<'a> Fields<'a> {
    /// The most bits of a field: so few that the eight bytes from its first on have all of it.
    pub(crate) const MOST_BITS: u32 = 56;

    /// Fields of 1 to [`Self::MOST_BITS`] bits, the first of which starts at bit `start` of `bytes`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], start: usize, bits: u32) -> Self {
        debug_assert!((1..=Self::MOST_BITS).contains(&bits));
        Self { bytes: &bytes[start / 8..], phase: start as u32 % 8, bits }
    }

    /// Those after the first [`LANES`], if any are.
    #[inline(always)]
    pub(crate) fn skip_lanes(self) -> Self {
        // Eight fields of so many bits are as many bytes.
        const _: () = assert!(LANES == 8);
        Self { bytes: self.bytes.get(self.bits as usize..).unwrap_or_default(), ..self }
    }
}

/// Something to be done with the best instructions there are.
///
/// `run`, and what it calls in its loops, should be `#[inline(always)]`: only what becomes part of the
/// function for an instruction set is compiled for it.
pub(crate) trait Kernel {
    type Output;

    fn run(self, instructions: impl Instructions) -> Self::Output;
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use proptest::prelude::*;

    use super::x86_64::{Avx2, Avx512};
    use super::*;

    /// What all operations give for some input.
    struct Everything<'a> {
        words: &'a [u64; LANES],
        rank: u32,
        bytes: &'a [u8; 64],
        rank_in_bytes: u32,
        suffixes: &'a [u8],
        suffixes_end: usize,
        fields: Fields<'a>,
        /// The first `count` of them, and no byte more.
        fields_at_end: Fields<'a>,
        count: usize,
        distance: u32,
        long: &'a [u8; 128],
        hs: &'a [u8; LANES],
        places: &'a [u16; LANES],
    }

    impl Kernel for Everything<'_> {
        type Output = (u32, Result<u32, u32>, Vec<u16>, [u64; LANES], u32, u32, u128, (bool, [u64; LANES]));

        #[inline(always)]
        fn run(self, instructions: impl Instructions) -> Self::Output {
            let word = self.words[0];
            let mut places = [0; 64];
            instructions.places_of_ones(word, 1000, &mut places);
            (
                instructions.select(word, self.rank),
                instructions.select_zero(self.bytes, self.rank_in_bytes),
                places[..word.count_ones() as usize].to_vec(),
                instructions.join(self.words[3], self.places, self.fields),
                instructions.near_fields(self.fields_at_end, self.count, self.words[1], self.distance),
                instructions.near_values(self.words, self.words[1], self.distance),
                instructions.equal_bytes(self.long, self.rank as u8),
                {
                    let mut values = [0; LANES];
                    let (bytes, end) = (self.suffixes, self.suffixes_end);
                    let is_new = instructions.follow(bytes, end, self.hs, word, &mut values);
                    (is_new, values)
                },
            )
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Every implementation gives what the portable one gives.
        #[test]
        fn all_instruction_sets_agree(
            mut words: [u64; LANES],
            rank in 0u32..70,
            rank_in_bytes in 0u32..400,
            mut bytes in prop::collection::vec(any::<u8>(), 140),
            bits in 1..=Fields::MOST_BITS,
            start in 0usize..300,
            bytes_behind in 0usize..30,
            bits_between in 0usize..300,
            count in 0usize..=8,
            distance in 0u32..=64,
            long in prop::collection::vec(0u8..80, 128),
            places in prop::collection::vec(any::<u16>(), LANES),
            hs in prop::collection::vec(prop_oneof![9 => 20u8..64, 1 => 0u8..64], LANES),
        ) {
            words[2] = words[1] ^ 5;
            bytes.truncate((start + LANES * bits as usize).div_ceil(8) + bytes_behind);
            let suffix_bits: usize = hs.iter().map(|&h| 63 - usize::from(h)).sum();
            let suffixes = &long[..(suffix_bits.div_ceil(8) + bytes_behind * 2).min(128)];
            let everything = || Everything {
                words: &words,
                rank,
                bytes: long.first_chunk().unwrap(),
                rank_in_bytes,
                suffixes,
                suffixes_end: (suffix_bits + bits_between).min(suffixes.len() * 8),
                fields: Fields::new(&bytes, start, bits),
                fields_at_end: Fields::new(&bytes[..(start + count * bits as usize).div_ceil(8)], start, bits),
                count,
                distance,
                long: long.first_chunk().unwrap(),
                hs: hs.first_chunk().unwrap(),
                places: places.first_chunk().unwrap(),
            };
            let expected = everything().run(Portable);
            if let Some(instructions) = Avx2::detect() {
                prop_assert_eq!(&instructions.run(everything()), &expected);
            }
            if let Some(instructions) = Avx512::detect() {
                prop_assert_eq!(&instructions.run(everything()), &expected);
            }
            prop_assert_eq!(&run(everything()), &expected);
        }

        #[test]
        fn the_next_lanes_are_the_next_fields(
            bytes in prop::collection::vec(any::<u8>(), 150),
            bits in 1..=Fields::MOST_BITS,
            start in 0usize..200,
        ) {
            let join = |fields| Portable.join(0, &[0, 1, 2, 3, 4, 5, 6, 7], fields);
            let next = start + LANES * bits as usize;
            let expected = join(Fields::new(&bytes, next, bits));
            prop_assert_eq!(join(Fields::new(&bytes, start, bits).skip_lanes()), expected);
        }
    }
}
