//! Every instruction set gives what the portable code gives.

use proptest::prelude::*;

use crate::arch::portable::{BYTES, Fields, LANES};
use crate::arch::x86_64::{Avx2, Avx512, run};
use crate::arch::{Instructions, Kernel, Portable};

/// The results of all operations for some input.
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
    long: &'a [u8; BYTES],
    hs: &'a [u8; LANES],
    places: &'a [u16; LANES],
}

impl Kernel for Everything<'_> {
    type Output = (
        u32,
        Result<u32, u32>,
        [Result<u32, u32>; 2],
        Vec<u16>,
        [u64; LANES],
        u32,
        u32,
        u64,
        usize,
        u32,
        (bool, [u64; LANES]),
    );

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let word = self.words[0];
        let mut places = [0; 64];
        instructions.places_of_ones(word, 1000, &mut places);
        (
            instructions.select(word, self.rank),
            instructions.select_zero(self.bytes, self.rank_in_bytes),
            instructions.select_zeros(self.bytes, [self.rank_in_bytes, self.rank]),
            places[..word.count_ones() as usize].to_vec(),
            instructions.join(self.words[3], self.places, self.fields),
            instructions.near_fields(self.fields_at_end, self.count, self.words[1], self.distance),
            instructions.near_values(self.words, self.words[1], self.distance),
            instructions.equal_bytes(self.long, self.rank as u8),
            instructions.sum_of_bytes(self.suffixes),
            {
                let offsets = self.hs.map(|h| u64::from(h) % (BYTES as u64 - 7));
                // Of some words all, of others most bits.
                let masks = self.words.map(|word| word & word >> 7 & word << 9);
                instructions.have_bits(self.long, &offsets, &masks)
            },
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
        bits in 1..=Fields::MAX_BITS,
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
        bits in 1..=Fields::MAX_BITS,
        start in 0usize..200,
    ) {
        let join = |fields| Portable.join(0, &[0, 1, 2, 3, 4, 5, 6, 7], fields);
        let next = start + LANES * bits as usize;
        let expected = join(Fields::new(&bytes, next, bits));
        prop_assert_eq!(join(Fields::new(&bytes, start, bits).skip_lanes()), expected);
    }
}
