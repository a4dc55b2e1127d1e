//! Sets of shards answer as comparing all with all does: both layouts, both widths, uniform and skewed fingerprints.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Pushed, build, distinct, entries, kinds, mix};
use hamdex::{
    BatchOptions, BuildOptions, Category, Fingerprint, FingerprintSet, Match, OpenOptions, Pair,
    PairsOptions, SetError, Stopped, VerifyOptions, shingles,
};
use hamdex_shards::{Layout, Shards, ShardsBuilder};
use proptest::prelude::*;

/// Distance and fingerprint of each match.
fn plain<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    matches.iter().map(|found| (found.distance, found.fingerprint)).collect()
}

/// The matches of brute force, in the order of answers.
fn expected<F: Fingerprint>(stored: &BTreeSet<F>, query: F, distance: u32) -> Vec<(u32, F)> {
    let mut near: Vec<_> = stored.iter().map(|&one| (one.distance(query), one)).collect();
    near.retain(|(found, _)| *found <= distance);
    near.sort_unstable();
    near
}

fn check_queries<F: Fingerprint>(set: &Shards<F>, stored: &BTreeSet<F>, queries: &[F], distance: u32) {
    let mut searcher = set.searcher();
    for &query in queries {
        let near = expected(stored, query, distance);
        assert_eq!(plain(searcher.within(query, distance).unwrap()), near, "{query:x}, {distance}");
        let first = searcher.first(query, distance).unwrap();
        assert_eq!(first.is_some(), !near.is_empty());
        assert!(first.is_none_or(|found| near.contains(&(found.distance, found.fingerprint))));
        for count in [1, 3] {
            let nearest = plain(searcher.nearest_within(query, count, distance).unwrap());
            assert_eq!(nearest, near[..near.len().min(count)], "{count} of {query:x}");
        }
        assert_eq!(searcher.first(query, 0).unwrap().is_some(), stored.contains(&query));
    }
    for limit in [None, Some(2)] {
        let options = limit.map_or(BatchOptions::new(), |limit| BatchOptions::new().limit(limit));
        for options in [options.clone(), options.memory(1 << 12)] {
            let mut place = 0;
            let mut visit = |number: usize, matches: &[Match<F>]| {
                assert_eq!(number, place);
                let mut near = expected(stored, queries[place], distance);
                near.truncate(limit.unwrap_or(usize::MAX));
                assert_eq!(plain(matches), near, "{:x}", queries[place]);
                place += 1;
                Ok::<_, SetError>(())
            };
            set.batch_with(queries, distance, &options, &mut visit).unwrap();
            assert_eq!(place, queries.len());
        }
    }
}

fn check_pairs<F: Fingerprint>(set: &Shards<F>, stored: &BTreeSet<F>, distance: u32) {
    let mut all = BTreeSet::new();
    let mut counts = vec![0; distance as usize + 1];
    for &a in stored {
        for &b in stored.range(a..).skip(1) {
            if a.distance(b) <= distance {
                assert!(all.insert((a, b, a.distance(b))));
                counts[a.distance(b) as usize] += 1;
            }
        }
    }
    let mut found = Vec::new();
    let mut visit = |pairs: &[Pair<F>]| {
        found.extend_from_slice(pairs);
        Ok(())
    };
    set.visit_pairs(distance, &PairsOptions::new(), &mut visit).unwrap();
    assert_eq!(found.len(), all.len(), "each once");
    assert_eq!(found.iter().map(|pair| (pair.a, pair.b, pair.distance)).collect::<BTreeSet<_>>(), all);
    assert_eq!(set.count_pairs(distance, &PairsOptions::new().memory(16 << 20).threads(1)).unwrap(), counts);
}

fn check_ids<F: Fingerprint>(set: &Shards<F>, pushed: &[Pushed<F>]) {
    let mut all: BTreeMap<F, BTreeSet<u64>> = BTreeMap::new();
    for &(fingerprint, id) in pushed {
        all.entry(fingerprint).or_default().insert(id);
    }
    let has_ids = set.manifest().id_type.is_some();
    let ids_of = |ids: &BTreeSet<u64>| -> Vec<u64> {
        if has_ids { ids.iter().copied().collect() } else { Vec::new() }
    };
    let mut entries = entries(set).into_iter();
    for (&fingerprint, ids) in &all {
        assert_eq!(entries.next().unwrap(), (fingerprint, ids_of(ids)));
    }
    assert!(entries.next().is_none());
    let mut searcher = set.searcher();
    for (&fingerprint, ids) in all.iter().take(20) {
        let found: Vec<u64> =
            searcher.ids(fingerprint).unwrap().into_iter().map(|stored| stored.id).collect();
        assert_eq!(found, ids_of(ids));
    }
    assert!(searcher.ids(F::truncate(0x5555_1234_5555)).unwrap().is_empty());
}

fn check_all<F: Fingerprint>(layout: Layout, shards: usize, pushed: &[Pushed<F>], seed: u64, ids: bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set");
    build(&path, layout, shards, 3, pushed, ids);
    let set = Shards::<F>::open(&path, &OpenOptions::new()).unwrap();
    let stored = distinct(pushed);
    assert_eq!(set.len(), stored.len() as u64);
    let families = if layout == Layout::Families { 4 } else { 1 };
    assert_eq!(set.manifest().shards.len(), shards * families);
    let mut queries: Vec<F> = pushed.iter().take(25).map(|&(fingerprint, _)| fingerprint).collect();
    queries.extend((0..25u64).map(|number| {
        // Queries a few bits from stored fingerprints.
        let near = pushed.get(mix(seed ^ number) as usize % pushed.len().max(1)).map_or(F::ZERO, |p| p.0);
        (0..number % 5).fold(near, |bits, flip| bits ^ F::bit(mix(number + 31 * flip) as u32 % F::BITS))
    }));
    queries.extend([F::ZERO, F::ONES]);
    for distance in 0..=6 {
        check_queries(&set, &stored, &queries, distance);
    }
    for distance in [0, 1, 3, 5] {
        check_pairs(&set, &stored, distance);
    }
    let mut searcher = set.searcher();
    let all = expected(&stored, queries[0], F::BITS);
    assert_eq!(plain(searcher.nearest_within(queries[0], 7, F::BITS).unwrap()), all[..all.len().min(7)]);
    check_ids(&set, pushed);
    let verified = set.verify(&VerifyOptions::new()).unwrap();
    assert_eq!((verified.fingerprints, verified.notes.len()), (stored.len() as u64, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sets_equal_brute_force(
        kind in 0..kinds::COUNT, count in 0..300usize, seed: u64, shards in 1..6usize, families: bool, ids: bool,
    ) {
        let layout = if families { Layout::Families } else { Layout::Hash };
        check_all::<u64>(layout, shards, &kinds::of(kind, count, seed), seed, ids);
    }

    #[test]
    fn sets_of_128_bits_equal_brute_force(
        kind in 0..kinds::COUNT, count in 0..200usize, seed: u64, shards in 1..6usize, families: bool,
    ) {
        let layout = if families { Layout::Families } else { Layout::Hash };
        check_all::<u128>(layout, shards, &kinds::of(kind, count, seed), seed, true);
    }
}

#[test]
fn empty_small_and_dense_sets_are_exact() {
    for layout in [Layout::Families, Layout::Hash] {
        for kind in 0..kinds::COUNT {
            check_all::<u64>(layout, 1, &kinds::of(kind, 150, 7), 7, true);
            check_all::<u64>(layout, 3, &kinds::of(kind, 0, 7), 7, true);
            check_all::<u64>(layout, 3, &kinds::of(kind, 1, 7), 7, false);
            // More shards than most have fingerprints.
            check_all::<u64>(layout, 40, &kinds::of(kind, 60, 8), 8, true);
        }
    }
}

#[test]
fn a_query_opens_one_shard_of_each_family() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set");
    let pushed: Vec<Pushed<u64>> = (0..2000).map(|number| (mix(number), number)).collect();
    build(&path, Layout::Families, 16, 3, &pushed, true);
    let set = Shards::<u64>::open(&path, &OpenOptions::new()).unwrap();
    assert_eq!(set.opened(), 0);
    let mut searcher = set.searcher();
    assert_eq!(searcher.within(mix(7) ^ 0b111, 3).unwrap()[0].fingerprint, mix(7));
    assert_eq!(searcher.ids(mix(7)).unwrap()[0].id, 7);
    assert_eq!(set.opened(), 4);
    searcher.within(mix(7), 4).unwrap();
    assert!((16..20).contains(&set.opened()), "beyond its distance: one family, {}", set.opened());
}

#[test]
fn other_distances_have_as_many_families() {
    for distance in [0, 1, 2, 6] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("set");
        let pushed: Vec<Pushed<u64>> = kinds::of(1, 200, u64::from(distance));
        build(&path, Layout::Families, 3, distance, &pushed, false);
        let set = Shards::<u64>::open(&path, &OpenOptions::new()).unwrap();
        assert_eq!(set.manifest().shards.len(), 3 * (distance as usize + 1));
        let queries: Vec<u64> = pushed.iter().map(|pushed| pushed.0 ^ 1).collect();
        for queried in 0..=distance + 1 {
            check_queries(&set, &distinct(&pushed), &queries, queried);
            check_pairs(&set, &distinct(&pushed), queried);
        }
    }
}

#[test]
fn a_batch_that_breaks_ends() {
    let directory = tempfile::tempdir().unwrap();
    let pushed: Vec<Pushed<u64>> = kinds::of(0, 500, 3);
    for layout in [Layout::Families, Layout::Hash] {
        let path = directory.path().join(layout.to_string());
        build(&path, layout, 2, 3, &pushed, false);
        let set = Shards::<u64>::open(&path, &OpenOptions::new()).unwrap();
        let queries: Vec<u64> = pushed.iter().map(|pushed| pushed.0).collect();
        let mut seen = 0;
        let outcome = set.batch_with(&queries, 3, &BatchOptions::new(), |_, _| {
            seen += 1;
            if seen == 100 { Err(SetError::from(Stopped)) } else { Ok(()) }
        });
        assert_eq!(outcome.unwrap_err().category(), Category::Stopped);
        assert_eq!(seen, 100);
    }
}

#[test]
fn one_family_has_the_shingles_of_all_documents() {
    let directory = tempfile::tempdir().unwrap();
    let shingles_of = |id: u64| (0..id % 50).map(|place| mix(id) % 1000 * 100 + place).collect::<Vec<u64>>();
    for (layout, names) in [(Layout::Families, true), (Layout::Families, false), (Layout::Hash, true)] {
        let path = directory.path().join(format!("{layout} {names}"));
        let options = BuildOptions::<u64>::new().names(names).shingles(true).memory(1 << 24);
        let options = options.metadata(shingles::KEY, "some");
        let mut builder = ShardsBuilder::create(&path, layout, 3, options).unwrap();
        assert!(builder.push_with_id(1, 1).is_err() && builder.push_named(1, 1, "1").is_err());
        let name = |id: u64| names.then(|| id.to_string());
        let wrong = builder.push_document(1, 1, name(1).as_deref().map(str::as_bytes), &[2, 1]);
        assert!(wrong.is_err());
        let wrong = builder.push_document(1, 1, (!names).then_some(b"1"), &[1]);
        assert!(wrong.is_err());
        for id in 0..500 {
            let set = shingles_of(id);
            builder.push_document(mix(id), id, name(id).as_deref().map(str::as_bytes), &set).unwrap();
        }
        builder.finish().unwrap();
        let set = Shards::<u64>::open(&path, &OpenOptions::new()).unwrap();
        let description = set.describe();
        assert!(description.has_shingles && description.metadata[shingles::KEY] == b"some");
        let mut found = BTreeMap::new();
        for part in set.shingle_parts(1 << 12).unwrap().unwrap() {
            let flow = set.visit_shingles(&part, &|| Ok(()), &mut |id, shingles| {
                assert_eq!(found.insert(id.id, shingles.to_vec()), None);
                assert_eq!(set.name(id).unwrap().map(<[u8]>::to_vec), name(id.id).map(String::into_bytes));
                Ok(())
            });
            flow.unwrap();
        }
        assert_eq!(found, (0..500).map(|id| (id, shingles_of(id))).collect());
        set.verify(&VerifyOptions::new()).unwrap();
        let keep = set
            .manifest()
            .shards
            .iter()
            .enumerate()
            .filter(|&(number, _)| set.shard(number).unwrap().has_shingles());
        assert_eq!(keep.map(|(number, _)| number).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
