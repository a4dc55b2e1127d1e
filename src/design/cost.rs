//! What a design costs, estimated for uniformly spread fingerprints.

use crate::codec::Codec;
use crate::design::TableDesign;
use hamdex_fingerprint::Fingerprint;

/// What one Huffman-coded entry costs beyond the information bound: the entropy of h is 3.25 bits where
/// the bound leaves room for 1.443 less, and the code loses 0.04.
const HUFFMAN_OVERHEAD_BITS: f64 = 1.92;

/// Estimated costs of an index; see [`Design::cost`](crate::Design::cost).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes of the file per distinct fingerprint, all tables together, without ids.
    pub bytes_per_fingerprint: f64,
    /// Bytes of block keys held in memory per distinct fingerprint.
    pub key_bytes_per_fingerprint: f64,
    /// Blocks that a query at the design's distance has to look into: its reads when cold.
    pub blocks_per_query: f64,
    /// Stored fingerprints that agree with the query in some table's prefix up to its radius.
    pub candidates_per_query: f64,
}

/// The information bound: bits per fingerprint that no code for a set of `count` uniformly spread
/// fingerprints goes below, `width − log2 count + log2 e`.
pub(crate) fn information_bound_bits(width: u32, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // log2 C(2^w, n) / n, exact enough from n = 1 (w bits) on.
    let n = count as f64;
    let ln_factorial = if n < 2.0 { 0.0 } else { n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() };
    (f64::from(width) - ln_factorial / n * std::f64::consts::LOG2_E).max(0.0)
}

/// Bits of one entry among `count` uniformly spread ones, but for what a block costs by itself.
fn entry_bits(codec: Codec, width: u32, count: u64) -> f64 {
    let bound = information_bound_bits(width, count);
    match codec {
        Codec::Huffman => {
            let coded = bound + HUFFMAN_OVERHEAD_BITS;
            // Now and then an entry is raw, and a segment starts.
            let restart = f64::from(width) + f64::from(u16::BITS) - coded;
            coded + restart / codec.restart_interval() as f64
        }
        Codec::EliasFano => {
            // l low bits, a one, and the zeros of the buckets that the gap crosses.
            let log2_gap = f64::from(width) - (count.max(1) as f64).log2();
            let bits = |low_bits: u32| f64::from(low_bits + 1) + (log2_gap - f64::from(low_bits)).exp2();
            (0..=width - 8).map(bits).fold(f64::INFINITY, f64::min)
        }
    }
}

pub(super) fn estimate<F: Fingerprint>(
    tables: &[TableDesign<F>],
    count: u64,
    codec: Codec,
    block_bytes: u32,
) -> Cost {
    let per_table = TableCost::new(F::BITS, count, codec, block_bytes);
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

/// The ways to choose `chosen` of `bits`, of which there may be a part of one.
fn choose(bits: f64, chosen: u32) -> f64 {
    (0..chosen).map(|taken| (bits - f64::from(taken)).max(0.0) / f64::from(taken + 1)).product()
}

/// The costs that all tables of an index have in common.
pub(super) struct TableCost {
    bytes: f64,
    entries_per_block: f64,
    blocks: f64,
}

impl TableCost {
    pub(super) fn new(width: u32, count: u64, codec: Codec, block_bytes: u32) -> Self {
        let entry_bits = entry_bits(codec, width, count);
        let width = f64::from(width);
        let block_bits = f64::from(block_bytes) * 8.0;
        // Checksum and count, the first fingerprint raw, and on average half an entry left over.
        let entries_per_block = 1.0 + (block_bits - 64.0 - width - entry_bits / 2.0).max(0.0) / entry_bits;
        let bytes = (block_bits + width) / entries_per_block / 8.0;
        Self { bytes, entries_per_block, blocks: (count as f64 / entries_per_block).max(1.0) }
    }

    /// Blocks to look into and candidates to compare for one probe.
    pub(super) fn probe(&self, prefix_bits: u32, radius: u32, count: u64) -> (f64, f64) {
        let prefixes = |bits: f64| (0..=radius).map(|errors| choose(bits, errors)).sum::<f64>();
        let prefix_bits = f64::from(prefix_bits);
        let run = count as f64 / prefix_bits.exp2();
        // Errors in bits that do not tell blocks apart stay inside a block, if it does not happen to
        // end there: the flips of all these bits together lead out of it a third of the time.
        let telling_bits = prefix_bits.min(self.blocks.log2() + 1.0 / 3.0);
        let blocks = prefixes(telling_bits) * (1.0 + run / self.entries_per_block);
        (blocks.min(self.blocks), (prefixes(prefix_bits) * run).min(count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_formula() {
        for (count, bits) in
            [(1_000_000, 45.51), (10_000_000, 42.19), (100_000_000, 38.87), (8_000_000_000, 32.55)]
        {
            assert!((information_bound_bits(64, count) - bits).abs() < 0.01, "{count}");
        }
        assert_eq!(information_bound_bits(64, 0), 0.0);
        assert_eq!(information_bound_bits(64, 1), 64.0);
    }

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
