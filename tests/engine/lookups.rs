//! Look-ups by id and by name, compared with a pass over all pairs and names.

use std::collections::{BTreeMap, BTreeSet};

use hamdex::{BuildOptions, Builder, Fingerprint, Index, Merger, Place};
use proptest::prelude::*;

use crate::common::damaged_at;

type Pairs = BTreeSet<(u64, u64)>;

/// Pairs with few and many fingerprints per id, and few and many ids per fingerprint.
fn pairs() -> impl Strategy<Value = Pairs> {
    let fingerprint = prop_oneof![0u64..6, any::<u64>(), Just(u64::MAX)];
    let id = prop_oneof![0u64..5, any::<u64>(), Just(u64::MAX), (0u64..50).prop_map(|id| id << 40)];
    let some = prop::collection::btree_set((fingerprint, id), 0..400);
    let of_one_id = prop::collection::btree_set((any::<u64>(), Just(7u64)), 0..300);
    let of_one_fingerprint = prop::collection::btree_set((Just(9u64), any::<u64>()), 0..300);
    prop_oneof![some, of_one_id, of_one_fingerprint]
}

/// Some ids have the same name.
fn name_of(id: u64) -> Vec<u8> {
    match id % 5 {
        0 => Vec::new(),
        1 => b"the same".to_vec(),
        2 => vec![b'x'; id as usize % 97],
        _ => format!("http://example.org/{id}").into_bytes(),
    }
}

fn options<F: Fingerprint>() -> BuildOptions<F> {
    BuildOptions::new().lookups(true).block_bytes(512).memory(16 << 20)
}

fn built<F: Fingerprint>(pairs: &BTreeSet<(F, u64)>, options: BuildOptions<F>) -> Vec<u8> {
    let has_names = options.has_names();
    let mut builder = Builder::in_memory(options).unwrap();
    for &(fingerprint, id) in pairs {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    let ids: BTreeSet<u64> = pairs.iter().map(|pair| pair.1).collect();
    for id in ids.into_iter().filter(|_| has_names) {
        builder.push_name(id, name_of(id)).unwrap();
    }
    builder.into_inner().unwrap().0
}

fn check<F: Fingerprint>(index: &Index<F>, pairs: &BTreeSet<(F, u64)>) {
    index.verify().unwrap();
    let lookups = index.lookups().unwrap().unwrap();
    let mut by_id: BTreeMap<u64, Vec<F>> = BTreeMap::new();
    let mut by_name: BTreeMap<Vec<u8>, BTreeSet<u64>> = BTreeMap::new();
    for (place, &(fingerprint, id)) in (0..).zip(pairs) {
        assert_eq!(index.fingerprint_at(place).unwrap(), fingerprint);
        by_id.entry(id).or_default().push(fingerprint);
        by_name.entry(name_of(id)).or_default().insert(id);
    }
    for (&id, fingerprints) in &by_id {
        assert_eq!(&lookups.fingerprints_of(id).unwrap(), fingerprints, "{id}");
        let other = id ^ 1 << 33;
        if !by_id.contains_key(&other) {
            assert!(lookups.fingerprints_of(other).unwrap().is_empty());
        }
    }
    for (name, ids) in &by_name {
        let expected: Vec<u64> = if index.has_names() { ids.iter().copied().collect() } else { Vec::new() };
        assert_eq!(lookups.ids_of_name(name).unwrap(), expected);
    }
    assert!(lookups.ids_of_name(b"absent").unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_pair_is_found_by_id_and_every_id_by_name(pairs in pairs(), names: bool, wide: bool) {
        let options = options::<u64>().names(names);
        let bytes = built(&pairs, options.clone());
        prop_assert_eq!(&bytes, &built(&pairs, options.threads(1)));
        check(&Index::from_bytes(bytes).unwrap(), &pairs);
        if wide {
            let pairs: BTreeSet<(u128, u64)> =
                pairs.iter().map(|&(x, id)| (u128::from(x) << 64 | u128::from(id), id)).collect();
            let bytes = built(&pairs, crate::lookups::options().names(names));
            check(&Index::from_bytes(bytes).unwrap(), &pairs);
        }
    }

    #[test]
    fn merges_have_the_look_ups_of_what_they_keep(pairs in pairs(), parts in 1u64..4, gap in 1u64..4) {
        let part = |number| pairs.iter().copied().filter(|pair| pair.0 % parts == number).collect::<Pairs>();
        let options = || options().names(true);
        let inputs: Vec<Index<u64>> =
            (0..parts).map(|number| Index::from_bytes(built(&part(number), options())).unwrap()).collect();
        let keep = |_, _, id: Option<u64>| !id.unwrap().is_multiple_of(gap);
        let mut bytes = Vec::new();
        Merger::new(&inputs).unwrap().options(options()).filter(keep).write_to(&mut bytes).unwrap();
        let mut left = pairs.clone();
        left.retain(|pair| !pair.1.is_multiple_of(gap));
        prop_assert_eq!(&bytes, &built(&left, options()));
        check(&Index::from_bytes(bytes).unwrap(), &left);
        // Without options, the output is shaped as the first input.
        let mut bytes = Vec::new();
        Merger::new(&inputs).unwrap().write_to(&mut bytes).unwrap();
        prop_assert!(Index::<u64>::from_bytes(bytes).unwrap().has_lookups());
    }
}

#[test]
fn many_pairs_are_sorted_through_temporary_files_and_found() {
    // An eighth of 16 MiB holds fewer places.
    let pairs: BTreeSet<(u64, u64)> =
        (0..600_000u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n)).collect();
    let bytes = built(&pairs, options());
    assert_eq!(bytes, built(&pairs, options().memory(1 << 30)));
    let index = Index::<u64>::from_bytes(bytes).unwrap();
    index.verify().unwrap();
    let lookups = index.lookups().unwrap().unwrap();
    for id in (0..600_000u64).step_by(997) {
        assert_eq!(lookups.fingerprints_of(id).unwrap(), [id.wrapping_mul(0x9e37_79b9_7f4a_7c15)]);
    }
    let bytes = index.stats().lookup_bytes.unwrap();
    assert!((4 * 600_000..5 * 600_000).contains(&bytes), "{bytes} bytes");
}

#[test]
fn a_file_without_look_ups_has_none_and_places_are_inverse_all_the_same() {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().lookups(true).ids(false)).unwrap();
    (0..1000u64).for_each(|x| builder.push(x * x).unwrap());
    let index = Index::<u64>::from_bytes(builder.into_inner().unwrap().0).unwrap();
    assert!(!index.has_lookups() && index.lookups().unwrap().is_none());
    for x in 0..1000 {
        assert_eq!(index.fingerprint_at(x).unwrap(), x * x);
    }
}

#[test]
fn damage_is_found_and_harms_no_query() {
    let pairs: Pairs = (0..2000u64).map(|n| (n * 3, n * n)).collect();
    let whole = built(&pairs, options().names(true));
    let index = Index::<u64>::from_bytes(whole.clone()).unwrap();
    let size = index.stats().lookup_bytes.unwrap() as usize;
    let mut found = 0;
    for at in (whole.len() - 4096 - size..whole.len() - 4096).step_by(509) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let Ok(index) = Index::<u64>::from_bytes(damaged) else { continue };
        assert_eq!(index.searcher().within(30, 0).unwrap().len(), 1);
        let Err(error) = index.verify() else { continue };
        found += usize::from(matches!(damaged_at(&error), Some(Place::IdLookup | Place::NameLookup)));
    }
    assert!(found > 10, "{found} times");
}
