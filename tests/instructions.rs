//! The same answers, whatever instructions the processor has.
//!
//! In a separate test binary, since the limit of the instruction set applies to the whole process.

use hamdex::internals::{Level, limit_level};
use hamdex::{BuildOptions, Builder, Codec, Design, Index, Match};

const LEVELS: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

/// Uniform values, clusters, a run, and the extremes.
fn values() -> Vec<u64> {
    let mix = |i: u64| (i ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left((i % 61) as u32);
    let uniform = (0..6000).map(mix);
    let clustered = (0..4000).map(|i| mix(i / 40) ^ 1 << (i % 64) ^ 1 << (i * 7 % 64));
    let run = (0..1500).map(|i| mix(17) + i);
    uniform.chain(clustered).chain(run).chain([0, u64::MAX]).collect()
}

/// All queries of an index, at one level.
fn answers(index: &Index<u64>, queries: &[u64], level: Level) -> (Vec<Vec<Match<u64>>>, Vec<u64>) {
    limit_level(level);
    let mut searcher = index.searcher();
    let mut all = Vec::new();
    for &query in queries {
        for distance in [0, 2, 3, 5] {
            all.push(searcher.within(query, distance).unwrap().to_vec());
        }
        all.push(searcher.nearest(query, 3).unwrap().to_vec());
    }
    index.verify().unwrap();
    (all, index.fingerprints().collect::<Result<_, _>>().unwrap())
}

#[test]
fn every_level_gives_the_same() {
    let values = values();
    let queries: Vec<u64> = values.iter().step_by(151).map(|&x| x ^ 1 << (x % 64) ^ 0x100).collect();
    let directory = tempfile::tempdir().unwrap();
    for codec in Codec::ALL {
        for design in ["single", "halves", "cover-6", "paper-10"] {
            let path = directory.path().join(format!("{codec}-{design}.hamdex"));
            let options = BuildOptions::new().codec(codec).design(Design::named(design, 3).unwrap());
            let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
            values.iter().for_each(|&x| builder.push(x).unwrap());
            builder.finish().unwrap();
            let index = Index::<u64>::open(&path).unwrap();
            let [portable, rest @ ..] = LEVELS;
            let expected = answers(&index, &queries, portable);
            assert!(expected.0.iter().any(|found| found.len() > 1), "there is something to compare");
            for level in rest {
                assert!(answers(&index, &queries, level) == expected, "{codec} {design} {level:?}");
            }
        }
    }
}
