//! Logs: batches are read as they were written, and damage is reported with its offset.

use hamdex::Fingerprint;
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::disk::Disk;
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::Name;
use hamdex_store::internals::log::{LogWriter, Position, Sealed, replay};
use hamdex_store::{Error, Operation};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{Batch, IDENTITY, batch, disk, replayed, writer};

/// A closed store of two logs with three batches, and its seal.
fn closed() -> (SimulatedDisk, Vec<Batch<u64>>, Sealed) {
    let disk = disk();
    let mut log = writer(&disk, IDENTITY);
    let batches: Vec<_> = [(1, 2), (2, 0), (3, 1)].map(|(sequence, length)| batch(sequence, length)).into();
    for (number, (sequence, operations)) in batches.iter().enumerate() {
        log.push(*sequence, operations);
        log.sync().unwrap();
        if number == 1 {
            log.rotate().unwrap();
        }
    }
    let sealed = log.sealed();
    (disk, batches, sealed)
}

/// Replays a store with an altered log, given its seal.
fn after(alter: impl FnOnce(&SimulatedDisk)) -> Result<Vec<Batch<u64>>, Error> {
    let (disk, _, sealed) = closed();
    alter(&disk);
    replayed(&disk, &IDENTITY, Some(sealed)).map(|(batches, _)| batches)
}

#[test]
fn a_log_without_records_goes_on_above_its_header() {
    let disk = disk();
    drop(LogWriter::<u64>::create(&disk, IDENTITY, 1, 98).unwrap());
    let (_, state) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
    assert_eq!(state.end.sequence, 98);
    let mut log = LogWriter::<u64>::resume(&disk, IDENTITY, &state).unwrap();
    log.push(state.end.sequence + 1, &batch(99, 1).1);
    log.sync().unwrap();
    assert_eq!(replayed::<u64>(&disk, &IDENTITY, None).unwrap().0, [batch(99, 1)]);
}

fn operations<F: Fingerprint>(has_ids: bool) -> impl Strategy<Value = Vec<Operation<F>>> {
    let operation =
        (any::<bool>(), any::<u128>(), any::<u64>()).prop_map(move |(inserts, fingerprint, id)| {
            let (fingerprint, id) = (F::truncate(fingerprint), if has_ids { id } else { 0 });
            if inserts { Operation::Insert(fingerprint, id) } else { Operation::Remove(fingerprint, id) }
        });
    vec(operation, 0..40)
}

/// Writes batches, syncs, rotates and reopens by the numbers, and reads the batches.
fn round_trip<F: Fingerprint>(has_ids: bool, batches: &[(Vec<Operation<F>>, u8)]) {
    let identity = Identity { width: F::BITS, has_ids, ..IDENTITY };
    let disk = disk();
    let mut log = writer::<F>(&disk, identity);
    let mut expected = Vec::new();
    for (number, (operations, step)) in batches.iter().enumerate() {
        let sequence = number as u64 * 2 + 1;
        log.push(sequence, operations);
        expected.push((sequence, operations.clone()));
        match step % 5 {
            0 => log.sync().unwrap(),
            1 => log.rotate().unwrap(),
            2 => {
                log.sync().unwrap();
                let (found, state) = replayed::<F>(&disk, &identity, Some(log.sealed())).unwrap();
                assert!(state.is_clean);
                assert_eq!(found, expected);
                log = LogWriter::resume(&disk, identity, &state).unwrap();
            }
            _ => {}
        }
    }
    log.sync().unwrap();
    let (found, state) = replayed::<F>(&disk, &identity, None).unwrap();
    assert_eq!(found, expected);
    assert_eq!((state.batches, state.end.offset), (expected.len() as u64, log.bytes()));
    assert!(!state.is_clean && state.torn.is_none());
}

/// Names of any bytes are read with their batch, in a store of either width.
fn names_round_trip<F: Fingerprint>(batches: &[Vec<Vec<u8>>]) {
    let identity = Identity { width: F::BITS, has_names: true, ..IDENTITY };
    let disk = disk();
    let mut log = writer::<F>(&disk, identity);
    let (mut next, mut expected) = (7, Vec::new());
    for (sequence, names) in (1..).zip(batches) {
        let named: Vec<Name> =
            (next..).step_by(3).zip(names).map(|(id, name)| (id, name[..].into())).collect();
        next += 3 * names.len() as u64;
        let mut operations: Vec<Operation<F>> = vec![Operation::Remove(F::ONES, 2)];
        operations.extend(named.iter().map(|(id, _)| Operation::Insert(F::ZERO, *id)));
        log.push_named(sequence, &operations, &named);
        expected.push(hamdex_store::Batch { operations, names: named });
    }
    log.sync().unwrap();
    let mut found = Vec::new();
    let replayed = replay(&disk, &identity, Position::start_of(1, 0), None, |_, batch| {
        found.push(batch.clone());
        Ok(())
    });
    assert_eq!(replayed.unwrap().end.offset, log.bytes());
    assert_eq!(found, expected);
}

proptest! {
    #[test]
    fn names_that_are_written_are_read(batches in vec(vec(vec(any::<u8>(), 0..60), 0..12), 0..8)) {
        names_round_trip::<u64>(&batches);
        names_round_trip::<u128>(&batches);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        with_ids in vec((operations::<u64>(true), any::<u8>()), 0..12),
        without in vec((operations::<u64>(false), any::<u8>()), 0..12),
        wide in vec((operations::<u128>(true), any::<u8>()), 0..12),
    ) {
        round_trip(true, &with_ids);
        round_trip(false, &without);
        round_trip(true, &wide);
    }
}

#[test]
fn a_reader_goes_on_where_it_stopped() {
    let (disk, batches, _) = closed();
    let mut found: Vec<Batch<u64>> = Vec::new();
    let mut position = Position::start_of(1, 0);
    let mut log =
        LogWriter::resume(&disk, IDENTITY, &replayed::<u64>(&disk, &IDENTITY, None).unwrap().1).unwrap();
    let mut expected = batches;
    for sequence in 4..20 {
        let state = replay(&disk, &IDENTITY, position, None, |sequence, batch| {
            found.push((sequence, batch.operations.clone()));
            Ok(())
        });
        position = state.unwrap().end;
        assert_eq!(found, expected);
        expected.push(batch(sequence, sequence as usize % 4));
        log.push(sequence, &expected.last().unwrap().1);
        log.write().unwrap();
        if sequence % 5 == 0 {
            log.rotate().unwrap();
        }
    }
}

#[test]
fn every_flipped_bit_of_a_closed_log_is_refused_with_its_file() {
    let (_, batches, _) = closed();
    for (name, number) in [("log/000001", 1), ("log/000002", 2)] {
        let length = closed().0.length(name).unwrap();
        for bit in 0..length as usize * 8 {
            let outcome = after(|disk| disk.alter(name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8)));
            let error = outcome.expect_err(&format!("bit {bit} of log {number}"));
            assert!(
                matches!(&error, Error::Damaged { path, .. } if path.ends_with(name)),
                "bit {bit}: {error}"
            );
        }
    }
    assert_eq!(after(|_| {}).unwrap(), batches);
}

#[test]
fn every_cut_of_a_closed_log_is_refused() {
    for name in ["log/000001", "log/000002"] {
        for length in 0..closed().0.length(name).unwrap() {
            let outcome = after(|disk| disk.alter(name, |bytes| bytes.truncate(length as usize)));
            assert!(outcome.is_err(), "{name} of {length} bytes");
        }
        assert!(matches!(after(|disk| disk.remove(name).unwrap()), Err(Error::Missing { .. })), "{name}");
    }
}

#[test]
fn without_a_seal_a_flipped_bit_is_refused_or_cuts_what_no_later_sync_covers() {
    let (disk, batches, _) = closed();
    let name = "log/000002";
    for bit in 0..disk.length(name).unwrap() as usize * 8 {
        let (disk, ..) = closed();
        disk.alter(name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        match replayed::<u64>(&disk, &IDENTITY, None) {
            Ok((found, state)) => {
                assert_eq!(found, batches[..2], "bit {bit}");
                assert_eq!(state.torn.unwrap().offset, 64, "bit {bit}");
            }
            Err(error) => {
                assert!(bit / 8 < 64 && matches!(error, Error::Damaged { .. }), "bit {bit}: {error}");
            }
        }
    }
}

#[test]
fn damage_below_what_a_later_record_knows_to_be_synced_is_refused_without_a_seal() {
    let disk = disk();
    let mut log = writer(&disk, IDENTITY);
    let mut ends = vec![log.bytes()];
    for sequence in 1..=4 {
        log.push(sequence, &batch(sequence, 3).1);
        // The last two are written after one sync: neither covers the other.
        if sequence == 3 {
            log.write().unwrap();
        } else {
            log.sync().unwrap();
        }
        ends.push(log.bytes());
    }
    for (damaged, is_refused) in [(0, true), (1, true), (2, false), (3, false)] {
        // In the operations, and in the header.
        for at in [40, 9] {
            let copy = disk.crashed(hamdex_simulated_disk::Survival::Everything);
            copy.alter("log/000001", |bytes| bytes[ends[damaged] as usize + at] ^= 0x10);
            match replayed::<u64>(&copy, &IDENTITY, None) {
                Err(Error::Damaged { offset, .. }) => {
                    assert!(is_refused, "record {damaged}");
                    assert_eq!(offset, Some(ends[damaged]));
                }
                Ok((found, state)) => {
                    assert!(!is_refused, "record {damaged}");
                    assert_eq!(found.len(), damaged);
                    assert_eq!(state.torn.unwrap().offset, ends[damaged]);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_log_from_elsewhere_is_refused_for_what_it_is() {
    let (source, ..) = closed();
    let says = |identity: Identity, alter: &dyn Fn(&SimulatedDisk)| {
        let (disk, ..) = closed();
        alter(&disk);
        replayed::<u64>(&disk, &identity, None).unwrap_err().to_string()
    };
    let other_store = Identity { store: StoreId([1; 16]), ..IDENTITY };
    assert!(says(other_store, &|_| {}).contains("belongs to another store"));
    let other_pairs = Identity { has_ids: false, ..IDENTITY };
    assert!(says(other_pairs, &|_| {}).contains("pairs of another kind"));
    let second = source.read("log/000002").unwrap();
    let moved = says(IDENTITY, &|disk| disk.alter("log/000001", |bytes| *bytes = second.clone()));
    assert!(moved.contains("the log of another number"), "{moved}");
    let unrelated = says(IDENTITY, &|disk| {
        disk.remove("log/000002").unwrap();
        LogWriter::<u64>::create(disk, IDENTITY, 2, 9).unwrap();
    });
    assert!(unrelated.contains("does not continue"), "{unrelated}");
    let gap = says(IDENTITY, &|disk| {
        let state = replayed::<u64>(disk, &IDENTITY, None).unwrap().1;
        let mut log = LogWriter::<u64>::resume(disk, IDENTITY, &state).unwrap();
        log.rotate().unwrap();
        disk.remove("log/000002").unwrap();
    });
    assert!(gap.starts_with("store/log/000002: is missing"), "{gap}");
}

#[test]
fn a_record_from_another_place_is_no_record() {
    let disk = disk();
    let mut log = writer(&disk, IDENTITY);
    log.push(1, &batch(1, 4).1);
    log.sync().unwrap();
    let record = log.bytes() as usize - 64;
    // The same record once more, where the next one would be.
    disk.alter("log/000001", |bytes| bytes.extend_from_within(64..));
    let (found, state) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
    assert_eq!(found, [batch(1, 4)]);
    assert_eq!(state.torn.unwrap().bytes, record as u64);
}

#[test]
fn a_log_that_has_records_is_not_created_again() {
    let (disk, ..) = closed();
    let again = || LogWriter::<u64>::create(&disk, IDENTITY, 1, 0);
    assert!(
        matches!(again(), Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists)
    );
    for left in [64, 30, 0] {
        disk.alter("log/000001", |bytes| bytes.truncate(left));
        again().unwrap();
    }
}

#[test]
fn any_change_of_the_bytes_is_refused_or_cuts_the_end() {
    proptest!(|(
        name in prop_oneof![Just("log/000001"), Just("log/000002")],
        at in any::<prop::sample::Index>(), removed in 0..80_usize, added in vec(any::<u8>(), 0..80), is_sealed in any::<bool>(),
    )| {
        let (disk, batches, sealed) = closed();
        disk.alter(name, |bytes| {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..(at + removed).min(bytes.len()), added.iter().copied());
        });
        if let Ok((found, _)) = replayed::<u64>(&disk, &IDENTITY, is_sealed.then_some(sealed)) {
            prop_assert!(batches.starts_with(&found));
            prop_assert!(found.len() == batches.len() || !is_sealed && found.len() >= 2);
        }
    });
}

#[test]
fn a_newer_log_is_refused_as_such() {
    let (disk, ..) = closed();
    disk.alter("log/000001", |bytes| {
        bytes[8] = 2;
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
    });
    let error = replayed::<u64>(&disk, &IDENTITY, None).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }), "{error}");
}

#[test]
fn another_width_is_refused() {
    let (disk, ..) = closed();
    let error = replayed::<u128>(&disk, &IDENTITY, None).unwrap_err();
    assert!(matches!(error, Error::Width { found: 64, expected: 128, .. }), "{error}");
}

#[test]
fn bytes_of_any_kind_behind_the_synced_ones_change_nothing() {
    proptest!(|(tail in vec(any::<u8>(), 0..300), markers in any::<bool>())| {
        let (disk, batches, sealed) = closed();
        disk.alter("log/000002", |bytes| {
            bytes.extend(&tail);
            if markers {
                bytes.extend(b"\x89HDR".repeat(20));
            }
        });
        let (found, state) = replayed::<u64>(&disk, &IDENTITY, Some(sealed)).unwrap();
        prop_assert_eq!(&found, &batches);
        prop_assert_eq!(state.end.offset, sealed.bytes);
        // They are absent after the next opening.
        let log = LogWriter::<u64>::resume(&disk, IDENTITY, &state).unwrap();
        prop_assert_eq!(disk.length("log/000002").unwrap(), log.bytes());
        prop_assert!(replayed::<u64>(&disk, &IDENTITY, Some(log.sealed())).unwrap().1.is_clean);
    });
}

#[test]
fn removals_have_room_again_after_a_write_for_which_there_was_none() {
    let disk = disk();
    disk.set_space(2 << 20);
    let mut log = writer::<u64>(&disk, IDENTITY);
    log.push(1, &[Operation::Insert(7, 1)]);
    log.reserve_space().unwrap();
    log.sync().unwrap();
    // Other programs take the rest, and more pairs are removed at once than room is kept for.
    disk.set_space(0);
    log.push(2, &vec![Operation::Remove(7, 1); 100_000]);
    log.write().unwrap_err();
    assert!(!log.is_poisoned());
    // They take what the log has given up.
    disk.set_space(0);
    log.push(2, &[Operation::Insert(8, 1)]);
    log.reserve_space().unwrap_err();
    for sequence in 2..1000 {
        log.push(sequence, &[Operation::Remove(7, sequence)]);
        log.sync().unwrap();
    }
    let (batches, _) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
    assert_eq!(batches.len(), 999);
    // There is room again.
    disk.set_space(2 << 20);
    log.push(1000, &[Operation::Insert(8, 1)]);
    log.reserve_space().unwrap();
    log.sync().unwrap();
}

#[test]
fn a_new_log_and_one_that_goes_on_have_room_for_removals() {
    let disk = disk();
    disk.set_space(1 << 20);
    let mut log = writer::<u64>(&disk, IDENTITY);
    log.rotate().unwrap();
    disk.set_space(0);
    for sequence in 1..1000 {
        log.push(sequence, &[Operation::Remove(7, sequence)]);
        log.sync().unwrap();
    }
    drop(log);
    disk.set_space(1 << 20);
    let (_, state) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
    let mut log = LogWriter::<u64>::resume(&disk, IDENTITY, &state).unwrap();
    disk.set_space(0);
    for sequence in 1000..2000 {
        log.push(sequence, &[Operation::Remove(7, sequence)]);
        log.sync().unwrap();
    }
    assert_eq!(replayed::<u64>(&disk, &IDENTITY, None).unwrap().0.len(), 1999);
}
