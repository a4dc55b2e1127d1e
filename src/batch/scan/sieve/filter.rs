//! A set of keys with false positives: a blocked Bloom filter (Putze, Sanders and Singler, 2007), whose
//! blocks are words, so that a key takes one read.

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
