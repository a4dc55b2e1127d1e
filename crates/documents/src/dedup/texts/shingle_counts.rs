//! The number of sets that contain a shingle: never too low, rarely too high.

use hamdex_simhash::SHINGLE_BITS;
use rayon::prelude::*;

use crate::dedup::resources::Report;
use crate::dedup::spill::Spilled;
use crate::error::Error;

/// Sets that a thread counts between two progress reports.
const REPORT_EVERY: usize = 256;

/// The minimum number of counters.
const MIN_COUNTERS: u64 = 1 << 10;

/// Bytes of a counter.
pub(crate) const COUNTER_BYTES: u64 = 2;

/// A table of counters, indexed by the leading bits of a shingle. Shingles with the same counter have the same count,
/// the sum of theirs.
pub(crate) struct ShingleCounts {
    counters: Vec<u16>,
    /// Number of low bits of a shingle that are not part of the index.
    shift: u32,
}

impl ShingleCounts {
    /// Returns the number of counters for that many shingles, as far as memory allows.
    pub(crate) fn counters(shingles: u64, max_bytes: u64) -> u64 {
        let most = (max_bytes / COUNTER_BYTES).max(MIN_COUNTERS);
        shingles.next_power_of_two().clamp(MIN_COUNTERS, 1 << most.ilog2().min(SHINGLE_BITS))
    }

    /// Counts the shingles of the sets of these documents, each once per set. Calls `report` with 0 now and then; its
    /// error ends the work.
    pub(crate) fn of(
        sets: &Spilled<u64>,
        documents: &[u32],
        max_bytes: u64,
        report: &Report<'_>,
    ) -> Result<Self, Error> {
        let shingles = documents.iter().map(|&document| sets.len(document) as u64).sum();
        let counters = Self::counters(shingles, max_bytes);
        let shift = SHINGLE_BITS - counters.ilog2();
        let mut table = vec![0u16; counters as usize];
        // Each thread has its own range of counters; its shingles are a contiguous slice of a sorted set.
        let parts = rayon::current_num_threads().next_power_of_two();
        let part_len = (table.len() / parts).max(1);
        table.par_chunks_mut(part_len).enumerate().try_for_each(|(part, counters)| {
            let first = part * part_len;
            let cell = |shingle: u64| (shingle >> shift) as usize;
            for (number, &document) in documents.iter().enumerate() {
                if number.is_multiple_of(REPORT_EVERY) {
                    report(0)?;
                }
                let set = sets.get(document)?;
                let start = set.partition_point(|&shingle| cell(shingle) < first);
                for &shingle in &set[start..] {
                    let Some(counter) = counters.get_mut(cell(shingle) - first) else { break };
                    *counter = counter.saturating_add(1);
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(Self { counters: table, shift })
    }

    /// Returns an upper bound of the number of sets that contain a shingle, or `u16::MAX`.
    #[inline]
    pub(crate) fn count(&self, shingle: u64) -> u16 {
        self.counters[(shingle >> self.shift) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::spill::SpillWriter;

    #[test]
    fn no_count_is_too_low() {
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
            for number in 0..120 {
                let holders =
                    (0..300u64).filter(|document| (document / 3..document / 3 + 20).contains(&number));
                assert!(u64::from(counts.count(shingle(number))) >= holders.count() as u64);
            }
        }
    }
}
