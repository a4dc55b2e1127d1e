//! Names of ids: round trips for all ids, codecs, widths and memory limits.

use std::collections::BTreeMap;

use crate::common::{Numbers, Scratch, Shape, built_with_ids, built_with_names, data, index};
use hamdex::{BuildError, BuildOptions, Builder, Checksums, Codec, Fingerprint, Index, Merger, OpenOptions};
use proptest::prelude::*;

type Named = BTreeMap<u64, Vec<u8>>;

/// One fingerprint for each id, several for some, and the same for several.
fn pairs_of<F: Fingerprint>(ids: impl IntoIterator<Item = u64>) -> Vec<(F, u64)> {
    let mut numbers = Numbers(3);
    let centre: F = numbers.fingerprint();
    let pairs = ids.into_iter().flat_map(|id| {
        let near = numbers.near(centre, 2);
        let own = numbers.fingerprint();
        [(own, id), (near, id)].into_iter().take(1 + usize::from(id % 3 == 0)).collect::<Vec<_>>()
    });
    pairs.collect()
}

fn read_all<F: Fingerprint>(index: &Index<F>) -> Named {
    let names = index.names().unwrap().unwrap();
    let all: Named = names.iter().map(|name| name.map(|(id, name)| (id, name.to_vec())).unwrap()).collect();
    assert_eq!((all.len() as u64, all.is_empty()), (names.len(), names.is_empty()));
    assert_eq!(names.last_id().unwrap(), all.last_key_value().map(|(id, _)| *id));
    all
}

fn comes_back<F: Fingerprint>(named: &Named, codec: Codec) {
    let pairs = pairs_of::<F>(named.keys().copied());
    let options = || BuildOptions::new().codec(codec);
    let bytes = built_with_names(&pairs, named, options());
    let index = index::<F>(bytes.clone());
    assert!(index.has_names() && index.has_ids());
    assert_eq!(&read_all(&index), named);
    assert_eq!(index.verify().unwrap().names, named.len() as u64);
    let names = index.names().unwrap().unwrap();
    for (&id, name) in named {
        assert_eq!(names.get(id).unwrap(), Some(name.as_slice()));
        for other in [id.wrapping_sub(1), id.wrapping_add(1), id ^ 1 << 40] {
            assert_eq!(names.get(other).unwrap(), named.get(&other).map(Vec::as_slice));
        }
    }
    for checksums in [Checksums::Always, Checksums::UpFront] {
        let index = OpenOptions::new().checksums(checksums).from_bytes::<F>(&bytes).unwrap();
        assert_eq!(&read_all(&index), named);
    }
    // The order of the fingerprints does not matter, and names count.
    let mut reversed = pairs.clone();
    reversed.reverse();
    assert!(built_with_names(&reversed, named, options()) == bytes);
    if let Some(mut last) = named.clone().last_entry() {
        last.get_mut().push(b'x');
        let mut other = named.clone();
        other.insert(*last.key(), last.get().clone());
        let other = Index::<F>::from_bytes(built_with_names(&pairs, &other, options())).unwrap();
        assert_ne!(other.file_id(), index.file_id());
    }
}

fn some_names() -> impl Strategy<Value = Named> {
    let name = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(Vec::new()),
        prop::collection::vec(Just(0xff), 4090..4100),
    ];
    let ids = prop_oneof![
        // Consecutive, nearly so, and anything.
        (any::<u64>(), 0u64..60).prop_map(|(first, count)| {
            let first = first.min(u64::MAX - 60);
            (first..first + count).collect::<Vec<u64>>()
        }),
        prop::collection::vec(0u64..100, 0..60),
        prop::collection::vec(any::<u64>(), 0..60),
    ];
    ids.prop_flat_map(move |mut ids| {
        ids.sort_unstable();
        ids.dedup();
        let count = ids.len();
        (Just(ids), prop::collection::vec(name.clone(), count..=count))
            .prop_map(|(ids, names)| ids.into_iter().zip(names).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn names_come_back(named in some_names(), codec in prop_oneof![Just(Codec::Huffman), Just(Codec::EliasFano)]) {
        comes_back::<u64>(&named, codec);
        comes_back::<u128>(&named, codec);
    }
}

fn text(id: u64) -> Vec<u8> {
    format!("https://example.org/{id}").into_bytes()
}

#[test]
fn a_million_names_are_written_in_little_memory_and_found_one_by_one() {
    let scratch = Scratch::new();
    let path = scratch.path("named.hamdex");
    let options = BuildOptions::new().names(true).memory(16 << 20);
    let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
    let stored = data::<u64>(Shape::Uniform, 1_000_000, 4);
    for (id, &fingerprint) in (0..).zip(&stored) {
        builder.push_with_id(fingerprint, id * 3).unwrap();
        builder.push_name(id * 3, text(id * 3)).unwrap();
    }
    builder.finish().unwrap();
    let index = Index::<u64>::open(&path).unwrap();
    let names = index.names().unwrap().unwrap();
    assert_eq!(names.len(), 1_000_000);
    for (id, &fingerprint) in (0..).zip(&stored).step_by(997) {
        assert_eq!(index.ids(fingerprint).unwrap().collect::<Vec<_>>(), [id * 3]);
        assert_eq!(names.get(id * 3).unwrap(), Some(text(id * 3).as_slice()));
        assert_eq!(names.get(id * 3 + 1).unwrap(), None);
    }
    assert_eq!(index.verify().unwrap().names, 1_000_000);
}

#[test]
fn an_index_without_fingerprints_may_have_names_or_none() {
    for named in [Named::new(), Named::from([(5, b"a".to_vec())])] {
        let index = index::<u64>(built_with_names::<u64>(&[], &named, BuildOptions::new()));
        assert_eq!(read_all(&index), named);
        index.verify().unwrap();
    }
    let plain = index::<u64>(crate::common::built(&[1u64], BuildOptions::new()));
    assert!(plain.names().unwrap().is_none() && !plain.has_names());
}

fn said(outcome: Result<impl Sized, BuildError>) -> String {
    outcome.err().expect("it is refused").to_string()
}

#[test]
fn what_is_wrong_with_names_is_said_and_leaves_nothing() {
    let scratch = Scratch::new();
    let path = scratch.path("named.hamdex");
    let start = || Builder::<u64>::with_options(&path, BuildOptions::new().names(true)).unwrap();
    let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true)).unwrap();
    assert!(said(builder.push_name(1, "a")).contains("this index has none"));
    let mut builder = start();
    builder.push_name(7, "a").unwrap();
    for id in [7, 3] {
        assert!(said(builder.push_name(id, "b")).contains(&format!("of id {id} comes after that of id 7")));
    }
    // Below, above and between ids with names.
    for (named, id) in [(&[5, 6][..], 4), (&[5, 6], 7), (&[5, 7], 6), (&[], 0), (&[5, 7, 9], 8)] {
        let mut builder = start();
        named.iter().for_each(|&id| builder.push_name(id, "name").unwrap());
        named.iter().for_each(|&id| builder.push_with_id(id, id).unwrap());
        builder.push_with_id(99, id).unwrap();
        assert!(said(builder.finish()).contains(&format!("id {id} has none")), "{named:?}, {id}");
    }
    assert!(!path.exists());
}

/// Indexes of a part of the pairs each, with the names of their ids.
fn dealt(pairs: &[(u64, u64)], hands: usize) -> Vec<Index<u64>> {
    let mut numbers = Numbers(8);
    let mut parts = vec![Vec::new(); hands];
    for &pair in pairs {
        for _ in 0..=numbers.below(4) / 3 {
            parts[numbers.below(hands as u64) as usize].push(pair);
        }
    }
    let named = |part: &[(u64, u64)]| part.iter().map(|&(_, id)| (id, text(id))).collect::<Named>();
    parts.iter().map(|part| index(built_with_names(part, &named(part), BuildOptions::new()))).collect()
}

fn merged(merger: Merger<'_, u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    merger.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn names_are_united_by_id_and_go_with_their_ids() {
    let pairs = pairs_of::<u64>((0..2000).map(|n| n * n));
    let named = |pairs: &[(u64, u64)]| pairs.iter().map(|&(_, id)| (id, text(id))).collect::<Named>();
    for hands in [1, 2, 5] {
        let inputs = dealt(&pairs, hands);
        let file = merged(Merger::new(&inputs).unwrap());
        assert!(
            file == built_with_names(&pairs, &named(&pairs), inputs[0].build_options()),
            "{hands} inputs"
        );
        let keep = |_: usize, fingerprint: u64, id: Option<u64>| {
            !fingerprint.is_multiple_of(4) && !id.unwrap().is_multiple_of(5)
        };
        let kept: Vec<(u64, u64)> = pairs.iter().copied().filter(|&(x, id)| keep(0, x, Some(id))).collect();
        let file = merged(Merger::new(&inputs).unwrap().filter(keep));
        assert!(file == built_with_names(&kept, &named(&kept), inputs[0].build_options()), "{hands} inputs");
        index::<u64>(file).verify().unwrap();
    }
}

#[test]
fn what_was_numbered_apart_is_numbered_anew() {
    let parts = [(0..40), (0..0), (3..90), (0..1)];
    let inputs: Vec<Index<u64>> = (0u64..)
        .zip(&parts)
        .map(|(number, ids)| {
            let pairs: Vec<(u64, u64)> = ids.clone().map(|id| ((number << 32) | (id / 2), id)).collect();
            let named = ids.clone().map(|id| (id, format!("{number}/{id}").into_bytes())).collect();
            index(built_with_names(&pairs, &named, BuildOptions::new()))
        })
        .collect();
    let file = index::<u64>(merged(Merger::new(&inputs).unwrap().renumber(true)));
    file.verify().unwrap();
    let names = file.names().unwrap().unwrap();
    assert_eq!(names.len(), parts.iter().map(Clone::clone).map(Iterator::count).sum::<usize>() as u64);
    for (number, ids) in (0u64..).zip(parts) {
        for id in ids {
            let found = file.ids((number << 32) | (id / 2)).unwrap();
            let found: Vec<&[u8]> = found.map(|id| names.get(id).unwrap().unwrap()).collect();
            assert!(found.contains(&format!("{number}/{id}").as_bytes()), "{number}/{id}: {found:?}");
        }
    }
    // As they are, id 3 is two documents.
    assert!(said(Merger::new(&inputs).unwrap().write_to(&mut Vec::new())).contains("\"0/0\""));
}

#[test]
fn indexes_with_names_and_without_are_not_merged_nor_are_ids_that_become_too_large() {
    let named = |id| Named::from([(id, b"a".to_vec())]);
    let with = |id| index::<u64>(built_with_names(&[(1u64, id)], &named(id), BuildOptions::new()));
    let without = index::<u64>(built_with_ids(&[(1u64, 7)], BuildOptions::new()));
    assert!(said(Merger::new([&with(7), &without])).contains("others have none"));
    for (first, second) in [(u64::MAX, 0), (7, u64::MAX)] {
        let inputs = [with(first), with(second)];
        let merger = Merger::new(&inputs).unwrap().renumber(true);
        assert!(said(merger.write_to(&mut Vec::new())).contains("exceed 64 bits"));
    }
}

/// The width of ids bounds them from above; only ids beyond 64 bits are too large.
#[test]
fn ids_that_fit_are_numbered_anew() {
    let with = |ids: [u64; 2]| -> Index<u64> {
        index(built_with_ids(&ids.map(|id| (!id, id)), BuildOptions::new()))
    };
    let (few, half, far) = (with([4, 7]), with([0, 1 << 62]), with([0, 1 << 63]));
    for (inputs, last) in [
        (vec![&few, &far], (1 << 63) + 8),
        (vec![&far, &few], (1 << 63) + 8),
        (vec![&half, &half, &half], 3 * (1 << 62) + 2),
    ] {
        let file = index::<u64>(merged(Merger::new(inputs).unwrap().renumber(true)));
        let entries: Vec<_> = file.entries().map(Result::unwrap).collect();
        assert_eq!(entries.iter().flat_map(|entry| entry.ids.clone()).max(), Some(last));
    }
    let merger = Merger::new([&far, &far]).unwrap().renumber(true);
    assert!(said(merger.write_to(&mut Vec::new())).contains("exceed 64 bits"));
}

/// Names and documents may have ids that no fingerprint has.
#[test]
fn ids_of_columns_alone_are_numbered_anew() {
    let mut builder = Builder::in_memory(BuildOptions::new().ids(true).shingles(true)).unwrap();
    builder.push_with_id(5u64, 1).unwrap();
    [1, 4].into_iter().for_each(|id| builder.push_shingles(id, &[id]).unwrap());
    let input = index::<u64>(builder.into_inner().unwrap().0);
    let file = index::<u64>(merged(Merger::new([&input, &input]).unwrap().renumber(true)));
    assert_eq!(file.ids(5).unwrap().collect::<Vec<_>>(), [1, 6]);

    for (last_name, last_document) in [(9, 4), (4, 9), (u64::MAX, 4), (4, u64::MAX)] {
        let mut builder = Builder::in_memory(BuildOptions::new().names(true).shingles(true)).unwrap();
        builder.push_with_id(5u64, 0).unwrap();
        for id in [0, last_name] {
            builder.push_name(id, text(id)).unwrap();
        }
        for id in [0, last_document] {
            builder.push_shingles(id, &[id % 7]).unwrap();
        }
        let input = index::<u64>(builder.into_inner().unwrap().0);
        let merger = Merger::new([&input, &input]).unwrap().renumber(true);
        if last_name.max(last_document) == u64::MAX {
            assert!(said(merger.write_to(&mut Vec::new())).contains("exceed 64 bits"));
            continue;
        }
        let file = index::<u64>(merged(merger));
        file.verify().unwrap();
        assert_eq!(file.ids(5).unwrap().collect::<Vec<_>>(), [0, 10]);
        assert_eq!(read_all(&file).into_keys().collect::<Vec<_>>(), [0, last_name, 10, 10 + last_name]);
    }
}

/// Damaged names do not hinder queries without them.
#[test]
fn an_index_with_damaged_names_answers_by_number() {
    let pairs = pairs_of::<u64>(0..500);
    let named: Named = (0..500).map(|id| (id, text(id))).collect();
    let bytes = built_with_names(&pairs, &named, BuildOptions::new());
    let at = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text).unwrap();
    let mut damaged = bytes.clone();
    damaged[at(&text(250))] ^= 1;
    let index = index::<u64>(damaged);
    let (fingerprint, id) = pairs[300];
    assert!(index.ids(fingerprint).unwrap().any(|found| found == id));
    let names = index.names().unwrap().unwrap();
    let failed = (0..500).filter(|&id| names.get(id).is_err()).count();
    assert!((1..500).contains(&failed), "{failed} names lie on the damaged page");
    assert!((0..500).all(|id| names.get(id).map_or(true, |name| name == Some(&text(id)))));
    assert!(index.verify().unwrap_err().to_string().contains("the names"));
}
