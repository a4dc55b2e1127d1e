//! Repair of a whole store: interrupted anywhere, and of names.

use std::collections::BTreeMap;

use hamdex::{FilterChoice, FingerprintSet, Report, VerifyOptions};
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::internals::{repair_and_tell, repair_on};
use hamdex_store::repair::{Repaired, RepairedFile};
use hamdex_store::{Error, Operation, ReadOptions, Record, Store, StoreReader, When};

use crate::common::{Chance, Model, seeds, shape, step, tiny};

/// A closed store of two segments, removals and a log, with a block of a segment and a batch of the log damaged.
fn damaged() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let mut chance = Chance(21);
    for round in 0..2 {
        for _ in 0..3 {
            let inserts = (0..150).map(|id| Operation::Insert(chance.next(), id));
            store.write(inserts.collect()).unwrap();
        }
        store.write(chance.operations(100, true)).unwrap();
        store.flush().unwrap();
        if round == 0 {
            let gone = store.snapshot().pairs_in_order().step_by(9).map(Result::unwrap).collect::<Vec<_>>();
            for (fingerprint, id) in gone {
                store.remove(fingerprint, id).unwrap();
            }
        }
    }
    for _ in 0..6 {
        store.write(chance.operations(30, true)).unwrap();
    }
    store.close().unwrap();
    // The same block of all tables would have to be damaged for a loss: here it is the ids.
    let segments = disk.list("segments").unwrap();
    disk.alter(&format!("segments/{}", segments[0]), |bytes| bytes[4096 + 100] ^= 1);
    let log = disk.list("log").unwrap().pop().unwrap();
    disk.alter(&format!("log/{log}"), |bytes| bytes[700] ^= 1);
    disk
}

fn found(disk: &SimulatedDisk) -> Model<u64> {
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false)).unwrap();
    store.verify(&VerifyOptions::new().threads(1)).unwrap();
    Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap())
}

/// A damaged store whose manifest has to be assembled from its damaged copies.
fn damaged_with_its_manifest() -> SimulatedDisk {
    let disk = damaged();
    let text = String::from_utf8(disk.read("manifest").unwrap()).unwrap();
    let line = text.find("{\"segment\"").unwrap();
    disk.alter("manifest", |bytes| bytes[line + 80] ^= 1);
    disk.alter("manifest.copy", |bytes| bytes[20] ^= 1);
    disk
}

#[test]
fn a_damaged_filter_costs_no_pair() {
    let disk = SimulatedDisk::new();
    let create = shape(true).filter(FilterChoice::Bits(12));
    let store = Store::<u64>::create_on(disk.clone(), &create, tiny().merges(false)).unwrap();
    let mut chance = Chance(22);
    store.write((0..400).map(|id| Operation::Insert(chance.next(), id)).collect()).unwrap();
    store.close().unwrap();
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false)).unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let expected = found(&disk);
    assert_eq!(expected.0.len(), 400);
    let name = format!("segments/{}", disk.list("segments").unwrap()[0]);
    // The head of a filter: its form, and prefixes of 32 bits.
    let is_head = |bytes: &[u8]| bytes.starts_with(&[1, 0, 0, 0, 32, 0, 0, 0]);
    let segment = disk.read(&name).unwrap();
    let heads: Vec<usize> = (0..segment.len()).step_by(4096).filter(|&at| is_head(&segment[at..])).collect();
    assert_eq!(heads.len(), 2);
    disk.alter(&name, |bytes| heads.iter().for_each(|&at| bytes[at..at + 500].fill(0xee)));
    assert!(Store::<u64>::open_on(disk.clone(), tiny()).is_err());
    let repaired = repair_on(&disk).unwrap();
    assert_eq!((repaired.saved_pairs(), repaired.files[0].lost_pairs), (400, 0), "{repaired:?}");
    assert_eq!(found(&disk), expected);
    // The new segment has filters of its own.
    let name = format!("segments/{}", disk.list("segments").unwrap()[0]);
    let segment = disk.read(&name).unwrap();
    assert_eq!((0..segment.len()).step_by(4096).filter(|&at| is_head(&segment[at..])).count(), 2);
}

#[test]
fn what_the_system_refuses_is_no_damage() {
    refusals_are_no_damage(damaged);
    refusals_are_no_damage(damaged_with_its_manifest);
}

fn refusals_are_no_damage(damaged: fn() -> SimulatedDisk) {
    let whole = damaged();
    let before = whole.operations();
    let repaired = repair_on(&whole).unwrap();
    let after = whole.operations();
    let expected = found(&whole);
    let mut refused = 0;
    for number in (before + 1..=after).step_by(step(3)) {
        let disk = damaged();
        disk.fail_operation(number, Failure::Io);
        let outcome = repair_on(&disk);
        disk.fail_operations(0..0, Failure::Io);
        refused += u64::from(outcome.is_err());
        // A refusal that did not matter, or an error; and then it can be repeated.
        if let Ok(repeated) = outcome {
            assert_eq!(repeated, repaired, "operation {number}");
        } else {
            repair_on(&disk).unwrap();
        }
        assert_eq!(found(&disk), expected, "operation {number}");
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn a_repair_that_is_interrupted_anywhere_can_be_repeated() {
    let whole = damaged();
    let before = whole.changes();
    let repaired = repair_on(&whole).unwrap();
    assert!(repaired.saved_pairs() > 0 && !repaired.is_complete(), "{repaired:?}");
    assert!(repaired.saved_batches > 0 && repaired.files.len() >= 2, "{repaired:?}");
    let expected = found(&whole.crashed(Survival::Nothing));
    assert!(!expected.0.is_empty());
    let mut interrupted = 0;
    for changes in (before..=whole.changes()).step_by(step(2)) {
        let disk = damaged();
        disk.lose_power_after(changes);
        let mut is_told = false;
        let _ = repair_and_tell(&disk, &Report::new(), |_| {
            is_told = true;
            Ok::<_, Error>(())
        });
        let any = seeds(0..2).map(Survival::Any);
        for survival in [Survival::Nothing, Survival::Everything, Survival::Names].into_iter().chain(any) {
            let disk = disk.crashed(survival);
            let repeated = repair_on(&disk).unwrap();
            // What the first one saw lost is told by one of them.
            if !is_told {
                let losses = |repaired: &Repaired| {
                    (repaired.lost_pairs(), repaired.returned_pairs(), repaired.lost_log_parts)
                };
                assert_eq!(losses(&repeated), losses(&repaired), "{changes} changes, {survival:?}");
            }
            assert!(repair_on(&disk).unwrap().was_whole(), "it was told");
            assert_eq!(found(&disk), expected, "power lost after {changes} changes, {survival:?} survives");
            assert!(!disk.list("damaged").unwrap().is_empty());
            interrupted += 1;
        }
    }
    println!("{interrupted} repairs interrupted, and repeated with the same outcome");
}

#[test]
fn pairs_are_saved_where_their_names_cannot_be_read() {
    let (mut lost, mut kept) = (0, 0);
    for at in (0..9000).step_by(step(300)) {
        let disk = SimulatedDisk::new();
        let create = shape(true).names(true);
        let store =
            Store::<u64>::create_on(disk.clone(), &create, tiny().memory(1 << 20).merges(false)).unwrap();
        let named: Vec<(u64, String)> = (0..300u64)
            .map(|id| (id.wrapping_mul(0x9e37_79b9_7f4a_7c15), format!("https://example.org/{id}")))
            .collect();
        store.put(&named, When::always()).unwrap();
        store.flush().unwrap();
        store.close().unwrap();
        let segment = format!("segments/{}", disk.list("segments").unwrap()[0]);
        let bytes = disk.length(&segment).unwrap();
        // The names stand near the end: somewhere among them, and before.
        let place = bytes.saturating_sub(200 + at as u64);
        disk.alter(&segment, |bytes| bytes[place as usize] ^= 1);
        let repaired = repair_on(&disk).unwrap();
        let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false)).unwrap();
        store.verify(&VerifyOptions::new().threads(1)).unwrap();
        let snapshot = store.snapshot();
        let mut without = 0;
        let mut saved = BTreeMap::new();
        for pair in snapshot.pairs_in_order() {
            let (fingerprint, id) = pair.unwrap();
            let name = snapshot.name(id).unwrap().unwrap();
            without += u64::from(name.is_empty());
            saved.insert(id, fingerprint);
            let (expected, original) = &named[id as usize];
            assert_eq!(fingerprint, *expected);
            assert!(name.is_empty() || name == original.as_bytes());
        }
        assert_eq!(without, repaired.lost_names(), "{repaired:?}");
        assert_eq!(saved.len() as u64 + repaired.lost_pairs(), 300, "{repaired:?}");
        if repaired.lost_names() > 0 {
            lost += 1;
            let says = |file: &RepairedFile| file.problems.iter().any(|problem| problem.contains("names of"));
            assert!(repaired.files.iter().any(says), "{repaired:?}");
        }
        kept += u64::from(repaired.lost_pairs() == 0);
        // It goes on, and merges.
        store.put([(5, "one more")], When::always()).unwrap();
        store.compact().unwrap();
    }
    assert!(lost > 0 && kept > 0, "{lost} with names lost, {kept} with all pairs saved");
}

/// A closed store with segments, removals, and a log of which nothing is in the segments.
fn with_everything() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let store =
        Store::<u64>::create_on(disk.clone(), &shape(true).design("halves"), tiny().merges(false)).unwrap();
    let mut chance = Chance(5);
    for _ in 0..2 {
        let inserts: Vec<_> = (0..700).map(|id| Operation::Insert(chance.next() << 20, id)).collect();
        store.write(inserts).unwrap();
        store.flush().unwrap();
    }
    let all = store.snapshot().pairs_in_order().collect::<Result<Vec<_>, _>>().unwrap();
    for &(fingerprint, id) in all.iter().step_by(9) {
        store.remove(fingerprint, id).unwrap();
    }
    store.insert(1, 1).unwrap();
    store.flush().unwrap();
    store.insert(2, 2).unwrap();
    store.remove(all[1].0, all[1].1).unwrap();
    store.insert(3, 3).unwrap();
    store.close().unwrap();
    disk
}

/// Damage to a file.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Flip(usize),
    Cut(usize),
    Lengthen(usize),
    Delete,
}

fn harm(disk: &SimulatedDisk, name: &str, harm: Harm) {
    match harm {
        Harm::Delete => disk.remove(name).unwrap(),
        _ => disk.alter(name, |bytes| match harm {
            Harm::Flip(at) => bytes[at] ^= 1 << (at % 8),
            Harm::Cut(length) => bytes.truncate(length),
            Harm::Lengthen(by) => bytes.resize(bytes.len() + by, 0x5a),
            Harm::Delete => unreachable!(),
        }),
    }
}

/// The kinds of damage to try: every byte of the first and last parts of a file, and some between.
fn harms(length: usize) -> Vec<Harm> {
    let step = step(7) * (length / 300).max(1);
    let edge = |at: &usize| *at < 64 || *at + 64 > length;
    let mut places: Vec<usize> =
        (0..length).step_by(step).chain((0..length).filter(edge).step_by(3)).collect();
    places.sort_unstable();
    places.dedup();
    let cuts = [0, 1, 40, length / 2, length.saturating_sub(40), length.saturating_sub(1)];
    let cuts = cuts.into_iter().filter(|&cut| cut < length);
    let flips = places.into_iter().map(Harm::Flip);
    flips.chain(cuts.map(Harm::Cut)).chain([1, 8, 5000].map(Harm::Lengthen)).chain([Harm::Delete]).collect()
}

/// The part of a file that a repair must save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Everything, unchanged.
    All,
    /// The number of pairs in the report.
    Reported,
}

fn wanted(name: &str, harm: Harm, length: usize) -> Wanted {
    match (name.split('/').next().unwrap(), harm) {
        ("manifest" | "manifest.copy", _) | ("segments" | "deletes" | "log", Harm::Lengthen(_)) => {
            Wanted::All
        }
        // The header, and the trailer: the manifest knows what they say.
        ("segments", Harm::Flip(at)) if at < 64 || at >= length - 32 => Wanted::All,
        ("segments", Harm::Cut(at)) if at >= length - 32 => Wanted::All,
        // The headers say nothing that is not known; nor do the checksums of removals.
        ("log", Harm::Flip(at)) if at < 64 => Wanted::All,
        ("deletes", Harm::Flip(at)) if at < 72 || at >= length - 4 => Wanted::All,
        _ => Wanted::Reported,
    }
}

/// Damages, truncates, extends or deletes each file by itself: the store opens, or does after a repair, and holds the
/// pairs that the report says.
#[test]
fn whatever_becomes_of_one_file_the_others_prove_the_rest() {
    let whole = with_everything();
    let before = found(&whole.crashed(Survival::Everything)).0;
    let mut names: Vec<String> = vec!["manifest".into(), "manifest.copy".into()];
    for directory in ["segments", "deletes", "log"] {
        names.extend(whole.list(directory).unwrap().into_iter().map(|name| format!("{directory}/{name}")));
    }
    assert!(names.len() >= 7, "{names:?}");
    let mut table: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for name in &names {
        let length = usize::try_from(whole.length(name).unwrap()).unwrap();
        for way in harms(length) {
            let disk = whole.crashed(Survival::Everything);
            harm(&disk, name, way);
            let what = format!("{name} of {length} bytes: {way:?}");
            let opened = disk.crashed(Survival::Everything);
            let opens = match Store::<u64>::open_on(opened.clone(), tiny().merges(false)) {
                Ok(store) => {
                    let pairs: Result<Vec<_>, _> = store.snapshot().pairs_in_order().collect();
                    // Nothing is answered from what is not whole.
                    if let Ok(pairs) = pairs {
                        assert_eq!(pairs, before.iter().copied().collect::<Vec<_>>(), "{what}");
                        true
                    } else {
                        false
                    }
                }
                Err(error) => {
                    assert!(
                        !matches!(error, Error::NotAStore { .. } | Error::Exists { .. }),
                        "{what}: {error}"
                    );
                    false
                }
            };
            let repaired = repair_on(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            let after = found(&disk).0;
            let lost = before.difference(&after).count() as u64;
            let back = after.difference(&before).count() as u64;
            check_report(&repaired, lost, back, &what);
            if wanted(name, way, length) == Wanted::All {
                assert!(repaired.is_complete(), "{what}: {repaired:?}");
            }
            if repaired.is_complete() {
                assert_eq!(after, before, "{what}: {repaired:?}");
            }
            assert!(opens || !repaired.was_whole(), "{what}: what a repair finds whole opens");
            assert!(repair_on(&disk).unwrap().was_whole(), "{what}: repaired once, it is whole");
            let kind = format!(
                "{} {}",
                name.split('/').next().unwrap(),
                format!("{way:?}").split('(').next().unwrap()
            );
            let row = table.entry(kind).or_default();
            let adds = [1, u64::from(opens), u64::from(repaired.is_complete()), lost + back];
            row.iter_mut().zip(adds).for_each(|(row, add)| *row += add);
        }
    }
    for (kind, [tried, opened, complete, pairs]) in table {
        println!(
            "{kind}: {tried} tried, {opened} open as they are, {complete} complete after a repair, {pairs} pairs lost or back in all"
        );
    }
}

/// Checks that a report is exact.
fn check_report(repaired: &Repaired, lost: u64, back: u64, what: &str) {
    assert!(back <= repaired.returned_pairs(), "{what}: {back} are back: {repaired:?}");
    if repaired.lost_log_parts > 0 {
        assert!(lost <= repaired.lost_pairs(), "{what}: {lost} are lost: {repaired:?}");
    } else {
        // The log has one removal, perhaps of a pair that is lost.
        let reported = repaired.lost_pairs();
        assert!(lost <= reported && reported <= lost + 1, "{what}: {lost} are lost: {repaired:?}");
    }
    if let Some(before) = repaired.pairs_before {
        assert_eq!(before, repaired.pairs_after + repaired.lost_pairs(), "{what}");
    }
    let is_named = |file: &RepairedFile| !file.path.as_os_str().is_empty() && !file.problems.is_empty();
    assert!(repaired.files.iter().all(is_named), "{what}: {repaired:?}");
}

/// Stale copies of the manifest are not used: no store answers from one that is no longer current.
#[test]
fn an_old_copy_of_the_manifest_is_not_taken_for_the_current_one() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let mut chance = Chance(3);
    let (mut model, mut old) = (Vec::new(), Vec::new());
    for round in 0..6u64 {
        let inserts: Vec<(u64, u64)> = (0..60).map(|id| (chance.next(), id)).collect();
        store
            .write(inserts.iter().map(|&(fingerprint, id)| Operation::Insert(fingerprint, id)).collect())
            .unwrap();
        model.extend(inserts);
        match round % 3 {
            0 => store.flush().unwrap(),
            1 => {
                let gone: Vec<(u64, u64)> = model.iter().copied().step_by(7).collect();
                for &(fingerprint, id) in &gone {
                    store.remove(fingerprint, id).unwrap();
                }
                model.retain(|pair| !gone.contains(pair));
                store.flush().unwrap();
            }
            _ => store.compact().unwrap(),
        }
        old.push(disk.read("manifest.copy").unwrap());
    }
    store.close().unwrap();
    let current = disk.read("manifest").unwrap();
    assert_eq!(disk.read("manifest.copy").unwrap(), current);
    old.retain(|text| *text != current);
    model.sort_unstable();
    let mut refused = 0;
    for text in old {
        let disk = disk.crashed(Survival::Everything);
        disk.alter("manifest.copy", |bytes| bytes.clone_from(&text));
        disk.alter("manifest", |bytes| bytes[30] ^= 4);
        match Store::<u64>::open_on(disk.crashed(Survival::Everything), tiny().merges(false)) {
            Ok(store) => {
                let pairs = store.snapshot().pairs_in_order().collect::<Result<Vec<_>, _>>().unwrap();
                assert_eq!(pairs, model, "it says what the current one says");
            }
            Err(error) => {
                assert!(error.to_string().contains("repair"), "{error}");
                refused += 1;
            }
        }
        // The line of the store is damaged in one and whole in the other; all else is whole in the first.
        repair_on(&disk).unwrap();
        let pairs: Vec<_> = found(&disk).0.into_iter().collect();
        assert_eq!(pairs, model);
    }
    assert!(refused >= 3, "{refused}");
}

/// A closed store of names, with shingles of their documents, in two segments.
fn named_and_shingled() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let create = shape(true).names(true).shingles("runs of 5 bytes").lookups(true);
    let store = Store::<u64>::create_on(disk.clone(), &create, tiny().memory(1 << 20).merges(false)).unwrap();
    for round in 0..2_u64 {
        let names: Vec<String> = (0..150).map(|id| format!("https://example.org/{round}/{id}")).collect();
        let sets: Vec<Vec<u64>> = (0..150).map(|id| (id..id + 40).collect()).collect();
        let documents: Vec<(u64, &str, &[u64])> = (0..150)
            .map(|at| {
                ((round << 32 | at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), &names[at][..], &sets[at][..])
            })
            .collect();
        store.put(documents.iter().map(|(f, n, s)| Record::document(*f, n, s)), When::always()).unwrap();
        store.flush().unwrap();
    }
    store.close().unwrap();
    disk
}

fn shingle_sets(disk: &SimulatedDisk) -> u64 {
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false)).unwrap();
    store.verify(&VerifyOptions::new().threads(1)).unwrap();
    let snapshot = store.snapshot();
    let mut sets = 0;
    for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
        let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |_, set| {
            sets += u64::from(!set.is_empty());
            Ok(())
        });
        flow.unwrap();
    }
    sets
}

#[test]
fn lost_shingles_are_losses() {
    let whole = named_and_shingled();
    assert_eq!(shingle_sets(&whole.crashed(Survival::Everything)), 300);
    let length = whole.length("segments/000001.hamdex").unwrap() as usize;
    let (mut lost, mut kept) = (0, 0);
    for at in (4096..length).step_by(step(1500).max(97)) {
        let disk = whole.crashed(Survival::Everything);
        disk.alter("segments/000001.hamdex", |bytes| bytes[at] ^= 1);
        let repaired = repair_on(&disk).unwrap();
        let sets = shingle_sets(&disk);
        assert!(
            300 - sets <= repaired.lost_shingles() + repaired.lost_pairs(),
            "byte {at}: {sets}: {repaired:?}"
        );
        assert_eq!(
            repaired.is_complete(),
            sets == 300 && repaired.lost_names() == 0,
            "byte {at}: {repaired:?}"
        );
        // A user learns of it later, too.
        let store = Store::<u64>::open_on(disk.clone(), tiny()).unwrap();
        let verified = store.verify(&VerifyOptions::new()).unwrap();
        let is_noted = verified.notes.iter().any(|note| note.contains("have no shingles"));
        assert_eq!(is_noted, repaired.lost_shingles() > 0, "byte {at}: {repaired:?}");
        lost += u64::from(repaired.lost_shingles() > 0);
        kept += u64::from(repaired.is_complete());
    }
    assert!(lost > 0 && kept > 0, "{lost} with shingles lost, {kept} complete");
}

#[test]
fn a_store_of_names_without_a_segment_and_its_line_is_repaired() {
    let disk = named_and_shingled();
    disk.remove("segments/000001.hamdex").unwrap();
    for name in ["manifest", "manifest.copy"] {
        let text = String::from_utf8(disk.read(name).unwrap()).unwrap();
        let line = text.find("{\"segment\":1").unwrap();
        disk.alter(name, |bytes| bytes[line + 40] ^= 1);
    }
    let repaired = repair_on(&disk).unwrap();
    assert!(!repaired.is_complete() && repaired.unknown_parts() == 1, "{repaired:?}");
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false)).unwrap();
    assert_eq!(store.snapshot().count().unwrap().pairs, 150);
    // No id is given again.
    let given = store.put([Record::document(5, "one more", &[1, 2, 3])], When::always()).unwrap();
    assert_eq!(given.ids().collect::<Vec<_>>(), [300]);
}

#[test]
fn a_segment_that_only_one_manifest_names_counts_as_lost() {
    let disk = with_everything();
    let pairs = found(&disk.crashed(Survival::Everything)).0.len() as u64;
    disk.remove("manifest").unwrap();
    disk.remove("segments/000001.hamdex").unwrap();
    let repaired = repair_on(&disk).unwrap();
    let after = found(&disk).0.len() as u64;
    assert!(repaired.lost_pairs() >= pairs - after && after < pairs, "{repaired:?}");
    assert!(!repaired.is_complete());
}

#[test]
fn a_whole_segment_is_taken_as_its_file_describes_it() {
    let disk = with_everything();
    let before = found(&disk.crashed(Survival::Everything)).0;
    disk.remove("manifest").unwrap();
    let text = String::from_utf8(disk.read("manifest.copy").unwrap()).unwrap();
    let line = text.find("{\"segment\":1").unwrap();
    disk.alter("manifest.copy", |bytes| bytes[line + 40] ^= 1);
    let repaired = repair_on(&disk).unwrap();
    assert!(found(&disk).0.is_superset(&before), "{repaired:?}");
    assert!(repaired.returned_pairs() > 0 && repaired.lost_pairs() == 0, "{repaired:?}");
}

#[test]
fn a_cut_segment_is_mended_where_one_manifest_is_damaged_in_its_line() {
    let disk = with_everything();
    let before = found(&disk.crashed(Survival::Everything)).0;
    let text = String::from_utf8(disk.read("manifest").unwrap()).unwrap();
    let line = text.find("{\"segment\":1").unwrap();
    disk.alter("manifest", |bytes| bytes[line + 40] ^= 1);
    disk.alter("segments/000001.hamdex", |bytes| bytes.truncate(bytes.len() - 20));
    let repaired = repair_on(&disk).unwrap();
    assert!(repaired.is_complete(), "{repaired:?}");
    assert_eq!(found(&disk).0, before);
}

/// An old manifest and an old last log, put back together, agree with each other. The copy is a later one.
#[test]
fn an_old_manifest_with_an_old_log_is_noticed() {
    let disk = SimulatedDisk::new();
    let options = tiny().merges(false);
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    store.write((0..50).map(|id| Operation::Insert(id << 9, id)).collect()).unwrap();
    store.close().unwrap();
    let (manifest, log) = (disk.read("manifest").unwrap(), disk.read("log/000001").unwrap());
    let store = Store::<u64>::open_on(disk.clone(), options).unwrap();
    store.write((50..90).map(|id| Operation::Insert(id << 9, id)).collect()).unwrap();
    store.close().unwrap();
    let current = disk.crashed(Survival::Everything);
    disk.alter("manifest", |bytes| bytes.clone_from(&manifest));
    // By itself, the old manifest does no harm: its copy counts.
    assert_eq!(found(&disk.crashed(Survival::Everything)), found(&current));
    disk.alter("log/000001", |bytes| bytes.clone_from(&log));
    let error = Store::<u64>::open_on(disk.crashed(Survival::Everything), options).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let reader = StoreReader::<u64>::open_on(disk.crashed(Survival::Everything), ReadOptions::new());
    assert!(reader.is_err());
    let repaired = repair_on(&disk).unwrap();
    assert!(!repaired.is_complete() && repaired.lost_pairs() >= 40, "{repaired:?}");
    assert_eq!(found(&disk).0.len(), 50);
}

#[test]
fn an_old_manifest_or_copy_is_damage_to_a_verification() {
    let disk = SimulatedDisk::new();
    let options = tiny().merges(false);
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    let old = disk.read("manifest").unwrap();
    for round in 0..2 {
        store.write((0..50).map(|id| Operation::Insert(id << 9, id + round)).collect()).unwrap();
        store.flush().unwrap();
    }
    store.close().unwrap();
    for name in ["manifest", "manifest.copy"] {
        let disk = disk.crashed(Survival::Everything);
        disk.alter(name, |bytes| bytes.clone_from(&old));
        let reader = StoreReader::<u64>::open_on(disk.clone(), ReadOptions::new()).unwrap();
        let error = reader.verify(&VerifyOptions::new().threads(1)).unwrap_err().to_string();
        assert!(
            error.contains(&disk.path(name).display().to_string()) && error.contains("generation"),
            "{error}"
        );
        let repaired = repair_on(&disk).unwrap();
        assert!(repaired.is_complete() && !repaired.was_whole(), "{repaired:?}");
        assert_eq!(found(&disk).0.len(), 100);
    }
}
