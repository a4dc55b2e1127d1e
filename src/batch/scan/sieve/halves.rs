//! The bits after a prefix, in two halves: of two fingerprints with few errors there, one half has fewer still.
//!
//! With at most e errors in both, the upper half has at most ⌊e/2⌋, or the lower one at most ⌈e/2⌉ − 1. So a query is
//! near something only if one of its halves matches within that number of errors: a blocked Bloom filter (Putze, Sanders
//! and Singler, 2007) of the halves, whose blocks are words, takes one read for that.

use crate::filter_bits::ways;
use hamdex_fingerprint::Fingerprint;

/// The halves of the bits after a prefix.
#[derive(Clone, Copy)]
pub(in crate::batch::scan) struct Halves {
    upper_bits: u32,
    lower_bits: u32,
}

impl Halves {
    pub(in crate::batch::scan) fn behind<F: Fingerprint>(prefix_bits: u32) -> Self {
        let bits = F::BITS - prefix_bits;
        let lower_bits = bits / 2;
        Self { upper_bits: bits - lower_bits, lower_bits }
    }

    #[inline(always)]
    pub(super) fn upper<F: Fingerprint>(self, value: F) -> u64 {
        low_bits(value >> self.lower_bits, self.upper_bits)
    }

    #[inline(always)]
    pub(super) fn lower<F: Fingerprint>(self, value: F) -> u64 {
        low_bits(value, self.lower_bits)
    }

    /// Calls `take` with each key of the upper half of a query that may have `errors` errors in both.
    #[inline(always)]
    pub(super) fn upper_keys<F: Fingerprint>(self, query: F, errors: u32, take: &mut impl FnMut(u64)) {
        flipped(self.upper(query), self.upper_bits, errors / 2, take);
    }

    /// Likewise of the lower half; there is none if no error is left to the upper one.
    #[inline(always)]
    pub(super) fn lower_keys<F: Fingerprint>(self, query: F, errors: u32, take: &mut impl FnMut(u64)) {
        if let Some(errors) = errors.div_ceil(2).checked_sub(1) {
            flipped(self.lower(query), self.lower_bits, errors, take);
        }
    }

    /// Returns whether two values share a key of the upper or of the lower half.
    pub(in crate::batch::scan) fn are_near<F: Fingerprint>(self, one: F, other: F, errors: u32) -> bool {
        let upper = (self.upper(one) ^ self.upper(other)).count_ones();
        let lower = (self.lower(one) ^ self.lower(other)).count_ones();
        upper <= errors / 2 || lower < errors.div_ceil(2)
    }

    /// Returns the number of keys per query, of the upper and of the lower half.
    pub(super) fn keys(self, errors: u32) -> (f64, f64) {
        let lower = errors.div_ceil(2).checked_sub(1);
        (ways(self.upper_bits, errors / 2), lower.map_or(0.0, |errors| ways(self.lower_bits, errors)))
    }
}

/// Returns the lowest bits, at most 64.
#[inline(always)]
fn low_bits<F: Fingerprint>(value: F, bits: u32) -> u64 {
    value.to_u128() as u64 & !u64::MAX.unbounded_shl(bits)
}

/// Calls `take` with a key and all variants of it with at most `errors` of its lowest `bits` bits flipped, each
/// once.
#[inline(always)]
fn flipped(key: u64, bits: u32, errors: u32, take: &mut impl FnMut(u64)) {
    take(key);
    if errors == 0 {
        return;
    }
    for bit in 0..bits {
        take(key ^ 1 << bit);
    }
    if errors > 1 {
        for bit in 0..bits {
            flipped_more(key ^ 1 << bit, bit + 1..bits, errors - 1, take);
        }
    }
}

/// Calls `take` with all variants of a key with 1 to `errors` of these bits flipped.
fn flipped_more(key: u64, bits: std::ops::Range<u32>, errors: u32, take: &mut impl FnMut(u64)) {
    for bit in bits.clone() {
        take(key ^ 1 << bit);
        if errors > 1 {
            flipped_more(key ^ 1 << bit, bit + 1..bits.end, errors - 1, take);
        }
    }
}

/// Bits for each key, at least: with two set for each key, about one other key in fifty is taken for one of them.
const BITS_PER_KEY: usize = 12;

/// The fewest words.
const MIN_WORDS: usize = 16;

/// Bits of a number below that of bits in a word.
const PLACE_BITS: u32 = u64::BITS.ilog2();

/// Spreads keys over the leading bits of the product (Fibonacci hashing): 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Keys that were added, and some that were not.
pub(super) struct Filter {
    words: Vec<u64>,
    /// Shift that leaves the leading bits of a hash: the number of a word.
    shift: u32,
}

impl Default for Filter {
    fn default() -> Self {
        let mut filter = Self { words: Vec::new(), shift: 0 };
        filter.clear(0);
        filter
    }
}

impl Filter {
    /// Removes all keys and makes room for that many.
    pub(super) fn clear(&mut self, keys: usize) {
        let words = (keys * BITS_PER_KEY / u64::BITS as usize).next_power_of_two().max(MIN_WORDS);
        self.words.clear();
        self.words.resize(words, 0);
        self.shift = u64::BITS - words.ilog2();
    }

    /// Returns the word of a key, and the places of its bits there, modulo the bits of a word.
    #[inline(always)]
    fn place(&self, key: u64) -> (usize, u64, u64) {
        let hash = key.wrapping_mul(SPREAD);
        // Memory bounds the number of words, so a hash has bits left for the places.
        let below = self.shift - PLACE_BITS;
        ((hash >> self.shift) as usize, hash >> below, hash >> (below - PLACE_BITS))
    }

    #[inline(always)]
    pub(super) fn add(&mut self, key: u64) {
        let (word, one, other) = self.place(key);
        self.words[word] |= 1 << (one % 64) | 1 << (other % 64);
    }

    /// Returns whether a key may have been added; never false for one that has been.
    #[inline(always)]
    pub(super) fn may_have(&self, key: u64) -> bool {
        let (word, one, other) = self.place(key);
        let word = self.words[word];
        (word >> (one % 64)) & (word >> (other % 64)) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flips_are_there_each_once() {
        for (bits, errors, count) in [(0, 0, 1), (0, 3, 1), (5, 0, 1), (5, 1, 6), (5, 3, 26), (7, 9, 128)] {
            let mut all = Vec::new();
            flipped(0b1010_0101, bits, errors, &mut |key| all.push(key));
            assert_eq!(all.len(), count);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
            assert!(
                all.iter()
                    .all(|key| (key ^ 0b1010_0101).count_ones() <= errors
                        && key >> bits == 0b1010_0101 >> bits)
            );
        }
    }

    /// Near values have a key in common.
    #[test]
    fn what_is_near_agrees_in_a_key() {
        for (prefix_bits, errors) in [(0, 0), (0, 1), (3, 2), (17, 3), (40, 4), (61, 3), (64, 2)] {
            let halves = Halves::behind::<u64>(prefix_bits);
            let query = 0x0123_4567_89ab_cdef_u64;
            let (mut upper, mut lower) = (Vec::new(), Vec::new());
            halves.upper_keys(query, errors, &mut |key| upper.push(key));
            halves.lower_keys(query, errors, &mut |key| lower.push(key));
            assert_eq!(halves.keys(errors), (upper.len() as f64, lower.len() as f64));
            let bits = 64 - prefix_bits;
            for i in 0..2000u64 {
                // At most so many flips behind the prefix.
                let flip = |x: u64, n: u32| {
                    let at = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(n * 11) >> 40;
                    if bits == 0 { x } else { x ^ 1 << (at % u64::from(bits)) }
                };
                let value = (0..errors).fold(query, flip);
                let is_met = upper.contains(&halves.upper(value)) || lower.contains(&halves.lower(value));
                assert!(is_met, "{prefix_bits}, {errors}, {value:016x}");
            }
        }
    }

    #[test]
    fn what_was_added_is_there_and_little_else() {
        let mut filter = Filter::default();
        for (count, step) in [(0, 1), (1, 1), (100, 1), (5000, 0x9_e377), (70_000, 3), (1000, 1 << 40)] {
            filter.clear(count as usize);
            (0..count).for_each(|i| filter.add(i * step));
            assert!((0..count).all(|i| filter.may_have(i * step)));
            let others =
                (0..20_000u64).filter(|i| filter.may_have(i.wrapping_mul(step) + 1_000_000_007)).count();
            assert!(others < 1000, "{others} of 20,000 among {count}");
        }
    }
}
