//! Shared data of the benches: uniform fingerprints, and clustered ones as real crawls have them.
#![allow(dead_code, unreachable_pub, reason = "each bench uses a part of it")]

pub mod documents;

use hamdex::{BuildOptions, Builder, Fingerprint, Index};

/// A name, and a generator of fingerprints of that shape.
pub type Shape = (&'static str, fn(usize) -> Vec<u64>);

/// The shapes of data.
pub const SHAPES: [Shape; 2] = [("uniform", uniform), ("clustered", clustered)];

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of a counter.
pub fn number(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub fn uniform(count: usize) -> Vec<u64> {
    (0..count as u64).map(number).collect()
}

/// A tenth of the fingerprints are centres; the others lie within six bits of one.
pub fn clustered(count: usize) -> Vec<u64> {
    let centres = (count / 10).max(1) as u64;
    (0..count as u64)
        .map(|i| {
            let flips = number(i ^ 0xc1);
            (0..flips % 7).fold(number(i % centres), |x, flip| x ^ 1 << (flips >> (8 + 6 * flip) & 63))
        })
        .collect()
}

/// All within 40 bits of each other: one fingerprint with ten random flips in its low 40 bits.
pub fn crowded(count: usize) -> Vec<u64> {
    let flip = |i: u64, flip: u64| 1 << (number(i * 10 + flip) % 40);
    (0..count as u64).map(|i| (0..10).fold(0x0123_4567_89ab_cdef, |x, place| x ^ flip(i, place))).collect()
}

/// Consecutive numbers.
pub fn consecutive(count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| 0x1234_5678_0000_0000 + i).collect()
}

/// Returns distinct queries: half of them a few bits from stored fingerprints, half random.
pub fn queries(stored: &[u64], count: usize) -> Vec<u64> {
    (0..count as u64)
        .map(|i| {
            let chance = number(i ^ 0x5eed_0000_0000);
            if i % 2 == 0 {
                stored[chance as usize % stored.len()] ^ 1 << (chance >> 58) ^ 1 << (chance >> 52 & 63)
            } else {
                chance
            }
        })
        .collect()
}

/// The file name of [`index`] in its directory.
pub const FILE_NAME: &str = "bench.hamdex";

/// An index in a directory that lasts as long as it does.
pub fn index<F: Fingerprint>(stored: &[F], options: BuildOptions<F>) -> (tempfile::TempDir, Index<F>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(FILE_NAME);
    let mut builder = Builder::with_options(&path, options).expect("the options are right");
    stored.iter().try_for_each(|&x| builder.push(x)).expect("there is memory");
    builder.finish().expect("there is room");
    let index = Index::open(&path).expect("it has just been written");
    (directory, index)
}
