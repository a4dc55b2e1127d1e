//! Everything stored, in natural order: from any value on, whole or in parts.

use crate::common::{Numbers, SHAPES, built, built_with_ids, data, id_lists, index, with_a_damaged_block};
use hamdex::{BuildOptions, Codec, Entries, Fingerprint, Index};

type Listed<F> = Vec<(F, Vec<u64>)>;

fn listed<F: Fingerprint>(entries: Entries<'_, F>) -> Listed<F> {
    entries.map(|entry| entry.unwrap()).map(|entry| (entry.fingerprint, entry.ids.collect())).collect()
}

/// Checks all entries, those from some values on, and the parts of both.
fn entries_are<F: Fingerprint>(index: &Index<F>, expected: &Listed<F>) {
    let mut numbers = Numbers(4);
    assert_eq!(&listed(index.entries()), expected);
    let mut starts = vec![F::ZERO, F::ONES];
    for _ in 0..10 {
        starts.push(numbers.fingerprint());
        if let Some(at) = numbers.word().checked_rem(expected.len() as u64) {
            let stored = expected[at as usize].0;
            starts.extend([stored, numbers.near(stored, 2)]);
        }
    }
    for (number, start) in starts.into_iter().enumerate() {
        let rest = &expected[expected.partition_point(|(fingerprint, _)| *fingerprint < start)..];
        assert_eq!(listed(index.entries().from(start)), rest);
        let fingerprints: Vec<F> = index.fingerprints().from(start).collect::<Result<_, _>>().unwrap();
        assert!(fingerprints.iter().eq(rest.iter().map(|(fingerprint, _)| fingerprint)));
        // A later start never brings back what an earlier one left out.
        assert_eq!(listed(index.entries().from(start).from(F::ZERO)), rest);
        for parts in [1, 2, 3, number, 1000] {
            // Some of them may have been read before.
            let read = numbers.below(3) as usize;
            let mut entries = index.entries().from(start);
            assert!(entries.by_ref().take(read).all(|entry| entry.is_ok()));
            let split = entries.split(parts);
            assert!(split.len() <= parts.max(1));
            let all: Listed<F> = split.into_iter().flat_map(listed).collect();
            assert_eq!(all, rest[read.min(rest.len())..], "{parts} parts after {read}");
            let split = index.fingerprints().from(start).split(parts);
            assert!(split.into_iter().flatten().map(Result::unwrap).eq(fingerprints.iter().copied()));
        }
    }
}

fn every_shape<F: Fingerprint>(count: usize) {
    for shape in SHAPES {
        let stored = data::<F>(shape, count, 7);
        let mut numbers = Numbers(8);
        let pairs: Vec<(F, u64)> = stored
            .iter()
            .flat_map(|&x| (0..=numbers.below(3)).map(|_| (x, numbers.below(1 << 20))).collect::<Vec<_>>())
            .collect();
        let single: Vec<(F, u64)> = id_lists(&pairs).into_keys().zip(3..).collect();
        for codec in Codec::ALL {
            let options = || BuildOptions::new().codec(codec).block_bytes(512);
            let plain = index::<F>(built(&stored, options()));
            entries_are(&plain, &id_lists(&pairs).into_keys().map(|x| (x, vec![])).collect());
            for pairs in [&pairs, &single] {
                let with_ids = index::<F>(built_with_ids(pairs, options()));
                entries_are(&with_ids, &id_lists(pairs).into_iter().collect());
            }
        }
    }
}

#[test]
fn entries_come_in_order_whole_and_in_parts_at_64_bits() {
    every_shape::<u64>(2000);
}

#[test]
fn entries_come_in_order_whole_and_in_parts_at_128_bits() {
    every_shape::<u128>(500);
}

#[test]
fn entries_end_with_the_first_error() {
    let (bytes, keys) = with_a_damaged_block();
    let index = index::<u64>(bytes);
    let mut entries = index.entries();
    let whole = entries.by_ref().take_while(Result::is_ok).count();
    assert!(whole > 0 && entries.next().is_none() && entries.next().is_none());
    assert!(index.entries().from(keys[2]).nth(1).unwrap().is_err());
    assert!(index.entries().from(keys[3] + 1).all(|entry| entry.is_ok()));
}
