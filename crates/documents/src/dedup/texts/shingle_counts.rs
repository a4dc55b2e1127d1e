//! The number of sets that contain a shingle: never too low, rarely too high.

use std::borrow::Cow;

use hamdex_simhash::SHINGLE_BITS;
use rayon::prelude::*;

use crate::dedup::resources::Report;
use crate::dedup::spill::Spilled;
use crate::error::Error;

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
            let some: Vec<Cow<'_, [u64]>> =
                some.par_iter().map(|&document| sets.get(document)).collect::<Result<_, _>>()?;
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
        self.parts.par_iter_mut().enumerate().for_each(|(number, part)| {
            let number = number as u64;
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
