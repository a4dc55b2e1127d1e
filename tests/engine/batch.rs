//! A batch gives what brute force gives, in the order of the queries: whatever the strategy, the design,
//! the distance, the data, the memory and the number of threads.

use crate::common::{
    Reports, SHAPES, Shape, brute_force, built, data, for_each_distance, index, is_damage, pairs, queries,
    with_a_damaged_block,
};
use hamdex::internals::BatchTuning;
use hamdex::{
    BatchOptions, BuildOptions, Checksums, Codec, Design, Fingerprint, Index, OpenOptions, Phase, ReadError,
    ReadErrorKind, Stopped, Strategy,
};
use proptest::prelude::*;

/// The strategies; queries handed to all threads, however few; scans that are left at once, or after a while; scans
/// that sift; probing with all blocks decoded, with none, and with the blocks that pay. The last three only probe.
fn strategies() -> Vec<BatchOptions> {
    let scan = BatchOptions::new().strategy(Strategy::Scan);
    let probe = BatchOptions::new().strategy(Strategy::Probe);
    let none = BatchTuning::default();
    vec![
        BatchOptions::new(),
        BatchOptions::new().tuning(BatchTuning { at_once_ns: Some(0.0), ..none }),
        scan.clone(),
        scan.clone().tuning(BatchTuning { most_meeting_ns: Some(0), ..none }),
        scan.clone().tuning(BatchTuning { most_meeting_ns: Some(1000), ..none }),
        scan.clone().tuning(BatchTuning { is_sieved: Some(true), ..none }),
        scan.tuning(BatchTuning { is_sieved: Some(true), most_meeting_ns: Some(1000), ..none }),
        probe.clone(),
        probe.clone().tuning(BatchTuning { dense_from: Some(1), ..none }),
        probe.tuning(BatchTuning { dense_from: Some(usize::MAX), ..none }),
    ]
}

fn in_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// The matches of each query, as the batch returns them; checks that they come in order.
fn asked<F: Fingerprint>(
    index: &Index<F>,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
) -> Vec<Vec<(u32, F)>> {
    let mut all = Vec::new();
    let outcome = index.batch_with(queries, distance, options, |place, matches| {
        assert_eq!(place, all.len());
        all.push(pairs(matches));
        Ok::<_, ReadError>(())
    });
    outcome.unwrap();
    all
}

fn check<F: Fingerprint>(index: &Index<F>, stored: &[F], queries: &[F], distance: u32, what: &str) {
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(stored, query, distance)).collect();
    for options in strategies() {
        for threads in [1, 2] {
            let found = in_threads(threads, || asked(index, queries, distance, &options));
            assert!(found == expected, "{what}, asked {distance}, {options:?}, {threads} threads");
        }
    }
}

/// Queries near the data and far from it, some of them several times.
fn queries_with_repeats<F: Fingerprint>(stored: &[F], count: usize) -> Vec<F> {
    let mut queries = queries(stored, count, 7);
    queries.extend_from_within(..queries.len() / 2);
    queries.extend([F::ZERO; 20]);
    queries
}

fn check_designs<F: Fingerprint>(distance: u32, shape: Shape, count: usize) {
    let stored = data::<F>(shape, count, u64::from(distance) + 1);
    let queries = queries_with_repeats(&stored, 8);
    let names = Design::<F>::names(distance);
    // The first and the last, and every third between: exactness.rs goes through all.
    for name in names.iter().step_by(3).chain(names.last()) {
        let design = Design::<F>::named(name, distance).unwrap();
        // Each codec with every other shape.
        let codec = Codec::ALL[(shape as usize + distance as usize) % 2];
        let options = BuildOptions::new().design(design).codec(codec).block_bytes(512);
        let index = index(built(&stored, options));
        let what = format!("{name} for {distance}, {codec}, {shape:?}");
        for asked in [distance, distance.saturating_sub(1), distance + 2] {
            check(&index, &stored, &queries, asked, &what);
        }
    }
}

for_each_distance! {
    a_batch_is_exact_at_64_bits: |distance| {
        for shape in SHAPES {
            check_designs::<u64>(distance, shape, 1200);
        }
    };

    a_batch_is_exact_at_128_bits: |distance| {
        for shape in [Shape::Empty, Shape::Extreme, Shape::Mixed] {
            check_designs::<u128>(distance, shape, 600);
        }
    };
}

#[test]
fn any_distance_may_be_asked() {
    let stored = data::<u64>(Shape::Mixed, 800, 5);
    let queries = queries_with_repeats(&stored, 8);
    for name in ["halves", "cover-8"] {
        let design = Design::named(name, 3).unwrap();
        let index = index(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
        for distance in [9, 17, 40, 64] {
            check(&index, &stored, &queries, distance, name);
        }
    }
}

/// Ascending blocks of many sizes, many queries to each, and the other way round.
#[test]
fn many_queries_meet_in_few_blocks_and_few_in_many() {
    for (stored, asked, codec) in [
        (40_000, 300, Codec::Huffman),
        (40_000, 300, Codec::EliasFano),
        (300, 40_000, Codec::Huffman),
        (20_000, 20_000, Codec::EliasFano),
    ] {
        let stored = data::<u64>(Shape::Uniform, stored, 3);
        let mut queries = queries(&stored, asked / 3, 4);
        queries.extend_from_within(..100);
        let design = Design::named("cover-6", 3).unwrap();
        let options = BuildOptions::new().design(design).codec(codec).block_bytes(512);
        let index = index(built(&stored, options));
        let mut searcher = index.searcher();
        let expected: Vec<_> = queries.iter().map(|&q| pairs(searcher.within(q, 3).unwrap())).collect();
        for options in strategies() {
            for threads in [1, 2] {
                let found = in_threads(threads, || self::asked(&index, &queries, 3, &options));
                assert!(found == expected, "{options:?}, {threads} threads");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_memory(
        seed: u64,
        shape in prop::sample::select(vec![Shape::Clustered, Shape::Runs, Shape::Mixed]),
        design in prop::sample::select(vec!["single", "halves", "cover-8", "paper-4"]),
        codec in prop::sample::select(Codec::ALL.to_vec()),
        memory in prop::sample::select(vec![0, 1, 4096, 20_000, 100_000, 1 << 20]),
        distance in 0u32..6,
    ) {
        let stored = data::<u64>(shape, 1000, seed);
        let queries = queries_with_repeats(&stored, 60);
        let design = Design::named(design, 3).unwrap();
        let index = index(built(&stored, BuildOptions::new().design(design).codec(codec).block_bytes(512)));
        let expected: Vec<_> = queries.iter().map(|&query| brute_force(&stored, query, distance)).collect();
        for options in strategies() {
            let options = options.memory(memory);
            let found = in_threads(2, || asked(&index, &queries, distance, &options));
            prop_assert!(found == expected, "{:?}", options);
        }
    }
}

/// With this little memory, a table takes the queries in three slices: hardly any has a match, so that the room for
/// matches takes all of them at once.
fn many_queries_in_little_memory_of<F: Fingerprint>() {
    let stored = data::<F>(Shape::Uniform, 1000, 5);
    let mut queries = data::<F>(Shape::Uniform, 10_000, 6);
    for (place, query) in queries.iter_mut().enumerate().skip(40).step_by(64) {
        *query = stored[place % stored.len()] ^ F::bit(place as u32 % F::BITS);
    }
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(&stored, query, 3)).collect();
    for design in ["halves", "cover-8"] {
        let design = Design::named(design, 3).unwrap();
        let index = index(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
        let options = BatchOptions::new().strategy(Strategy::Probe).memory(100_000);
        assert!(in_threads(2, || asked(&index, &queries, 3, &options)) == expected);
    }
}

#[test]
fn many_queries_in_little_memory() {
    many_queries_in_little_memory_of::<u64>();
    many_queries_in_little_memory_of::<u128>();
}

#[test]
fn no_queries_no_answers() {
    for stored in [Vec::new(), data::<u64>(Shape::Uniform, 100, 1)] {
        let index = index::<u64>(built(&stored, BuildOptions::new()));
        for options in strategies() {
            assert!(asked(&index, &[], 3, &options).is_empty());
        }
    }
}

#[test]
fn a_visitor_that_breaks_is_not_called_again() {
    let stored = data::<u64>(Shape::Mixed, 1000, 1);
    let queries = queries_with_repeats(&stored, 40);
    let index = index(built(&stored, BuildOptions::new()));
    for options in strategies() {
        for last in [0, 1, 50, queries.len() - 1] {
            let mut visited = 0;
            let outcome = index.batch_with(&queries, 3, &options, |place, _| {
                visited += 1;
                if place == last { Err(ReadError::from(Stopped)) } else { Ok(()) }
            });
            assert!(matches!(outcome.unwrap_err().kind(), ReadErrorKind::Stopped));
            assert_eq!(visited, last + 1);
        }
    }
}

/// Damage in a block that queries look into is an error, in every strategy; elsewhere a probe does not
/// see it.
#[test]
fn damage_is_an_error_never_a_missing_match() {
    let (file, keys) = with_a_damaged_block();
    let in_block = vec![keys[3]; 100];
    let elsewhere = vec![keys[8]; 100];
    let count = |index: &Index<u64>, queries: &[u64], options: &BatchOptions| {
        let mut visited = 0;
        index
            .batch_with(queries, 0, options, |_, matches| {
                visited += matches.len();
                Ok::<_, ReadError>(())
            })
            .map(|_| visited)
    };
    for checksums in [Checksums::FirstTouch, Checksums::Always] {
        for options in strategies() {
            let index: Index<u64> = OpenOptions::new().checksums(checksums).from_bytes(file.clone()).unwrap();
            for _ in 0..2 {
                let outcome = count(&index, &in_block, &options);
                assert!(is_damage(&outcome), "{outcome:?}, {options:?}");
            }
        }
        let index: Index<u64> = OpenOptions::new().checksums(checksums).from_bytes(file.clone()).unwrap();
        let strategies = strategies();
        for options in &strategies[strategies.len() - 3..] {
            assert_eq!(count(&index, &elsewhere, options).unwrap(), 100);
        }
    }
}

/// With a limit each query gets its nearest, whichever way it is answered.
#[test]
fn a_limit_leaves_the_nearest() {
    let stored = data::<u64>(Shape::Mixed, 4000, 23);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let queries = queries(&stored, 60, 24);
    for limit in [0, 1, 7] {
        let mut expected: Vec<_> = queries.iter().map(|&query| brute_force(&stored, query, 5)).collect();
        expected.iter_mut().for_each(|matches| matches.truncate(limit));
        for options in strategies() {
            assert_eq!(asked(&index, &queries, 5, &options.clone().limit(limit)), expected);
            assert_eq!(asked(&index, &queries[..9], 5, &options.limit(limit)), expected[..9]);
        }
    }
}

#[test]
fn very_many_matches_of_one_query_come_in_their_order() {
    let stored: Vec<u64> = (0..1 << 17).map(|i| 0x0123_4567_0000_0000 | i).collect();
    let index = index::<u64>(built(&stored, BuildOptions::new()));
    let mut queries = vec![u64::MAX; 40];
    queries[20] = stored[12_345];
    let options = BatchOptions::new().strategy(Strategy::Probe).threads(2);
    let found = asked(&index, &queries, 16, &options);
    assert_eq!(found[20].len(), stored.len() - 1);
    assert!(found[20] == brute_force(&stored, queries[20], 16));
    assert!(found.iter().enumerate().all(|(place, matches)| place == 20 || matches.is_empty()));
}

#[test]
fn progress_counts_the_queries() {
    let stored = data::<u64>(Shape::Mixed, 3000, 21);
    let index = index::<u64>(built(&stored, BuildOptions::new()));
    let queries = queries(&stored, 200, 22);
    for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
        let seen = Reports::default();
        let options = BatchOptions::new().strategy(strategy).threads(2).progress(seen.keep());
        let outcome = index.batch_with(&queries, 3, &options, |_, _| Ok::<_, ReadError>(()));
        outcome.unwrap();
        let (seen, total) = (seen.all(), queries.len() as u64);
        assert!(seen.iter().all(|report| report.phase == Phase::Batch && report.total == Some(total)));
        assert!(seen.is_sorted_by_key(|report| report.done));
        assert_eq!(seen.last().map(|report| report.done), Some(total));
    }
}
