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

pub use level::{Level, limit_level};
pub(crate) use portable::Portable;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{BitGather, prefetch, run};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{BitGather, prefetch, run};

/// Bytes that a prefetch brings, on most machines.
pub(crate) const LINE_BYTES: usize = 64;

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

    /// Writes `base` plus the place of each set bit to the front of `places`, ascending. What lies
    /// behind them is left in no particular state.
    #[inline(always)]
    fn places_of_ones(self, word: u64, base: u16, places: &mut [u16; 64]) {
        portable::places_of_ones(word, base, places);
    }

    /// Eight fields in a row of a bit string, least significant bit first: see [`Fields`].
    ///
    /// # Panics
    /// When a field lies outside the bytes.
    #[inline(always)]
    fn fields(self, fields: Fields<'_>) -> [u64; LANES] {
        portable::fields(fields)
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
    /// up to bit `end` of `bytes`. Gives the last one, and whether each had its bit `h` from no other.
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
    fn equal_bytes(self, bytes: &[u8; 64], byte: u8) -> u64 {
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
    pub(crate) bytes: &'a [u8],
    /// Where the first field ends, in bits; at least 64.
    pub(crate) first_end: usize,
    /// Bits of a field: 1 to 56, so that the eight bytes that end with a field's last one have all of it.
    pub(crate) bits: u32,
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
        fields: Fields<'a>,
        count: usize,
        distance: u32,
        long: &'a [u8; 64],
        hs: &'a [u8; LANES],
    }

    impl Kernel for Everything<'_> {
        type Output = (u32, Vec<u16>, [u64; LANES], u32, u32, u64, (bool, [u64; LANES]));

        #[inline(always)]
        fn run(self, instructions: impl Instructions) -> Self::Output {
            let word = self.words[0];
            let mut places = [0; 64];
            instructions.places_of_ones(word, 1000, &mut places);
            (
                instructions.select(word, self.rank),
                places[..word.count_ones() as usize].to_vec(),
                instructions.fields(self.fields),
                instructions.near_fields(self.fields, self.count, self.words[1], self.distance),
                instructions.near_values(self.words, self.words[1], self.distance),
                instructions.equal_bytes(self.long, self.rank as u8),
                {
                    let mut values = [0; LANES];
                    let bytes = self.fields.bytes;
                    let end = bytes.len() * 8 - self.count;
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
            bytes in prop::collection::vec(any::<u8>(), 72..160),
            bits in 1u32..=56,
            start in 64usize..100,
            count in 0usize..=8,
            distance in 0u32..=64,
            long in prop::collection::vec(0u8..80, 64),
            hs in prop::collection::vec(prop_oneof![9 => 20u8..64, 1 => 0u8..64], LANES),
        ) {
            words[2] = words[1] ^ 5;
            let everything = || Everything {
                words: &words,
                rank,
                fields: Fields { bytes: &bytes, first_end: start + bits as usize, bits },
                count,
                distance,
                long: long.first_chunk().unwrap(),
                hs: hs.first_chunk().unwrap(),
            };
            let room = bytes.len() * 8 >= start + LANES * bits as usize;
            prop_assume!(room);
            let expected = everything().run(Portable);
            if let Some(instructions) = Avx2::detect() {
                prop_assert_eq!(&instructions.run(everything()), &expected);
            }
            if let Some(instructions) = Avx512::detect() {
                prop_assert_eq!(&instructions.run(everything()), &expected);
            }
            prop_assert_eq!(&run(everything()), &expected);
        }
    }
}
