//! Several indexes queried as one give what brute force gives over all that they store: each fingerprint once, with
//! all indexes that it is in, and its ids united.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{Numbers, Reports, SHAPES, Shape, built, built_with_ids, data, index, queries};
use hamdex::internals::{Tuning, Way};
use hamdex::multi::{MemoryPart, MultiSearcher};
use hamdex::set::MatchIds;
use hamdex::{
    BatchOptions, BuildOptions, Builder, Codec, Design, Fingerprint, FingerprintSet, Index, Match,
    MultiIndex, Pair, ReadError, ReadErrorKind, SetSearcher, Stopped, Strategy, VerifyOptions,
};
use proptest::prelude::*;

/// The stored fingerprints, and the index.
struct Part<F> {
    stored: BTreeSet<(F, u64)>,
    index: Arc<Index<F>>,
}

/// Distance, fingerprint, and the numbers of the indexes.
type Found<F> = (u32, F, Vec<usize>);

/// Indexes of different designs and codecs that share a part of their fingerprints.
fn parts<F: Fingerprint>(data: &[F], count: usize, seed: u64) -> Vec<Part<F>> {
    let mut numbers = Numbers(seed);
    (0..count)
        .map(|number| {
            let stored: Vec<(F, u64)> = (0..)
                .zip(data)
                .filter(|_| numbers.below(count as u64) == 0 || numbers.below(4) == 0)
                .map(|(id, &x)| (x, id + number as u64 % 2))
                .collect();
            let name = ["halves", "single", "cover-6"][number % 3];
            let options = BuildOptions::new().design(Design::named(name, 3).unwrap()).block_bytes(512);
            let options = options.codec(Codec::ALL[number / 2 % 2]);
            let index = Arc::new(index(built_with_ids(&stored, options)));
            Part { stored: stored.into_iter().collect(), index }
        })
        .collect()
}

fn united<F: Fingerprint>(parts: &[Part<F>]) -> MultiIndex<F> {
    MultiIndex::new(parts.iter().map(|part| Arc::clone(&part.index)))
}

fn brute_force<F: Fingerprint>(parts: &[Part<F>], query: F, distance: u32) -> Vec<Found<F>> {
    let all: BTreeSet<F> = parts.iter().flat_map(|part| &part.stored).map(|&(x, _)| x).collect();
    let near = all.into_iter().filter(|x| x.distance(query) <= distance);
    let is_in = |x, part: &Part<F>| part.stored.range((x, 0)..).next().is_some_and(|&(y, _)| y == x);
    let numbers = |x| (0..parts.len()).filter(|&number| is_in(x, &parts[number])).collect();
    let mut found: Vec<Found<F>> = near.map(|x| (x.distance(query), x, numbers(x))).collect();
    found.sort();
    found
}

/// The answer to a query, with the numbers of the indexes of each match.
fn nearest<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    query: F,
    count: usize,
    distance: u32,
) -> Vec<Found<F>> {
    let found = searcher.nearest_within(query, count, distance).unwrap().to_vec();
    let mut numbers = |one: &Match<F>| searcher.indexes_of(one.fingerprint).unwrap();
    found.iter().map(|one| (one.distance, one.fingerprint, numbers(one))).collect()
}

fn plain<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    matches.iter().map(|one| (one.distance, one.fingerprint)).collect()
}

/// The nearest by brute force, without the numbers of their indexes.
fn expected<F: Fingerprint>(parts: &[Part<F>], query: F, count: usize, distance: u32) -> Vec<(u32, F)> {
    brute_force(parts, query, distance)
        .into_iter()
        .map(|(distance, x, _)| (distance, x))
        .take(count)
        .collect()
}

fn check_ids<F: Fingerprint>(searcher: &mut MultiSearcher<F>, parts: &[Part<F>], fingerprint: F) {
    let pairs = parts.iter().flat_map(|part| part.stored.range((fingerprint, 0)..=(fingerprint, u64::MAX)));
    let ids: BTreeSet<u64> = pairs.map(|&(_, id)| id).collect();
    let found = searcher.within(fingerprint, 0).unwrap().to_vec();
    let united = SetSearcher::ids_of(searcher, &found, usize::MAX).unwrap().into_iter().flatten();
    assert!(united.map(|stored| stored.id).eq(ids));
}

fn check<F: Fingerprint>(parts: &[Part<F>], queries: &[F]) {
    let indexes = united(parts);
    assert_eq!(indexes.stored(), parts.iter().map(|part| part.index.len()).sum::<u64>());
    let mut searcher = indexes.searcher();
    for &query in queries {
        for distance in [0, 2, 3, 6] {
            let expected = brute_force(parts, query, distance);
            assert_eq!(nearest(&mut searcher, query, usize::MAX, distance), expected);
            assert_eq!(plain(searcher.within(query, distance).unwrap()).len(), expected.len());
            let first = searcher.first(query, distance).unwrap();
            let is_right = |found: &Found<F>| first.is_some_and(|first| first.fingerprint == found.1);
            assert_eq!(first.is_some(), !expected.is_empty());
            assert!(first.is_none() || expected.iter().any(is_right));
        }
        for (count, distance) in [(0, 9), (1, F::BITS), (4, F::BITS), (3, 4), (usize::MAX, 9)] {
            let mut expected = brute_force(parts, query, distance);
            expected.truncate(count);
            assert_eq!(nearest(&mut searcher, query, count, distance), expected);
        }
        assert_eq!(searcher.first(query, 0).unwrap().is_some(), !brute_force(parts, query, 0).is_empty());
        check_ids(&mut searcher, parts, query);
    }
    for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
        for (memory, limit) in [(64 << 20, None), (64 << 20, Some(2)), (4096, None), (0, Some(3))] {
            let mut options = BatchOptions::new().strategy(strategy).memory(memory).threads(2);
            if let Some(limit) = limit {
                options = options.limit(limit);
            }
            let mut places = 0..queries.len();
            let outcome = indexes.batch_with(queries, 3, &options, |place, matches| {
                assert_eq!(Some(place), places.next());
                let expected = expected(parts, queries[place], limit.unwrap_or(usize::MAX), 3);
                assert_eq!(plain(matches), expected, "{strategy:?}, {memory} bytes");
                Ok::<_, ReadError>(())
            });
            outcome.unwrap();
            assert!(places.is_empty());
        }
    }
}

#[test]
fn several_indexes_answer_as_one() {
    for shape in [Shape::Mixed, Shape::Clustered, Shape::Uniform, Shape::Extreme] {
        for count in [1, 2, 5] {
            let stored = data::<u64>(shape, 2000, 31);
            check(&parts(&stored, count, 32), &queries(&stored, 12, 33));
        }
    }
    let stored = data::<u128>(Shape::Mixed, 1500, 34);
    check(&parts(&stored, 3, 35), &queries(&stored, 12, 36));
}

#[test]
fn no_indexes_and_empty_ones_find_nothing() {
    check::<u64>(&[], &[1, 2, 3]);
    let stored = data::<u64>(Shape::Uniform, 500, 37);
    let mut some = parts(&stored, 2, 38);
    some.insert(
        1,
        Part { stored: BTreeSet::new(), index: Arc::new(index(built::<u64>(&[], BuildOptions::new()))) },
    );
    check(&some, &queries(&stored, 10, 39));
    check(&some[1..2], &queries(&stored, 3, 40));
}

/// A fingerprint excluded by the filter of one index is found in another.
#[test]
fn what_does_not_count_is_not_found() {
    let stored = data::<u64>(Shape::Mixed, 2000, 41);
    let mut parts = parts(&stored, 3, 42);
    let removed = |number: usize, x: u64| x % 3 == number as u64;
    let indexes = united(&parts).filter(move |number, found| Ok(!removed(number, found.fingerprint)));
    for (number, part) in parts.iter_mut().enumerate() {
        part.stored.retain(|&(x, _)| !removed(number, x));
    }
    let queries = queries(&stored, 30, 43);
    let mut searcher = indexes.searcher();
    for &query in &queries {
        let expected = brute_force(&parts, query, 3);
        assert_eq!(nearest(&mut searcher, query, usize::MAX, 3), expected);
        assert_eq!(searcher.first(query, 3).unwrap().is_some(), !expected.is_empty());
        let mut expected = brute_force(&parts, query, 64);
        expected.truncate(5);
        assert_eq!(nearest(&mut searcher, query, 5, 64), expected);
        check_ids(&mut searcher, &parts, query);
    }
    // So many that they are answered together.
    let queries = crate::common::queries(&stored, 300, 44);
    for (memory, limit) in [(64 << 20, usize::MAX), (64 << 20, 1), (4096, 2), (64 << 20, 0)] {
        let options = BatchOptions::new().memory(memory).limit(limit);
        let mut answered = 0;
        let outcome = indexes.batch_with(&queries, 3, &options, |place, matches| {
            assert_eq!(plain(matches), expected(&parts, queries[place], limit, 3), "at most {limit}");
            answered += 1;
            Ok::<_, ReadError>(())
        });
        outcome.unwrap();
        assert_eq!(answered, queries.len());
    }
}

/// Fingerprints in memory, each of which is visited twice.
struct Recent(Vec<u64>);

impl MemoryPart<u64> for Recent {
    fn for_each(
        &self,
        query: u64,
        distance: u32,
        visit: &mut dyn FnMut(u64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let near = self.0.iter().filter(|value| value.distance(query) <= distance);
        near.flat_map(|&value| [value; 2]).try_for_each(visit)
    }
}

#[test]
fn a_part_in_memory_is_queried_with_the_indexes() {
    let stored = data::<u64>(Shape::Mixed, 2000, 45);
    let mut parts = parts(&stored[..1500], 2, 46);
    let recent = stored[1000..].to_vec();
    let indexes = united(&parts).memory(Arc::new(Recent(recent.clone())));
    parts.push(Part {
        stored: recent.iter().map(|&x| (x, 0)).collect(),
        index: Arc::new(index(built::<u64>(&recent, BuildOptions::new()))),
    });
    let expected = |query, distance, count| expected(&parts, query, count, distance);
    let queries = queries(&stored, 30, 47);
    let mut searcher = indexes.searcher();
    for &query in &queries {
        assert_eq!(nearest(&mut searcher, query, usize::MAX, 3), brute_force(&parts, query, 3));
        for (count, distance) in [(0, 9), (1, 64), (4, 64), (3, 4), (usize::MAX, 9)] {
            let found = plain(searcher.nearest_within(query, count, distance).unwrap());
            assert_eq!(found, expected(query, distance, count));
            assert_eq!(plain(searcher.matches()), found);
        }
        assert_eq!(searcher.first(query, 3).unwrap().is_some(), !expected(query, 3, 1).is_empty());
        assert_eq!(searcher.first(query, 0).unwrap().is_some(), !expected(query, 0, 1).is_empty());
    }
    let queries = crate::common::queries(&stored, 300, 48);
    for (memory, limit) in
        [(64 << 20, usize::MAX), (64 << 20, 1), (4096, 2), (4096, usize::MAX), (64 << 20, 0)]
    {
        let options = BatchOptions::new().memory(memory).limit(limit);
        let mut answered = 0;
        let outcome = indexes.batch_with(&queries, 3, &options, |place, matches| {
            let found = matches.iter().map(|one| (one.distance, one.fingerprint));
            assert!(found.eq(expected(queries[place], 3, limit)), "at most {limit}");
            answered += 1;
            Ok::<_, ReadError>(())
        });
        outcome.unwrap();
        assert_eq!(answered, queries.len());
    }
}

/// With enough matches in memory, nothing is read.
#[test]
fn indexes_are_not_asked_for_what_is_in_memory() {
    let stored = data::<u64>(Shape::Uniform, 500, 49);
    let indexes = united(&parts(&stored, 2, 50)).filter(|_, _| Err(ReadErrorKind::Stopped.into()));
    let mut searcher = indexes.memory(Arc::new(Recent(stored.clone()))).searcher();
    for &query in &stored {
        assert_eq!(searcher.nearest_within(query, 1, 3).unwrap().len(), 1);
        assert!(searcher.first(query, 0).unwrap().is_some());
    }
    searcher.turn_to_memory(None);
    assert!(stored.iter().any(|&query| searcher.nearest_within(query, 1, 3).is_err()));
}

/// All pairs of what counts, ascending.
fn pairs_of<F: Fingerprint>(parts: &[Part<F>], distance: u32) -> Vec<Pair<F>> {
    let all: BTreeSet<F> = parts.iter().flat_map(|part| &part.stored).map(|&(x, _)| x).collect();
    let all: Vec<F> = all.into_iter().collect();
    let mut pairs: Vec<Pair<F>> = Vec::new();
    for (place, &a) in all.iter().enumerate() {
        pairs.extend(
            all[place + 1..].iter().map(|&b| Pair::of(a, b)).filter(|pair| pair.distance <= distance),
        );
    }
    pairs
}

fn check_pairs<F: Fingerprint>(indexes: &MultiIndex<F>, parts: &[Part<F>]) {
    for distance in [0, 1, 3, 6] {
        let expected = pairs_of(parts, distance);
        for tuning in [
            Tuning::default(),
            Tuning { capacity: Some(300), longest_run: Some(10), ..Tuning::default() },
            Tuning { capacity: Some(1), ..Tuning::default() },
            Tuning { way: Way::Query, queries_per_task: Some(100), ..Tuning::default() },
        ] {
            for threads in [1, 3] {
                let pairs = indexes.pairs(distance).tuning(tuning).threads(threads);
                let mut found = pairs.collect().unwrap();
                found.sort();
                assert!(found == expected, "{distance}, {tuning:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn pairs_may_lie_in_two_indexes() {
    for shape in [Shape::Mixed, Shape::Clustered, Shape::Extreme, Shape::Runs] {
        for count in [1, 2, 4] {
            let parts = parts(&data::<u64>(shape, 900, 48), count, 49);
            check_pairs(&united(&parts), &parts);
        }
    }
    let parts = parts(&data::<u128>(Shape::Mixed, 600, 50), 3, 51);
    check_pairs(&united(&parts), &parts);
    check_pairs::<u64>(&united(&[]), &[]);
}

#[test]
fn what_does_not_count_is_in_no_pair() {
    let mut parts = parts(&data::<u64>(Shape::Clustered, 900, 52), 3, 53);
    let removed = |number: usize, x: u64| x % 3 == number as u64;
    let indexes = united(&parts).filter(move |number, found| Ok(!removed(number, found.fingerprint)));
    for (number, part) in parts.iter_mut().enumerate() {
        part.stored.retain(|&(x, _)| !removed(number, x));
    }
    check_pairs(&indexes, &parts);
}

#[test]
fn an_error_of_the_filter_ends_the_query() {
    let parts = parts(&data::<u64>(Shape::Uniform, 300, 44), 2, 45);
    let query = parts[0].stored.first().unwrap().0;
    let failing = united(&parts).filter(|_, _| Err(ReadErrorKind::Stopped.into()));
    let mut searcher = failing.searcher();
    assert!(searcher.within(query, 3).is_err());
    assert!(searcher.nearest_within(query, 3, 64).is_err());
    let visit = |_, _: &[Match<u64>]| Ok::<_, ReadError>(());
    assert!(failing.batch_with(&[query; 100], 3, &BatchOptions::new(), visit).is_err());
    // There is nothing to ask it about.
    assert!(searcher.within(query ^ 0xffff_ffff, 0).unwrap().is_empty());
}

#[test]
fn a_batch_of_several_indexes_reports_its_queries_and_stops() {
    let stored = data::<u64>(Shape::Mixed, 3000, 46);
    let indexes = united(&parts(&stored, 3, 47));
    let seen = Reports::default();
    let options = || BatchOptions::new().threads(1);
    let go_on = |_, _: &[Match<u64>]| Ok::<_, ReadError>(());
    indexes.batch_with(&stored, 3, &options().progress(seen.keep()), go_on).unwrap();
    assert_eq!(seen.all().last().map(|report| report.done), Some(stored.len() as u64));
    assert!(seen.all().iter().all(|report| report.total == Some(stored.len() as u64)));
    let stopped = options().report_to(Reports::default().stopping(0));
    let error = indexes.batch_with(&stored, 3, &stopped, go_on).unwrap_err();
    assert!(matches!(error.kind(), ReadErrorKind::Stopped));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sets_answer_as_one(
        sets in prop::collection::vec(prop::collection::vec(0u64..400, 0..100), 0..5),
        queried in prop::collection::vec(0u64..400, 1..60),
    ) {
        let parts: Vec<Part<u64>> = sets
            .iter()
            .map(|set| {
                let stored: Vec<(u64, u64)> = set.iter().map(|&x| (x, x % 7)).collect();
                let index = Arc::new(index(built_with_ids(&stored, BuildOptions::new())));
                Part { stored: stored.into_iter().collect(), index }
            })
            .collect();
        check(&parts, &queried);
    }
}

fn entries_of<F: Fingerprint>(indexes: &MultiIndex<F>, from: F) -> Vec<(F, Vec<u64>)> {
    let entries = indexes.read_entries(from).unwrap().map(Result::unwrap);
    entries.map(|(fingerprint, ids)| (fingerprint, ids.map(|stored| stored.id).collect())).collect()
}

#[test]
fn entries_are_those_of_all_indexes_in_order() {
    for shape in SHAPES {
        let parts = parts(&data::<u64>(shape, 400, 21), 5, 22);
        let indexes = united(&parts);
        let mut all: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for &(fingerprint, id) in parts.iter().flat_map(|part| &part.stored) {
            all.entry(fingerprint).or_default().insert(id);
        }
        let starts = all.keys().copied().step_by(97).flat_map(|key| [key, key.saturating_add(1)]);
        for from in starts.chain([0, u64::MAX]) {
            let expected: Vec<(u64, Vec<u64>)> =
                all.range(from..).map(|(&key, ids)| (key, ids.iter().copied().collect())).collect();
            assert_eq!(entries_of(&indexes, from), expected, "{shape:?} {from:x}");
        }
        // Of what counts, the ids are those in the indexes in which it does.
        let odd = united(&parts).filter(|number, found| Ok(number % 2 == 1 || found.fingerprint % 3 == 0));
        let mut left: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            for &(fingerprint, id) in part.stored.iter().filter(|pair| number % 2 == 1 || pair.0 % 3 == 0) {
                left.entry(fingerprint).or_default().insert(id);
            }
        }
        let expected: Vec<(u64, Vec<u64>)> =
            left.into_iter().map(|(key, ids)| (key, ids.into_iter().collect())).collect();
        assert_eq!(entries_of(&odd, 0), expected, "{shape:?}");
    }
}

#[test]
fn several_indexes_are_verified_as_one_family() {
    for count in 0..3 {
        let parts = parts::<u64>(&data(Shape::Mixed, 500, 2), count, 3);
        let verified = united(&parts).verify_all(&VerifyOptions::new()).unwrap();
        assert_eq!((verified.families, verified.files), (1, count));
    }
}

/// Each index numbers its own names: one number in two of them is two documents.
#[test]
fn the_names_of_several_indexes_are_told_apart() {
    let named = |rows: &[(u64, &str)]| -> Arc<Index<u64>> {
        let mut builder = Builder::in_memory(BuildOptions::new().names(true)).unwrap();
        for (id, (fingerprint, name)) in (0..).zip(rows) {
            builder.push_name(id, name).unwrap();
            builder.push_with_id(*fingerprint, id).unwrap();
        }
        Arc::new(Index::from_bytes(builder.into_inner().unwrap().0).unwrap())
    };
    let indexes = MultiIndex::new([
        named(&[(7, "monday"), (9, "both"), (7, "later")]),
        named(&[(7, "tuesday")]),
        named(&[(8, "wednesday"), (7, "last")]),
    ]);
    let names = |ids: MatchIds<'_>| -> Vec<String> {
        ids.map(|id| {
            let name = FingerprintSet::name_of(&indexes, id).unwrap().unwrap();
            String::from_utf8(name.into_owned()).unwrap()
        })
        .collect()
    };
    let expected = ["monday", "later", "tuesday", "last"];
    let entries = indexes.read_entries(0).unwrap().map(Result::unwrap);
    let entries: Vec<_> = entries.map(|(fingerprint, ids)| (fingerprint, names(ids))).collect();
    let rest = [(8, vec!["wednesday".to_owned()]), (9, vec!["both".to_owned()])];
    assert_eq!(entries[0], (7, expected.map(str::to_owned).to_vec()));
    assert_eq!(entries[1..], rest);
    let mut searcher = indexes.open_searcher();
    let found = searcher.nearest_within(7, 1, 0).unwrap().to_vec();
    for most in 0..6 {
        let ids = searcher.ids_of(&found, most).unwrap().remove(0);
        assert_eq!(ids.all(), 4);
        assert_eq!(names(ids), expected[..most.min(4)], "{most}");
    }
}
