//! Ids come back as they were given.

use super::shuffled;
use crate::common::{Numbers, Scratch, Shape, built_with_ids, data, id_lists, index};
use hamdex::{BuildError, BuildOptions, Builder, Codec, Fingerprint, Index};

/// Checks that every fingerprint has its ids, and others have none.
fn ids_are_right<F: Fingerprint>(input: &[(F, u64)], options: BuildOptions<F>) -> Index<F> {
    let index = index::<F>(built_with_ids(input, options));
    let expected = id_lists(input);
    let verified = index.verify().unwrap();
    assert!(index.has_ids());
    assert_eq!(verified.fingerprints, expected.len() as u64);
    assert_eq!(verified.ids, expected.values().map(Vec::len).sum::<usize>() as u64);
    let mut numbers = Numbers(9);
    for (&fingerprint, list) in &expected {
        let mut ids = index.ids(fingerprint).unwrap();
        for (left, &id) in (0..list.len()).rev().zip(list) {
            assert_eq!((ids.next(), ids.len()), (Some(id), left));
        }
        assert_eq!((ids.next(), ids.next()), (None, None));
        let other = numbers.near(fingerprint, 2);
        if !expected.contains_key(&other) {
            assert_eq!(index.ids(other).unwrap().len(), 0);
            assert!(!index.contains(other).unwrap());
        }
    }
    index
}

#[test]
fn many_ids_of_a_fingerprint_come_back() {
    let mut numbers = Numbers(10);
    let stored = data::<u64>(Shape::Mixed, 3000, 11);
    let input: Vec<(u64, u64)> = stored
        .iter()
        .flat_map(|&x| (0..numbers.below(6) + 1).map(|_| (x, numbers.below(1 << 33))).collect::<Vec<_>>())
        .collect();
    let options = || BuildOptions::new().block_bytes(512);
    for codec in Codec::ALL {
        let index = ids_are_right(&input, options().codec(codec));
        // The same pairs again, and again, are the same pairs.
        let twice = [&input[..], &input[..], &input[..100]].concat();
        let again = built_with_ids(&twice, options().codec(codec));
        assert!(again == built_with_ids(&input, options().codec(codec)), "{codec}");
        assert_eq!(index.stats().ids.unwrap().count, index.verify().unwrap().ids);
    }
}

#[test]
fn a_single_id_for_each_fingerprint_comes_back() {
    let mut stored = data::<u128>(Shape::Mixed, 3000, 12);
    stored.sort_unstable();
    stored.dedup();
    let input: Vec<(u128, u64)> = (1000..).zip(shuffled(&stored, 1)).map(|(id, x)| (x, id)).collect();
    for codec in Codec::ALL {
        ids_are_right(&input, BuildOptions::new().codec(codec).block_bytes(512));
    }
}

#[test]
fn ids_at_both_ends_of_their_range_come_back() {
    let stored = data::<u64>(Shape::Uniform, 500, 13);
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    let spread: Vec<(u64, u64)> = stored.iter().flat_map(|&x| ends.map(|id| (x, id))).collect();
    let index = ids_are_right(&spread, BuildOptions::new());
    let stats = index.stats().ids.unwrap();
    assert_eq!((stats.base, stats.bits), (0, 64));
    let greatest: Vec<(u64, u64)> = stored.iter().map(|&x| (x, u64::MAX)).collect();
    let stats = ids_are_right(&greatest, BuildOptions::new()).stats().ids.unwrap();
    assert_eq!((stats.base, stats.bits), (u64::MAX, 0));
    let least: Vec<(u64, u64)> = stored.iter().map(|&x| (x, 0)).collect();
    ids_are_right(&least, BuildOptions::new());
}

#[test]
fn one_fingerprint_with_very_many_ids_stands_among_others() {
    let mut input: Vec<(u64, u64)> = (0..300_000).map(|id| (0, id)).collect();
    input.extend(data::<u64>(Shape::Uniform, 2000, 14).into_iter().map(|x| (x, 5)));
    input.push((u64::MAX, 1));
    for codec in Codec::ALL {
        let index = ids_are_right(&input, BuildOptions::new().codec(codec));
        assert_eq!(index.ids(0).unwrap().nth(299_999), Some(299_999));
    }
}

/// Ranks are 4,096 places apart: marks lie right before, at and behind such places, and far from each other.
#[test]
fn numbers_of_ids_around_the_distance_of_ranks_come_back() {
    let mut numbers = Numbers(19);
    let counts = [4095, 1, 4096, 4097, 1, 1, 8191, 1, 3, 20_000, 2, 4094, 1, 12_288, 1];
    let input: Vec<(u64, u64)> = counts
        .iter()
        .chain(&counts)
        .flat_map(|&count| {
            let fingerprint = numbers.word();
            (0..count).map(move |id| (fingerprint, id))
        })
        .collect();
    for codec in Codec::ALL {
        ids_are_right(&input, BuildOptions::new().codec(codec).block_bytes(512));
    }
}

/// Neighbours of a fingerprint with very many ids are found without scanning its marks.
#[test]
fn ids_beside_very_many_others_are_found_without_reading_these() {
    use crate::common::file;

    let mut input: Vec<(u64, u64)> = (0..300_000).map(|id| (1 << 32, id)).collect();
    input.extend((0..20).map(|x| (1 << 32 | x, 7)));
    input.extend((0..20).map(|x| (x, x)));
    let mut bytes = built_with_ids(&input, BuildOptions::new());
    // Marks of the many: no checksum of theirs is right any more.
    let marks = file::section(&bytes, file::ID_STARTS, 0);
    assert!(marks.length > 8 * file::PAGE);
    bytes[marks.offset + file::PAGE..][..marks.length - 2 * file::PAGE].fill(0xaa);
    let index = index::<u64>(bytes);
    for x in 1..20 {
        assert_eq!(index.ids(1 << 32 | x).unwrap().collect::<Vec<_>>(), [7]);
        assert_eq!(index.ids(x).unwrap().collect::<Vec<_>>(), [x]);
    }
    assert_eq!(index.ids(1 << 32).unwrap().len(), 300_000);
    assert!(index.verify().is_err());
}

#[test]
fn ids_are_all_or_nothing() {
    let scratch = Scratch::new();
    let mut plain = Builder::<u64>::new(scratch.path("plain")).unwrap();
    plain.push(1).unwrap();
    assert!(matches!(plain.push_with_id(2, 3), Err(BuildError::IdUnexpected)));
    let mut with_ids =
        Builder::<u64>::with_options(scratch.path("ids"), BuildOptions::new().ids(true)).unwrap();
    with_ids.push_with_id(1, 2).unwrap();
    assert!(matches!(with_ids.push(2), Err(BuildError::IdMissing)));
    // Rejected ids are not in the index, accepted ones are.
    let (plain, with_ids) = (plain.finish().unwrap(), with_ids.finish().unwrap());
    assert_eq!((plain.pushed, plain.fingerprints), (1, 1));
    assert_eq!((with_ids.pushed, with_ids.ids), (1, 1));
    let index = Index::<u64>::open(scratch.path("plain")).unwrap();
    assert!(!index.has_ids());
    assert_eq!(index.ids(1).unwrap().len(), 0);
    assert_eq!(Index::<u64>::open(scratch.path("ids")).unwrap().len(), 1);
}
