//! Removals files: valid ones are read, and all others rejected.

use std::collections::BTreeSet;

use hamdex_simulated_disk::{Failure, Survival};
use hamdex_store::Error;
use hamdex_store::disk::Disk;
use hamdex_store::inspect::StoreId;
use hamdex_store::internals::manifest::{MAX_NUMBER, RemovalsEntry, SegmentEntry};
use hamdex_store::internals::removals::{read, to_bytes, write};
use proptest::collection::btree_set;
use proptest::prelude::*;
use roaring::RoaringTreemap;

use crate::common::{IDENTITY, disk, survivals};

const STORE: StoreId = IDENTITY.store;

/// A segment with these places removed, in the second version.
fn segment(pairs: u64, removed: &RoaringTreemap) -> SegmentEntry {
    let removals = Some(RemovalsEntry { version: 2, count: removed.len() });
    SegmentEntry {
        number: 17,
        file_id: [9; 16],
        bytes: 0,
        fingerprints: pairs,
        pairs,
        level: 0,
        born: 0,
        applied: 0,
        removals,
    }
}

fn some() -> (RoaringTreemap, SegmentEntry) {
    let removed: RoaringTreemap = [3, 4, 70_000, 5 << 32].into_iter().collect();
    let segment = segment(6 << 32, &removed);
    (removed, segment)
}

/// Reads a removals file of these bytes.
fn reading(bytes: &[u8], segment: &SegmentEntry) -> Result<RoaringTreemap, Error> {
    let disk = disk();
    std::io::Write::write_all(&mut disk.create_new("deletes/000017-2").unwrap(), bytes).unwrap();
    read(&disk, STORE, segment)
}

/// Mends the checksum, by writing the same bytes again.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (removed, segment) = some();
    let mut bytes = to_bytes(STORE, &segment, 2, &removed);
    bytes.truncate(bytes.len() - 4);
    change(&mut bytes);
    let mut context =
        [STORE.0.as_slice(), &3_u64.to_le_bytes(), &17_u64.to_le_bytes(), &2_u64.to_le_bytes()].concat();
    context.extend(&bytes);
    let checksum = crc32fast::hash(&context);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn places() -> impl Strategy<Value = BTreeSet<u64>> {
    prop_oneof![
        btree_set(0..1_000_u64, 1..50),
        btree_set(any::<u64>().prop_map(|place| place >> 20), 1..50),
        (0..1_u64 << 40, 1..9_000_u64).prop_map(|(first, count)| (first..first + count).collect()),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(places in places(), more in 1..1_000_u64) {
        let removed: RoaringTreemap = places.iter().copied().collect();
        let segment = segment(places.last().unwrap() + more, &removed);
        let disk = disk();
        let bytes = write(&disk, STORE, &segment, 2, &removed).unwrap();
        prop_assert_eq!(disk.length("deletes/000017-2").unwrap(), bytes);
        prop_assert_eq!(read(&disk.crashed(Survival::Nothing), STORE, &segment).unwrap(), removed);
    }

    #[test]
    fn no_bitmap_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..80_usize) {
        let hostile = changed(|contents| {
            contents.truncate(72 + at);
            contents.extend(&bytes);
            let length = (contents.len() - 72) as u64;
            contents[64..72].copy_from_slice(&length.to_le_bytes());
        });
        let (removed, segment) = some();
        if let Ok(found) = reading(&hostile, &segment) {
            prop_assert_eq!(found.len(), removed.len());
            prop_assert!(found.max() < Some(segment.pairs));
        }
    }
}

#[test]
fn a_version_that_no_store_gives_is_not_written() {
    let (removed, segment) = some();
    let disk = disk();
    write(&disk, STORE, &segment, MAX_NUMBER, &removed).unwrap();
    let refused = write(&disk, STORE, &segment, MAX_NUMBER + 1, &removed).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
    assert_eq!(disk.list("deletes").unwrap(), [format!("000017-{MAX_NUMBER}")]);
}

#[test]
fn a_segment_without_removals_has_none() {
    let (_, segment) = some();
    let segment = SegmentEntry { removals: None, ..segment };
    assert!(read(&disk(), STORE, &segment).unwrap().is_empty());
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused_with_the_file() {
    let (removed, segment) = some();
    let bytes = to_bytes(STORE, &segment, 2, &removed);
    assert_eq!(reading(&bytes, &segment).unwrap(), removed);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let error = reading(&flipped, &segment).unwrap_err();
        assert!(
            matches!(&error, Error::Damaged { path, .. } if path.ends_with("deletes/000017-2")),
            "{error}"
        );
    }
    for length in 0..bytes.len() {
        assert!(matches!(reading(&bytes[..length], &segment), Err(Error::Damaged { .. })), "{length} bytes");
    }
    assert!(matches!(read(&disk(), STORE, &segment), Err(Error::Missing { .. })));
}

#[test]
fn removals_of_something_else_are_refused() {
    let (removed, segment) = some();
    let bytes = to_bytes(STORE, &segment, 2, &removed);
    let is_damaged = |segment: SegmentEntry| matches!(reading(&bytes, &segment), Err(Error::Damaged { .. }));
    assert!(is_damaged(SegmentEntry { file_id: [8; 16], ..segment.clone() }));
    assert!(is_damaged(SegmentEntry { pairs: 7 << 32, ..segment.clone() }));
    assert!(is_damaged(SegmentEntry {
        removals: Some(RemovalsEntry { version: 2, count: 5 }),
        ..segment.clone()
    }));
    let other_store = to_bytes(StoreId([1; 16]), &segment, 2, &removed);
    assert!(matches!(reading(&other_store, &segment), Err(Error::Damaged { .. })));
    let other_version = to_bytes(STORE, &segment, 3, &removed);
    assert!(matches!(reading(&other_version, &segment), Err(Error::Damaged { .. })));
}

#[test]
fn what_cannot_be_is_refused_under_a_right_checksum() {
    let (removed, segment) = some();
    assert_eq!(reading(&changed(|_| {}), &segment).unwrap(), removed, "the checksum is made as it should be");
    assert!(matches!(reading(&changed(|bytes| bytes[8] = 2), &segment), Err(Error::Newer { found: 2, .. })));
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 7] = [
        ("version 0", |bytes| bytes[8] = 0),
        ("a reserved byte", |bytes| bytes[12] = 1),
        ("one bitmap more than there are", |bytes| bytes[72] += 1),
        ("one bitmap less than there are", |bytes| bytes[72] -= 1),
        ("high bits out of order", |bytes| bytes[80] = 9),
        ("a cookie that is none", |bytes| bytes[84] ^= 0xff),
        ("a place beyond the segment", |bytes| {
            // The only place of the second bitmap: its high bits.
            let at = bytes.len() - 22;
            assert_eq!(bytes[at], 5);
            bytes[at] = 6;
        }),
    ];
    for (what, change) in changes {
        let error = reading(&changed(change), &segment).expect_err(what);
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error}");
    }
}

#[test]
fn after_a_failure_of_any_operation_the_next_attempt_succeeds() {
    let (removed, segment) = some();
    let whole = disk();
    let before = whole.operations();
    write(&whole, STORE, &segment, 2, &removed).unwrap();
    for operation in before + 1..=whole.operations() {
        let disk = disk();
        disk.fail_operation(operation, Failure::Full);
        assert!(matches!(write(&disk, STORE, &segment, 2, &removed), Err(Error::Io { .. })));
        write(&disk, STORE, &segment, 2, &removed).unwrap();
        for survival in survivals(10) {
            assert_eq!(read(&disk.crashed(survival), STORE, &segment).unwrap(), removed);
        }
    }
}
