//! The cost of a design, estimated for uniformly spread fingerprints.

use crate::codec::Codec;
use crate::design::{Design, TableDesign};
use crate::filter_bits;
use crate::filter_bits::Geometry;
use hamdex_fingerprint::Fingerprint;

/// Estimated costs of an index; see [`Design::cost`](crate::Design::cost).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes of the file per distinct fingerprint, all tables together, without ids.
    pub bytes_per_fingerprint: f64,
    /// Bytes of block keys held in memory per distinct fingerprint.
    pub key_bytes_per_fingerprint: f64,
    /// Blocks that a query at the design's distance has to read: its reads when cold.
    pub blocks_per_query: f64,
    /// Stored fingerprints that agree with the query in some table's prefix up to its radius.
    pub candidates_per_query: f64,
}

impl<F: Fingerprint> Design<F> {
    /// Returns the cost of an index of this design over `count` uniformly spread fingerprints, by the cost
    /// model.
    #[must_use]
    pub fn cost(&self, count: u64, codec: Codec, block_bytes: u32) -> Cost {
        estimate(self.tables(), count, codec, block_bytes)
    }
}

fn estimate<F: Fingerprint>(tables: &[TableDesign<F>], count: u64, codec: Codec, block_bytes: u32) -> Cost {
    let per_table = TableCost::new::<F>(count, codec, block_bytes);
    let mut cost = Cost {
        bytes_per_fingerprint: per_table.bytes * tables.len() as f64,
        key_bytes_per_fingerprint: f64::from(F::BITS / 8) / per_table.entries_per_block * tables.len() as f64,
        blocks_per_query: 0.0,
        candidates_per_query: 0.0,
    };
    for table in tables {
        let (blocks, candidates) = per_table.probe(table.prefix_bits(), table.radius, count);
        cost.blocks_per_query += blocks;
        cost.candidates_per_query += candidates;
    }
    cost
}

/// Returns the number of ways to choose `chosen` of `bits`, which may be fractional.
fn choose(bits: f64, chosen: u32) -> f64 {
    (0..chosen).map(|taken| (bits - f64::from(taken)).max(0.0) / f64::from(taken + 1)).product()
}

/// Returns the number of ways to choose at most `most` of `bits`.
fn sum_of_ways(bits: f64, most: u32) -> f64 {
    (0..=most).map(|chosen| choose(bits, chosen)).sum()
}

/// To find out which block a value is in.
const LOCATE_NS: f64 = 15.0;

/// To look at a line of a filter, one of many that are prefetched.
const LINE_NS: f64 = 7.0;

/// To make a prefix and look for it in a line that is there.
const PATTERN_NS: f64 = 1.5;

/// To wait for a block that is not in the processor's caches.
const WAIT_NS: f64 = 140.0;

/// Bytes of a table that stay in the processor's caches.
const CACHED_BYTES: f64 = (48 << 20) as f64;

/// Share of the cost of a block that is left if it is scanned for one prefix, without errors.
const EXACT_SHARE: f64 = 0.6;

/// The costs that all tables of an index have in common.
pub(super) struct TableCost {
    bytes: f64,
    entries_per_block: f64,
    blocks: f64,
    /// To find a block, and to wait for it.
    reach_ns: f64,
    /// To scan a block for a query.
    block_ns: f64,
    /// To decode and compare a fingerprint that agrees with the query in the prefix.
    candidate_ns: f64,
    /// Share of the cost of a block to scan it for another prefix.
    again_share: f64,
}

/// The cost of a probe, estimated.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeCost {
    pub(super) ns: f64,
    /// Blocks to read.
    pub(super) blocks: f64,
}

impl TableCost {
    pub(super) fn new<F: Fingerprint>(count: u64, codec: Codec, block_bytes: u32) -> Self {
        let entries_per_block = codec.expected_entries::<F>(count, block_bytes);
        // A block, and its key.
        let bytes = f64::from(block_bytes + F::BITS / 8) / entries_per_block;
        let (block_ns, candidate_ns, again_share) = match codec {
            Codec::Huffman => (400.0, 10.0, EXACT_SHARE),
            // Another prefix is found without decoding.
            Codec::EliasFano => (120.0, 0.8, 0.0),
        };
        let blocks = (count as f64 / entries_per_block).max(1.0);
        let uncached = 1.0 - (CACHED_BYTES / (count as f64 * bytes)).min(1.0);
        let reach_ns = LOCATE_NS + WAIT_NS * uncached;
        Self { bytes, entries_per_block, blocks, reach_ns, block_ns, candidate_ns, again_share }
    }

    /// Returns the cost of a probe that reads every block that may hold a match.
    pub(super) fn direct<F: Fingerprint>(&self, reach: &TableDesign<F>, count: u64) -> ProbeCost {
        let (blocks, candidates) = self.probe(reach.prefix_bits(), reach.radius, count);
        ProbeCost { ns: blocks * (self.reach_ns + self.block_ns) + candidates * self.candidate_ns, blocks }
    }

    /// Returns the cost of a probe that asks a filter for each prefix with at most `errors` errors.
    pub(super) fn filtered(&self, filter: &Geometry, errors: u32, count: u64) -> ProbeCost {
        let possible = f64::from(filter.prefix_bits).exp2();
        let per_prefix = count as f64 / possible;
        let present = -(-per_prefix).exp_m1();
        let positive = present + (1.0 - present) * filter.false_positives((present * possible) as u64);
        let per_positive = 1.0 + per_prefix / self.entries_per_block;
        let AskingCost { lines_ns, patterns_ns } = asking(filter, errors);
        let scans = filter_bits::ways(filter.prefix_bits, errors) * positive * per_positive;
        let ns = lines_ns + patterns_ns + scans * self.exact_ns();
        // Prefixes that differ in bits which do not distinguish blocks share a block.
        let distinguishing_bits = self.distinguishing_bits(f64::from(filter.prefix_bits));
        let other_bits = f64::from(filter.prefix_bits) - distinguishing_bits;
        let is_read = |in_block: f64| 1.0 - (1.0 - positive).powf(in_block);
        let blocks: f64 = (0..=errors)
            .map(|placed| {
                choose(distinguishing_bits, placed) * is_read(sum_of_ways(other_bits, errors - placed))
            })
            .sum();
        ProbeCost { ns, blocks: (blocks * per_positive).min(self.blocks) }
    }

    /// Returns the number of prefixes, at least 1, whose blocks cost as much as those of a probe without a filter. A
    /// block that has several is read for each of them.
    pub(super) fn most_passed<F: Fingerprint>(&self, reach: &TableDesign<F>, count: u64) -> usize {
        let again_ns = self.reach_ns + self.again_share * self.block_ns;
        (self.direct(reach, count).ns / again_ns).max(1.0) as usize
    }

    /// Returns the time to read a block for a prefix without errors.
    fn exact_ns(&self) -> f64 {
        self.reach_ns + EXACT_SHARE * self.block_ns
    }

    /// Returns the blocks to read and the candidates to compare for one probe.
    pub(super) fn probe(&self, prefix_bits: u32, radius: u32, count: u64) -> (f64, f64) {
        let prefix_bits = f64::from(prefix_bits);
        let run = count as f64 / prefix_bits.exp2();
        let distinguishing_bits = self.distinguishing_bits(prefix_bits);
        let blocks = sum_of_ways(distinguishing_bits, radius) * (1.0 + run / self.entries_per_block);
        (blocks.min(self.blocks), (sum_of_ways(prefix_bits, radius) * run).min(count as f64))
    }

    /// Returns the number of leading bits of a prefix that distinguish blocks, on average. Errors in the others stay
    /// inside a block, if it does not happen to end there: the flips of all these bits together lead out of it a third
    /// of the time.
    fn distinguishing_bits(&self, prefix_bits: f64) -> f64 {
        prefix_bits.min(self.blocks.log2() + 1.0 / 3.0)
    }
}

/// The cost to ask a filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskingCost {
    /// The time to read its lines, in nanoseconds.
    pub(crate) lines_ns: f64,
    /// The time to make the prefixes and to test them, in nanoseconds.
    pub(crate) patterns_ns: f64,
}

/// Returns the cost to ask a filter for each prefix with at most `errors` errors.
pub(super) fn asking(filter: &Geometry, errors: u32) -> AskingCost {
    let line_bits = filter.lines.ilog2().min(filter.prefix_bits);
    AskingCost {
        lines_ns: filter_bits::ways(line_bits, errors) * LINE_NS,
        patterns_ns: filter_bits::ways(filter.prefix_bits, errors) * PATTERN_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tables_cost_more_bytes_and_fewer_candidates() {
        let halves =
            crate::Design::<u64>::named("halves", 3).unwrap().cost(100_000_000, Codec::Huffman, 4096);
        let cover = crate::Design::<u64>::named("cover-14", 3).unwrap();
        let cover = cover.cost(100_000_000, Codec::Huffman, 4096);
        assert!((halves.bytes_per_fingerprint - 10.3).abs() < 0.2, "{halves:?}");
        assert!(cover.bytes_per_fingerprint > 6.0 * halves.bytes_per_fingerprint);
        assert!(halves.blocks_per_query > cover.blocks_per_query);
    }
}
