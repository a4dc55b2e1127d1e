//! Estimate of the fingerprints per block, for uniformly spread ones.

use crate::codec::elias_fano;
use crate::codec::huffman;
use crate::codec::kind::Codec;
use hamdex_fingerprint::Fingerprint;

/// Bits of a Huffman-coded entry beyond the information bound: the entropy of h is 3.25 bits, 1.443 of which
/// the bound leaves out, and the code loses 0.04.
const HUFFMAN_OVERHEAD_BITS: f64 = 1.92;

/// Returns the information bound: bits per fingerprint that no code for a set of `count` uniformly spread
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

impl Codec {
    /// Returns the entries of a block, on average, among `count` uniformly spread fingerprints.
    pub(crate) fn expected_entries<F: Fingerprint>(self, count: u64, block_bytes: u32) -> f64 {
        let entry_bits = entry_bits::<F>(self, count);
        // The first coded entry starts after the header and the first fingerprint, which is raw.
        let front_bytes = match self {
            Self::Huffman => huffman::codes_at::<F>(),
            Self::EliasFano => elias_fano::uppers_at::<F>(),
        };
        let coded_bits = f64::from(block_bytes) * 8.0 - (front_bytes * 8) as f64;
        // On average half an entry is left over.
        1.0 + (coded_bits - entry_bits / 2.0).max(0.0) / entry_bits
    }
}

/// Returns the bits of one entry among `count` uniformly spread ones, without the overhead of the block.
fn entry_bits<F: Fingerprint>(codec: Codec, count: u64) -> f64 {
    let bound = information_bound_bits(F::BITS, count);
    match codec {
        Codec::Huffman => bound + HUFFMAN_OVERHEAD_BITS,
        Codec::EliasFano => {
            // l low bits, a one, and the zeros of the buckets that the gap crosses.
            let log2_gap = f64::from(F::BITS) - (count.max(1) as f64).log2();
            let bits = |low_bits: u32| f64::from(low_bits + 1) + (log2_gap - f64::from(low_bits)).exp2();
            (0..=elias_fano::max_low_bits::<F>()).map(bits).fold(f64::INFINITY, f64::min)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{BlockCodec, Layout, count_differences};

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

    /// The estimate against blocks as they are filled.
    #[test]
    fn blocks_hold_as_many_entries_as_estimated() {
        let mut state = 7u64;
        let mut values: Vec<u64> = (0..100_000)
            .map(|_| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
            })
            .collect();
        values.sort_unstable();
        let mut counts = vec![0; 64];
        count_differences(None, &values, &mut counts);
        for codec in Codec::ALL {
            for block_bytes in [512, 1024, 4096] {
                let layout = Layout { codec, block_bytes };
                let (writer, mut rest, mut blocks) =
                    (BlockCodec::from_counts(layout, &counts, None), values.as_slice(), 0);
                while !rest.is_empty() {
                    rest = &rest[writer.fill(rest)..];
                    blocks += 1;
                }
                let expected = codec.expected_entries::<u64>(values.len() as u64, block_bytes as u32);
                let found = values.len() as f64 / f64::from(blocks);
                assert!((found / expected - 1.0).abs() < 0.03, "{codec}, {block_bytes}: {found}, {expected}");
            }
        }
    }
}
