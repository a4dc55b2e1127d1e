//! Answers equal brute force: files, stores and shards, both widths, data that is uniform, clustered, repeated,
//! extreme.

use std::path::Path;

use hamdex::{BuildOptions, Fingerprint, Index};
use hamdex_shards::{Layout, ShardsBuilder};
use proptest::prelude::*;

use super::c::{Found, Given, Set, build, sized};
use super::stores::store_of;
use crate::build::hamdex_build_options;
use crate::options::{HAMDEX_IDS, HAMDEX_NAMES};

/// Fingerprints near each other, far from each other, equal, the lowest and the greatest.
fn fingerprints<F: Fingerprint>() -> impl Strategy<Value = Vec<F>> {
    let one = prop_oneof![
        3 => any::<u128>().prop_map(F::truncate),
        3 => (0..3_u32, 0..F::BITS, 0..F::BITS).prop_map(|(centre, one, other)| {
            F::truncate(0x0123_4567_89ab_cdef_u128 * u128::from(centre)) ^ F::ONES << one << 1 ^ F::ONES << other
        }),
        1 => Just(F::ZERO),
        1 => Just(F::ONES),
    ];
    prop::collection::vec(one, 0..60)
}

/// The answer of brute force, with ids where a fingerprint has some.
fn brute<F: Fingerprint>(stored: &[F], ids: Option<&[u64]>, query: F, distance: u32) -> Vec<Found<F>> {
    let mut near: Vec<F> = stored.iter().copied().filter(|one| one.distance(query) <= distance).collect();
    near.sort_unstable_by_key(|one| (one.distance(query), *one));
    near.dedup();
    let ids_of = |fingerprint: F| {
        let Some(ids) = ids else { return Vec::new() };
        let of_it = stored.iter().zip(ids).filter(|(one, _)| **one == fingerprint);
        let mut ids: Vec<u64> = of_it.map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    near.iter()
        .map(|&fingerprint| Found {
            fingerprint,
            distance: fingerprint.distance(query),
            ids: ids_of(fingerprint),
            names: Vec::new(),
        })
        .collect()
}

fn without_ids<F: Fingerprint>(found: &[Found<F>]) -> Vec<Found<F>> {
    found.iter().map(|found| Found { ids: Vec::new(), ..found.clone() }).collect()
}

/// Compares every kind of question to a set with brute force.
fn check<F: Fingerprint>(set: &Set, stored: &[F], ids: Option<&[u64]>, queries: &[F], distance: u32) {
    let searcher = set.searcher();
    let expected: Vec<Vec<Found<F>>> =
        queries.iter().map(|&query| brute(stored, ids, query, distance)).collect();
    for (&query, expected) in queries.iter().zip(&expected) {
        assert_eq!(searcher.query(query, distance, 0, HAMDEX_IDS).unwrap(), *expected);
        let two = &expected[..expected.len().min(2)];
        assert_eq!(searcher.query(query, distance, 2, 0).unwrap(), without_ids(two));
        assert_eq!(searcher.first(query, distance).unwrap().is_some(), !expected.is_empty());
        let all = without_ids(&brute(stored, None, query, u32::MAX));
        assert_eq!(searcher.nearest(query, 3), all[..all.len().min(3)]);
        assert_eq!(searcher.query(query, F::BITS, 0, 0).unwrap(), all);
    }
    assert_eq!(set.batch(queries, distance, 0, HAMDEX_IDS).unwrap(), expected);
    let one: Vec<_> = expected.iter().map(|found| without_ids(&found[..found.len().min(1)])).collect();
    assert_eq!(set.batch(queries, distance, 1, 0).unwrap(), one);

    let mut distinct = stored.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut expected = Vec::new();
    for (place, &left) in distinct.iter().enumerate() {
        let near = distinct[place + 1..].iter().filter(|right| left.distance(**right) <= distance);
        expected.extend(near.map(|&right| (left, right, left.distance(right))));
    }
    let mut pairs = set.pairs::<F>(distance).unwrap();
    pairs.sort_unstable();
    assert_eq!(pairs, expected);
}

fn build_shards<F: Fingerprint>(path: &Path, stored: &[F], ids: &[u64]) {
    let options = BuildOptions::new().distance(2).ids(true);
    let mut builder = ShardsBuilder::<F>::create(path, Layout::Families, 2, options).unwrap();
    for (&fingerprint, &id) in stored.iter().zip(ids) {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    builder.finish().unwrap();
}

fn of_every_container<F: Fingerprint>(stored: &[F], queries: &[F], distance: u32) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let ids: Vec<u64> = (0..stored.len() as u64).map(|id| id.pow(2) % 7 * 1_000_000_007).collect();
    let options = hamdex_build_options { distance: 2, ..sized() };

    build(&at("plain.hamdex"), &Given::new(stored), &options).unwrap();
    check(&Set::open(&at("plain.hamdex")).unwrap(), stored, None, queries, distance);
    build(&at("ids.hamdex"), &Given::new(stored).ids(&ids), &options).unwrap();
    check(&Set::open(&at("ids.hamdex")).unwrap(), stored, Some(&ids), queries, distance);

    let store = store_of(&at("store"), F::BITS, crate::store::HAMDEX_WITH_IDS);
    let half = stored.len() / 2;
    store.insert(&Given::new(&stored[..half]).ids(&ids[..half])).unwrap();
    store.flush().unwrap();
    store.insert(&Given::new(&stored[half..]).ids(&ids[half..])).unwrap();
    check(&store.snapshot(), stored, Some(&ids), queries, distance);
    drop(store);
    check(&Set::open(&at("store")).unwrap(), stored, Some(&ids), queries, distance);

    build_shards(&at("shards"), stored, &ids);
    check(&Set::open(&at("shards")).unwrap(), stored, Some(&ids), queries, distance);

    // The Rust interface reads the same file.
    let index = Index::<F>::open(at("plain.hamdex")).unwrap();
    let mut distinct = stored.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(index.len(), distinct.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_of_64_bits_equal_brute_force(stored in fingerprints::<u64>(), more in fingerprints::<u64>(), distance in 0..9_u32) {
        let queries: Vec<u64> = stored.iter().take(5).chain(more.iter().take(5)).copied().collect();
        of_every_container(&stored, &queries, distance);
    }

    #[test]
    fn answers_of_128_bits_equal_brute_force(stored in fingerprints::<u128>(), more in fingerprints::<u128>(), distance in 0..9_u32) {
        let queries: Vec<u128> = stored.iter().take(5).chain(more.iter().take(5)).copied().collect();
        of_every_container(&stored, &queries, distance);
    }
}

#[test]
fn names_come_with_their_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.hamdex");
    let given = Given::new(&[7_u64, 6, 7]).names(&["seven", "", "sept\u{e9}"]);
    build(&path, &given, &sized()).unwrap();
    let set = Set::open(&path).unwrap();
    let expected = [
        Found {
            fingerprint: 7,
            distance: 0,
            ids: vec![0, 2],
            names: vec!["seven".into(), "sept\u{e9}".into()],
        },
        Found { fingerprint: 6, distance: 1, ids: vec![1], names: vec![String::new()] },
    ];
    assert_eq!(set.searcher().query(7_u64, 1, 0, HAMDEX_NAMES).unwrap(), expected);
    assert_eq!(set.batch(&[7_u64], 1, 0, HAMDEX_IDS | HAMDEX_NAMES).unwrap(), [expected]);
}
