//! Prefix filtering: the few shingles of a set by which similar sets are found, the rarest first.
//!
//! All shingles have one global order. Two sets that share at least s shingles have a common one among the first
//! n − s + 1 of each, n being its size: otherwise one of them would have at most s − 1 shingles left to share. This is
//! prefix filtering (Chaudhuri, Ganti and Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE
//! 2006). The rarest shingles come first, so most prefixes have no shingle in common.
//!
//! With the threshold t, a set shares at least t·n shingles with any similar set, and at least 2t/(1 + t)·n with a
//! similar set that is as large or larger. The latter is more, so the smaller set of a pair needs a shorter prefix
//! (Xiao, Wang, Lin and Yu, "Efficient Similarity Joins for Near Duplicate Detection", WWW 2008).
//!
//! How rare a shingle is, [`ShingleCounts`] tells: never too low, rarely too high.

use std::borrow::Cow;

use hamdex::threads::{for_each, map_numbers};
use hamdex_simhash::SHINGLE_BITS;

use crate::dedup::classes::HashLists;
use crate::dedup::resources::Report;
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::Spilled;
use crate::error::Error;

/// The prefix of a set, without shingles that occur in no other set.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    /// In the global order.
    pub(crate) shingles: Vec<u64>,
    /// The length of the short prefix, for sets that are as large or larger; the whole prefix is for smaller ones.
    pub(crate) short: usize,
}

impl Prefix {
    /// Returns the prefix of a set. `order` is a buffer.
    pub(crate) fn of(
        set: &[u64],
        counts: &ShingleCounts,
        similarity: Similarity,
        order: &mut Vec<(u16, u64)>,
    ) -> Self {
        if set.is_empty() {
            return Self::default();
        }
        let long = set.len() + 1 - similarity.least_shared_with_any(set.len());
        let short = set.len() + 1 - similarity.least_shared(set.len(), set.len());
        order.clear();
        // All counts are fetched before the first is used, so that the cache misses overlap.
        order.extend(set.iter().map(|&shingle| (counts.count(shingle), shingle)));
        // Shingles of no other set come first, and lead to nothing.
        let alone = order.iter().filter(|(count, _)| *count <= 1).count();
        if alone >= long {
            return Self::default();
        }
        order.retain(|(count, _)| *count > 1);
        let left = long - alone;
        if left < order.len() {
            order.select_nth_unstable(left);
            order.truncate(left);
        }
        order.sort_unstable();
        let shingles = order.iter().map(|(_, shingle)| *shingle).collect();
        Self { shingles, short: short.saturating_sub(alone) }
    }
}

/// Inverted lists: classes by the shingles of their prefixes.
#[derive(Default)]
pub(crate) struct Postings {
    /// Shingles in short prefixes.
    short: HashLists,
    /// The other shingles of prefixes.
    long: HashLists,
}

impl Postings {
    pub(crate) fn add(&mut self, class: u32, prefix: &Prefix) -> Result<(), Error> {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let lists = if place < prefix.short { &mut self.short } else { &mut self.long };
            lists.add(shingle, class)?;
        }
        Ok(())
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.short.bytes() + self.long.bytes()
    }

    /// Calls `found` with every class that may be similar to a set with this prefix and size, possibly several times.
    pub(crate) fn candidates(&self, prefix: &Prefix, size: u32, sizes: &[u32], mut found: impl FnMut(u32)) {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let is_short = place < prefix.short;
            // The first common shingle is in the short prefix of the smaller set.
            for class in self.short.classes(shingle) {
                if is_short || sizes[class as usize] < size {
                    found(class);
                }
            }
            if is_short {
                for class in self.long.classes(shingle) {
                    if sizes[class as usize] > size {
                        found(class);
                    }
                }
            }
        }
    }
}

/// Sets that are counted between two progress reports, and at most their shingles.
const SETS_AT_ONCE: usize = 1 << 12;
const SHINGLES_AT_ONCE: usize = 1 << 20;

/// The least number of small counters, and the number of them per shingle where memory allows: one shingle in eight has
/// a counter that another one has, too.
const MIN_CELLS: u64 = 1 << 12;
const CELLS_PER_SHINGLE: u64 = 8;

/// Small counters per byte, and their greatest count.
const CELLS_PER_BYTE: u64 = 4;
const MANY: u8 = 3;

/// Small counters per large one: three quarters of the memory are small ones.
const CELLS_PER_COUNTER: u64 = 24;

/// Counters, by the value of a shingle. Shingles with the same counter have the same count, the sum of theirs. Most
/// shingles of a large corpus occur once, and what matters most is to know that. So counters of two bits tell apart
/// once, twice and more often; there are many of them. A smaller number of 16-bit counters holds the larger counts.
pub(crate) struct ShingleCounts {
    /// Counters of consecutive, equal ranges of shingles; a power of two, so that threads count side by side.
    parts: Vec<Part>,
    /// Bits of a shingle within its part.
    bits: u32,
}

struct Part {
    /// Small counters, [`CELLS_PER_BYTE`] in each.
    few: Vec<u8>,
    many: Vec<u16>,
}

impl ShingleCounts {
    /// Counts the shingles of the sets of these documents, each once per set. Calls `report` with 0 now and then; its
    /// error ends the work.
    pub(crate) fn of(
        sets: &Spilled<u64>,
        documents: &[u32],
        max_bytes: u64,
        report: &Report<'_>,
    ) -> Result<Self, Error> {
        let shingles: u64 = documents.iter().map(|&document| sets.len(document) as u64).sum();
        let most = (max_bytes / 4 * 3 * CELLS_PER_BYTE).max(MIN_CELLS);
        let mut counts = Self::new((shingles * CELLS_PER_SHINGLE).clamp(MIN_CELLS, most));
        let mut rest = documents;
        while !rest.is_empty() {
            report(0)?;
            let mut left = SHINGLES_AT_ONCE;
            let fit = rest.iter().take(SETS_AT_ONCE).take_while(|&&document| {
                let fits = left > 0;
                left = left.saturating_sub(sets.len(document));
                fits
            });
            let (some, others) = rest.split_at(fit.count());
            rest = others;
            let some = map_numbers(some.len(), || (), |(), number| sets.get(some[number]))?;
            counts.add(&some);
        }
        Ok(counts)
    }

    fn new(cells: u64) -> Self {
        let parts = rayon::current_num_threads().next_power_of_two();
        let cells = cells.div_ceil(parts as u64);
        let part = || Part {
            few: vec![0; cells.div_ceil(CELLS_PER_BYTE) as usize],
            many: vec![0; cells.div_ceil(CELLS_PER_COUNTER) as usize],
        };
        Self { parts: (0..parts).map(|_| part()).collect(), bits: SHINGLE_BITS - parts.ilog2() }
    }

    /// Adds ascending sets. Each part takes its stretch of each.
    fn add(&mut self, sets: &[Cow<'_, [u64]>]) {
        let bits = self.bits;
        for_each((0u64..).zip(&mut self.parts).collect(), |(number, part)| {
            let start = number << bits;
            for set in sets {
                let first = set.partition_point(|&shingle| shingle < start);
                for &shingle in &set[first..] {
                    if shingle >> bits != number {
                        break;
                    }
                    part.add(shingle - start, bits);
                }
            }
        });
    }

    /// Returns an upper bound of the number of sets that contain a shingle, or `u16::MAX`.
    #[inline]
    pub(crate) fn count(&self, shingle: u64) -> u16 {
        self.parts[(shingle >> self.bits) as usize].count(shingle & ((1 << self.bits) - 1), self.bits)
    }
}

impl Part {
    /// Counts a shingle, by its value within the part.
    fn add(&mut self, value: u64, bits: u32) {
        let (cell, shift) = self.cell(value, bits);
        let few = self.few[cell] >> shift & MANY;
        if few < MANY {
            self.few[cell] += 1 << shift;
        }
        let counter = scaled(value, bits, self.many.len());
        self.many[counter] = self.many[counter].saturating_add(1);
    }

    #[inline]
    fn count(&self, value: u64, bits: u32) -> u16 {
        let (cell, shift) = self.cell(value, bits);
        let few = self.few[cell] >> shift & MANY;
        // The large counter counts these shingles as well.
        if few < MANY { few.into() } else { self.many[scaled(value, bits, self.many.len())] }
    }

    /// Returns the byte of a small counter, and its place in it.
    #[inline]
    fn cell(&self, value: u64, bits: u32) -> (usize, u32) {
        let cells = self.few.len() * CELLS_PER_BYTE as usize;
        let cell = scaled(value, bits, cells);
        (cell / CELLS_PER_BYTE as usize, (cell % CELLS_PER_BYTE as usize * 2) as u32)
    }
}

/// Scales a number of `bits` bits to one below `count`.
#[inline]
fn scaled(value: u64, bits: u32, count: usize) -> usize {
    ((u128::from(value) * count as u128) >> bits) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::spill::SpillWriter;

    #[test]
    fn no_count_is_too_low_and_few_are_too_high() {
        let directory = tempfile::tempdir().unwrap();
        let mut shelf = SpillWriter::new(directory.path(), 4096);
        let shingle = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHINGLE_BITS);
        for document in 0..300u64 {
            let mut set: Vec<u64> = (0..20).map(|place| shingle(document / 3 + place)).collect();
            set.sort_unstable();
            shelf.push(&set).unwrap();
        }
        let sets = shelf.finish().unwrap();
        let documents: Vec<u32> = (0..300).collect();
        for max_bytes in [0, 1 << 30] {
            let counts = ShingleCounts::of(&sets, &documents, max_bytes, &|_| Ok(())).unwrap();
            let mut exact = 0;
            for number in 0..120 {
                let holders =
                    (0..300u64).filter(|document| (document / 3..document / 3 + 20).contains(&number));
                let (count, holders) = (counts.count(shingle(number)), holders.count());
                assert!(usize::from(count) >= holders);
                exact += usize::from(usize::from(count) == holders);
            }
            assert!(exact > 60, "{exact} counts of 120");
        }
    }
}
