//! Searchers: the nearest of many with limits, ids of matches, searchers that own their index, memory that is given
//! back, and queries that are stopped.

use std::sync::Arc;

use crate::common::allocations::held_by_this_thread;
use crate::common::{
    Numbers, Reports, Shape, brute_force, built, built_with_ids, data, id_lists, index, pairs, queries,
};
use hamdex::{
    BuildOptions, Codec, Design, Fingerprint, Index, Match, Phase, Progress, ReadErrorKind, Searcher,
};
use proptest::prelude::*;

fn nearest_is_brute_force<F: Fingerprint>(codec: Codec, design: &str, shape: Shape) {
    let stored = data::<F>(shape, 3000, 8);
    let options = BuildOptions::new().codec(codec).design(Design::named(design, 3).unwrap()).block_bytes(512);
    let index = index::<F>(built(&stored, options));
    let mut searcher = index.searcher();
    for query in queries(&stored, 8, 9) {
        for count in [0, 1, 3, 50, stored.len() + 1] {
            for distance in [0, 2, 3, 5, 9, 30, F::BITS] {
                let mut expected = brute_force(&stored, query, distance);
                expected.truncate(count);
                let found = pairs(searcher.nearest_within(query, count, distance).unwrap());
                assert_eq!(found, expected, "{codec}, {design}, {shape:?}, {count} within {distance}");
            }
            let mut expected = brute_force(&stored, query, F::BITS);
            expected.truncate(count);
            assert_eq!(pairs(searcher.nearest(query, count).unwrap()), expected);
        }
    }
}

#[test]
fn the_nearest_within_a_distance_are_those_of_brute_force() {
    for codec in Codec::ALL {
        for shape in [Shape::Uniform, Shape::Mixed, Shape::One, Shape::Empty] {
            nearest_is_brute_force::<u64>(codec, "halves", shape);
            nearest_is_brute_force::<u128>(codec, "cover-6", shape);
        }
        nearest_is_brute_force::<u64>(codec, "single", Shape::Clustered);
    }
}

/// With more blocks than one wave, plans precede the walk.
#[test]
fn the_nearest_of_many_blocks_are_those_of_brute_force() {
    let stored = data::<u64>(Shape::Uniform, 600_000, 10);
    let options = BuildOptions::new().design(Design::named("halves", 3).unwrap()).block_bytes(512);
    let index = index::<u64>(built(&stored, options));
    assert!(index.stats().tables[0].blocks > 4096);
    let mut searcher = index.searcher();
    let mut numbers = Numbers(11);
    for flips in [0, 4, 6, 30] {
        let centre = stored[numbers.below(1000) as usize];
        let query = numbers.near(centre, flips);
        for (count, distance) in [(1, 64), (5, 64), (3, 4), (2, 7), (40, 13)] {
            let mut expected = brute_force(&stored, query, distance);
            expected.truncate(count);
            assert_eq!(pairs(searcher.nearest_within(query, count, distance).unwrap()), expected);
        }
    }
}

#[test]
fn a_searcher_can_own_its_index() {
    let stored = data::<u64>(Shape::Mixed, 2000, 12);
    let shared = Arc::new(index::<u64>(built(&stored, BuildOptions::new())));
    let mut searchers: Vec<Searcher<Arc<_>>> = (0..2).map(|_| Searcher::new(Arc::clone(&shared))).collect();
    let mut boxed = Searcher::new(Box::new(index::<u64>(built(&stored, BuildOptions::new()))));
    drop(shared);
    for query in queries(&stored, 10, 13) {
        let expected = brute_force(&stored, query, 3);
        for searcher in &mut searchers {
            assert_eq!(pairs(searcher.within(query, 3).unwrap()), expected);
        }
        assert_eq!(pairs(boxed.within(query, 3).unwrap()), expected);
        assert_eq!(boxed.index().contains(query).unwrap(), expected.first().is_some_and(|m| m.0 == 0));
    }
}

/// The ids of these matches, one after the other.
fn each<F: Fingerprint>(index: &Index<F>, matches: &[Match<F>]) -> Vec<Vec<u64>> {
    matches.iter().map(|found| index.ids(found.fingerprint).unwrap().collect()).collect()
}

/// The ids of these matches, together.
fn together<F: Fingerprint>(index: &Index<F>, matches: &[Match<F>]) -> Vec<Vec<u64>> {
    index.ids_of(matches).unwrap().into_iter().map(Iterator::collect).collect()
}

#[test]
fn ids_of_matches_are_those_of_their_fingerprints() {
    for codec in Codec::ALL {
        for (design, repeats) in [("single", 1), ("halves", 3), ("cover-8", 2)] {
            let stored: Vec<(u64, u64)> = (0..)
                .zip(data::<u64>(Shape::Mixed, 4000, 14))
                .map(|(id, x)| (x / repeats * repeats, id))
                .collect();
            let options = BuildOptions::new().codec(codec).design(Design::named(design, 3).unwrap());
            let index = index::<u64>(built_with_ids(&stored, options.block_bytes(512)));
            let lists = id_lists(&stored);
            let mut searcher = index.searcher();
            let mut other = index.searcher();
            let fingerprints: Vec<u64> = stored.iter().map(|&(x, _)| x).collect();
            for query in queries(&fingerprints, 20, 15) {
                for distance in [3, 12] {
                    let found = searcher.within(query, distance).unwrap();
                    let expected: Vec<_> = found.iter().map(|m| lists[&m.fingerprint].clone()).collect();
                    assert_eq!(together(&index, found), expected);
                    let ids = other.ids_of(found).unwrap().into_iter().map(Iterator::collect::<Vec<_>>);
                    assert_eq!(ids.collect::<Vec<_>>(), expected);
                }
                let nearest = searcher.nearest(query, 300).unwrap();
                assert_eq!(together(&index, nearest), each(&index, nearest));
            }
            // Matches made without the file, some of them not stored in it.
            let unknown: Vec<_> = (0..700).map(|i| Match::new(0, fingerprints[i] ^ (i as u64 % 2))).collect();
            assert_eq!(together(&index, &unknown), each(&index, &unknown));
        }
    }
}

/// A match of one file knows a place in that file, and no other is taken for it.
#[test]
fn matches_of_another_file_are_looked_up() {
    let ids = |offset: u64| (0..3000u64).map(move |i| (i * 0x0123_4567_89ab, i + offset)).collect::<Vec<_>>();
    let options = || BuildOptions::new().design(Design::named("single", 3).unwrap()).block_bytes(512);
    let one = index::<u64>(built_with_ids(&ids(0), options()));
    let two = index::<u64>(built_with_ids(&ids(0)[1..], options()));
    let mut searcher = one.searcher();
    for query in (0..3000).step_by(70).map(|i| i * 0x0123_4567_89ab) {
        let found = searcher.within(query, 5).unwrap();
        assert_eq!(together(&one, found), each(&one, found));
        assert_eq!(together(&two, found), each(&two, found));
    }
    let plain = index::<u64>(built(&[1u64, 2], BuildOptions::new()));
    assert_eq!(together(&plain, searcher.within(0, 3).unwrap())[0], Vec::<u64>::new());
}

#[test]
fn matches_are_compared_by_what_they_are_and_not_by_where() {
    let index = index::<u64>(built(&[5u64, 9], BuildOptions::new()));
    let found = index.searcher().within(5, 0).unwrap()[0];
    assert_eq!(found, Match::new(5, 5));
    assert!(found < Match::new(5, 4) && Match::new(4, 4) < found);
}

/// A query that reads many blocks can be stopped, and one of few reports nothing.
#[test]
fn long_queries_report_and_stop() {
    let stored = data::<u64>(Shape::Uniform, 300_000, 16);
    let options = BuildOptions::new().design(Design::named("halves", 3).unwrap()).block_bytes(512);
    let index = index::<u64>(built(&stored, options));
    let mut searcher = index.searcher();
    let seen = Reports::default();
    searcher.report_to(seen.stopping(usize::MAX));
    searcher.within(stored[0], 3).unwrap();
    assert!(seen.all().is_empty());
    let is_stopped = |error: hamdex::ReadError| matches!(error.kind(), ReadErrorKind::Stopped);
    type Query = fn(&mut Searcher<&Index<u64>>) -> Result<usize, hamdex::ReadError>;
    let mut check = |query: Query| {
        let seen = Reports::default();
        searcher.report_to(seen.stopping(usize::MAX));
        query(&mut searcher).unwrap();
        let all = seen.all();
        assert!(all.len() > 1, "{all:?}");
        let is_of_query = |one: &Progress| one.phase == Phase::Query && one.done <= one.total.unwrap();
        assert!(all.iter().all(is_of_query));
        for at in 0..all.len() {
            let seen = Reports::default();
            searcher.report_to(seen.stopping(at));
            assert!(is_stopped(query(&mut searcher).unwrap_err()));
            assert_eq!(seen.all(), all[..=at]);
            // What is cancelled stays so.
            assert!(is_stopped(query(&mut searcher).unwrap_err()));
            assert_eq!(seen.all().len(), at + 1);
        }
    };
    check(|searcher| searcher.within(7, 20).map(<[_]>::len));
    check(|searcher| searcher.nearest(7, 10).map(<[_]>::len));
    check(|searcher| searcher.nearest_within(7, 1000, 30).map(<[_]>::len));
}

#[test]
fn the_memory_of_a_huge_answer_is_given_back() {
    let stored = data::<u64>(Shape::Uniform, 300_000, 17);
    let options = BuildOptions::new().design(Design::named("halves", 3).unwrap()).block_bytes(512);
    let index = index::<u64>(built(&stored, options));
    let mut searcher = index.searcher();
    searcher.within(stored[0], 3).unwrap();
    let before = held_by_this_thread();
    assert_eq!(searcher.within(stored[0], 64).unwrap().len(), index.len() as usize);
    assert!(held_by_this_thread() - before > 5_000_000);
    searcher.within(stored[0], 3).unwrap();
    searcher.within(stored[0], 3).unwrap();
    let kept = held_by_this_thread() - before;
    assert!(kept < 1_500_000, "{kept} bytes");
    // With a limit it is not taken at all.
    searcher.nearest_within(stored[0], 10, 40).unwrap();
    assert!(held_by_this_thread() - before < 1_500_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_limit_of_any_set(
        stored in prop::collection::vec(0u64..5000, 0..300),
        query in 0u64..5000,
        count in 0usize..40,
        distance in 0u32..14,
    ) {
        let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
        let mut expected = brute_force(&stored, query, distance);
        expected.truncate(count);
        let mut searcher = index.searcher();
        prop_assert_eq!(pairs(searcher.nearest_within(query, count, distance).unwrap()), expected);
    }
}
