//! Helpers of the tests of sets: fingerprints of many kinds, and sets of them.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::BTreeSet;
use std::path::Path;

use hamdex::{BuildOptions, Fingerprint, FingerprintSet};
use hamdex_shards::{Layout, Shards, ShardsBuilder, ShardsSummary};

/// A fingerprint and its id.
pub type Pushed<F> = (F, u64);

/// A step of SplitMix64.
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Builds a set for a distance.
pub fn build<F: Fingerprint>(
    path: &Path,
    layout: Layout,
    shards: usize,
    distance: u32,
    pushed: &[Pushed<F>],
    ids: bool,
) -> ShardsSummary {
    let options = BuildOptions::new().distance(distance).ids(ids).threads(1);
    let mut builder = ShardsBuilder::create(path, layout, shards, options).unwrap();
    for &(fingerprint, id) in pushed {
        if ids {
            builder.push_with_id(fingerprint, id).unwrap();
        } else {
            builder.push(fingerprint).unwrap();
        }
    }
    builder.finish().unwrap()
}

/// All entries of a set, in order.
pub fn entries<F: Fingerprint>(set: &Shards<F>) -> Vec<(F, Vec<u64>)> {
    let entries = set.read_entries(F::ZERO).unwrap().map(Result::unwrap);
    entries.map(|(fingerprint, ids)| (fingerprint, ids.map(|stored| stored.id).collect())).collect()
}

/// The fingerprints, each once.
pub fn distinct<F: Fingerprint>(pushed: &[Pushed<F>]) -> BTreeSet<F> {
    pushed.iter().map(|&(fingerprint, _)| fingerprint).collect()
}

pub mod kinds {
    //! Uniform and skewed fingerprints.

    use hamdex::Fingerprint;

    use super::{Pushed, mix};

    /// The number of kinds.
    pub const COUNT: u64 = 6;

    /// Fingerprints of a kind, with ids of which some repeat.
    pub fn of<F: Fingerprint>(kind: u64, count: usize, seed: u64) -> Vec<Pushed<F>> {
        let wide = |number| u128::from(mix(number)) << 64 | u128::from(mix(!number));
        let one = |number: u64| -> F {
            let random = mix(seed ^ number << 20);
            match kind {
                // Uniform.
                0 => F::truncate(wide(random)),
                // Clusters: few bits from one of some centres.
                1 => (0..random % 7).fold(F::truncate(wide(seed ^ (random % 5))), |bits, flip| {
                    bits ^ F::bit(mix(random + flip) as u32 % F::BITS)
                }),
                // A run.
                2 => F::truncate(u128::from(seed) + u128::from(number)),
                // Equal leading bits, one group of bits all alike.
                3 => F::truncate(wide(random)) >> 20,
                // Near the ends, and many repeats.
                4 => {
                    let near_zero = F::truncate(u128::from(random % 9));
                    if random & 16 == 0 { near_zero } else { !near_zero }
                }
                // One fingerprint only.
                _ => F::truncate(wide(seed)),
            }
        };
        (0..count as u64).map(|number| (one(number), mix(number) % 64)).collect()
    }
}
