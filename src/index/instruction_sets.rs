//! The whole of a query, by each instruction set in turn.

use crate::arch::{INSTRUCTION_SETS, at_most};
use crate::{BuildOptions, Builder, Codec, Design, Fingerprint, Index};

/// SplitMix64 of a counter, in both halves.
fn number<F: Fingerprint>(counter: u64) -> F {
    let word = |counter: u64| {
        let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    F::truncate(u128::from(word(!counter)) << 64 | u128::from(word(counter)))
}

/// Some far from all others, some in clusters, some in a row.
fn stored<F: Fingerprint>() -> Vec<F> {
    let near = |i: u64| number::<F>(i % 9) ^ F::bit((i % 61) as u32) ^ F::bit((i * 7 % 59) as u32);
    let mut stored: Vec<F> = (0..3000)
        .map(|i| match i % 3 {
            0 => number(i),
            1 => near(i),
            _ => F::truncate(u128::from(i)),
        })
        .collect();
    stored.sort_unstable();
    stored.dedup();
    stored
}

fn every_set_finds_the_same<F: Fingerprint>(codec: Codec) {
    let stored = stored::<F>();
    let queries: Vec<F> =
        stored.iter().step_by(101).zip(0u32..).map(|(&x, i)| x ^ F::bit(i % F::BITS)).collect();
    for (name, block_bytes) in [("single", 512), ("halves", 1024), ("cover-6", 512)] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("index.hamdex");
        let design = Design::named(name, 3).expect("a design of that name");
        let options = BuildOptions::new().codec(codec).design(design).block_bytes(block_bytes);
        let mut builder = Builder::with_options(&path, options).expect("right options");
        stored.iter().try_for_each(|&x| builder.push(x)).expect("room");
        builder.finish().expect("room");
        let index = Index::<F>::open(&path).expect("a whole file");
        for set in INSTRUCTION_SETS {
            at_most(set, || {
                let mut searcher = index.searcher();
                for (&query, distance) in queries.iter().zip([0, 1, 3, 3, 5].into_iter().cycle()) {
                    let mut expected: Vec<(u32, F)> = stored
                        .iter()
                        .map(|&x| (x.distance(query), x))
                        .filter(|&(found, _)| found <= distance)
                        .collect();
                    expected.sort_unstable();
                    let found = searcher.within(query, distance).expect("a whole file");
                    let found: Vec<(u32, F)> = found.iter().map(|m| (m.distance, m.fingerprint)).collect();
                    assert_eq!(found, expected, "{codec}, {name}, {set:?}, {query:?}, {distance}");
                    let nearest = searcher.nearest(query, 1).expect("a whole file")[0].distance;
                    assert!(expected.first().is_none_or(|&(least, _)| least == nearest));
                }
            });
        }
    }
}

#[test]
fn every_instruction_set_finds_the_same_in_a_file() {
    for codec in Codec::ALL {
        every_set_finds_the_same::<u64>(codec);
        every_set_finds_the_same::<u128>(codec);
    }
}
