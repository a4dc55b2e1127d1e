//! A store whose directory, lock or files are taken from under the process that has it open.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex::VerifyOptions;
use hamdex_store::health::{Remedy, Work};
use hamdex_store::{Durability, Error, Store, StoreReader, backup, repair};

use crate::common::{Chance, holds, seeds, shape, tiny};

/// The files below a directory, and their contents.
fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn remove_all(store: &Store<u64>, pairs: &mut Vec<(u64, u64)>) {
    for (fingerprint, id) in pairs.drain(..) {
        store.remove(fingerprint, id).unwrap();
    }
}

/// Creates a store with segments, removals and a log. Its ids are those below 3,000, without the multiples of 7.
fn filled(path: &Path, durability: Durability) -> Store<u64> {
    let store = Store::create(path, &shape(true), tiny().durability(durability).merges(false)).unwrap();
    let (mut chance, mut gone) = (Chance(7), Vec::new());
    for id in 0..3_000 {
        let fingerprint = chance.next();
        store.insert(fingerprint, id).unwrap();
        if id % 7 == 0 {
            gone.push((fingerprint, id));
        }
        if id % 1_000 == 900 {
            // The pairs are in a segment when they are removed, so the next flush writes a file of removals.
            store.flush().unwrap();
            remove_all(&store, &mut gone);
        }
    }
    remove_all(&store, &mut gone);
    assert!(fs::read_dir(path.join("deletes")).unwrap().count() > 0);
    store
}

fn ids(path: &Path) -> Vec<u64> {
    let store = Store::<u64>::open(path, tiny()).unwrap();
    store.verify(&VerifyOptions::new()).unwrap();
    let mut ids: Vec<u64> = store.snapshot().pairs_in_order().map(|pair| pair.unwrap().1).collect();
    ids.sort_unstable();
    ids
}

fn expected() -> Vec<u64> {
    (0..3_000).filter(|id| id % 7 != 0).collect()
}

/// Checks that a store acknowledges nothing: no change, and nothing that was there already.
fn assert_lost(store: &Store<u64>, elsewhere: &Path) {
    let known = store.snapshot().pairs_in_order().next().unwrap().unwrap();
    let outcomes = [
        ("insert", store.insert(1, 5_000).map(drop)),
        ("insert again", store.insert(known.0, known.1).map(drop)),
        ("remove", store.remove(known.0, known.1).map(drop)),
        ("remove nothing", store.remove(2, 2).map(drop)),
        ("remove an id", store.remove_ids(&[6_000].into()).map(drop)),
        ("remove a fingerprint", store.remove_fingerprint(2).map(drop)),
        ("unless near", store.insert_unless_near(known.0, 5_001, 3).map(drop)),
        ("sync", store.sync()),
        ("flush", store.flush()),
        ("compact", store.compact().map(drop)),
        ("purge", store.purge().map(drop)),
        ("verify", store.verify(&VerifyOptions::new()).map(drop)),
        ("backup", store.backup(elsewhere)),
        ("checkpoint", store.checkpoint(elsewhere)),
        ("reopen", store.reopen()),
    ];
    let other = outcomes.iter().filter(|(_, outcome)| !matches!(outcome, Err(Error::Lost { .. })));
    assert_eq!(other.count(), 0, "{outcomes:?}");
    assert!(!elsewhere.exists(), "no copy of it is left");
    assert!(holds(&store.snapshot(), known.0, known.1), "snapshots go on");
    let failures = store.health().failures;
    assert!(failures.iter().any(|failure| (failure.work, failure.remedy) == (Work::Log, Remedy::Close)));
}

#[test]
fn a_store_in_the_place_of_another_is_left_alone_by_the_writer_of_that() {
    for durability in [Durability::Sync, Durability::None] {
        let directory = tempfile::tempdir().unwrap();
        let [x, y, copy] = ["x", "y", "copy"].map(|name| directory.path().join(name));
        let old = filled(&x, durability);
        let snapshot = old.snapshot();
        fs::rename(&x, &y).unwrap();
        let new = Store::<u64>::create(&x, &shape(true), tiny()).unwrap();
        new.insert(9, 9).unwrap();
        new.close().unwrap();
        let before = (tree(&x), tree(&y));
        assert_lost(&old, &copy);
        drop(snapshot);
        assert!(matches!(old.close(), Err(Error::Lost { .. })));
        assert!((tree(&x), tree(&y)) == before, "nothing is touched, in either");
        assert_eq!(ids(&x), [9]);
        assert_eq!(ids(&y), expected());
    }
}

#[test]
fn a_copy_that_is_restored_under_a_running_writer_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y, copy] = ["x", "y", "copy"].map(|name| directory.path().join(name));
    let old = filled(&x, Durability::Sync);
    backup(&x, &copy).unwrap();
    fs::rename(&x, &y).unwrap();
    // Of the same id: nothing but its place in the file system tells it from the other.
    fs::rename(&copy, &x).unwrap();
    let before = tree(&x);
    assert!(matches!(old.compact(), Err(Error::Lost { .. })));
    assert!(matches!(old.purge(), Err(Error::Lost { .. })));
    drop(old);
    assert!(tree(&x) == before);
    assert_eq!(ids(&x), expected());
    assert_eq!(ids(&y), expected());
}

#[test]
fn a_removed_store_acknowledges_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [x, copy] = ["x", "copy"].map(|name| directory.path().join(name));
    let old = filled(&x, Durability::Sync);
    let mut reader = StoreReader::<u64>::open(&x).unwrap();
    fs::remove_dir_all(&x).unwrap();
    assert_lost(&old, &copy);
    let verified = reader.verify(&VerifyOptions::new());
    assert!(matches!(verified, Err(Error::Lost { .. })), "{verified:?}");
    assert!(reader.refresh().is_err() && reader.has_changed().is_err());
    assert_eq!(reader.snapshot().count().unwrap().pairs, expected().len() as u64, "what was read stays");
    assert!(matches!(old.close(), Err(Error::Lost { .. })));
    assert!(!x.exists(), "nothing is made anew");
}

#[test]
fn a_directory_that_was_moved_is_lost_even_if_it_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let [x, y, copy] = ["x", "y", "copy"].map(|name| directory.path().join(name));
    let old = filled(&x, Durability::Sync);
    let mut reader = StoreReader::<u64>::open(&x).unwrap();
    // A move that nothing has noticed does no harm: the lock was held all the time.
    fs::rename(&x, &y).unwrap();
    fs::rename(&y, &x).unwrap();
    old.insert(1, 3_001).unwrap();
    old.flush().unwrap();
    fs::rename(&x, &y).unwrap();
    let error = old.insert(1, 3_002).unwrap_err();
    assert!(error.to_string().contains("no longer leads to the directory"), "{error}");
    assert!(error.to_string().ends_with("close it, and open it again"), "{error}");
    assert!(reader.refresh().is_err(), "nothing is there");
    assert!(
        matches!(Store::<u64>::open(&y, tiny()), Err(Error::InUse { .. })),
        "it is held until it is closed"
    );
    fs::rename(&y, &x).unwrap();
    assert_lost(&old, &copy);
    assert!(old.close().is_err());
    let mut all = expected();
    all.push(3_001);
    assert_eq!(ids(&x), all);
}

#[test]
fn a_writer_whose_lock_was_removed_gives_way_to_the_next() {
    for durability in [Durability::Sync, Durability::None] {
        let directory = tempfile::tempdir().unwrap();
        let [x, copy] = ["x", "copy"].map(|name| directory.path().join(name));
        // It is closed and opened, so that the next one finds the log as a clean shutdown left it.
        filled(&x, durability).close().unwrap();
        let first = Store::<u64>::open(&x, tiny().durability(durability)).unwrap();
        fs::remove_file(x.join("lock")).unwrap();
        let options = tiny().durability(durability).merges(false);
        let second = Store::<u64>::open(&x, options).unwrap();
        second.insert(1, 3_001).unwrap();
        second.flush().unwrap();
        second.insert(1, 3_002).unwrap();
        // A flush removes its logs after it has returned, and health is written into the lock.
        second.close().unwrap();
        let before = tree(&x);
        assert_lost(&first, &copy);
        let error = first.close().unwrap_err();
        assert!(error.to_string().contains("`lock` was removed or replaced"), "{error}");
        assert!(tree(&x) == before);
        let mut all = expected();
        all.extend([3_001, 3_002]);
        assert_eq!(ids(&x), all);
    }
}

#[test]
fn two_writers_lose_nothing_that_either_has_acknowledged_when_the_lock_is_removed() {
    for seed in seeds(0..12) {
        let durability = if seed % 2 == 0 { Durability::Sync } else { Durability::None };
        let directory = tempfile::tempdir().unwrap();
        let x = directory.path().join("x");
        let options = tiny().durability(durability).merges(false);
        drop(Store::<u64>::create(&x, &shape(true), options).unwrap());
        let first = Store::<u64>::open(&x, options).unwrap();
        let is_removed = AtomicBool::new(false);
        let (of_first, of_second) = thread::scope(|scope| {
            let of_first = scope.spawn(|| {
                let mut chance = Chance(seed);
                let mut acknowledged = Vec::new();
                for id in (0..).step_by(2) {
                    match first.insert(chance.next(), id) {
                        Ok(_) => acknowledged.push(id),
                        Err(Error::Lost { .. }) => break,
                        Err(error) => panic!("{error}"),
                    }
                    assert!(id < 2 || !is_removed.load(Ordering::SeqCst), "it is lost with the lock");
                }
                acknowledged
            });
            thread::sleep(std::time::Duration::from_millis(seed));
            fs::remove_file(x.join("lock")).unwrap();
            let second = Store::<u64>::open(&x, options).unwrap();
            let mut chance = Chance(!seed);
            let of_second: Vec<u64> = (0..200).map(|n| 2 * n + 1).collect();
            for &id in &of_second {
                second.insert(chance.next(), id).unwrap();
            }
            let of_first = of_first.join().unwrap();
            second.close().unwrap();
            (of_first, of_second)
        });
        drop(first);
        let found = ids(&x);
        for id in of_first.iter().chain(&of_second) {
            assert!(found.binary_search(id).is_ok(), "{id} was acknowledged, seed {seed}");
        }
    }
}

#[test]
fn a_log_or_a_directory_that_was_replaced_is_noticed() {
    for part in ["log/", "segments", "deletes", "log"] {
        let directory = tempfile::tempdir().unwrap();
        let x = directory.path().join("x");
        let old = filled(&x, Durability::Sync);
        let part = match part {
            // The last log, which is written to.
            "log/" => tree(&x).into_keys().rfind(|name| name.starts_with("log/")).unwrap(),
            part => part.to_owned(),
        };
        let aside = directory.path().join("aside");
        fs::rename(x.join(&part), &aside).unwrap();
        let copied = std::process::Command::new("cp").arg("-a").arg(&aside).arg(x.join(&part)).status();
        assert!(copied.unwrap().success());
        let before = tree(&x);
        let outcome =
            old.remove(3, 3).and_then(|_| old.insert(1, 5_000)).map(drop).and_then(|()| old.flush());
        assert!(matches!(outcome, Err(Error::Lost { .. })), "{part}: {outcome:?}");
        let Err(error) = old.close() else { panic!("{part} was replaced") };
        assert!(error.to_string().contains(&part), "{error}");
        if part != "segments" && part != "deletes" {
            assert!(tree(&x) == before, "{part}");
        }
    }
}

#[test]
fn a_path_through_a_symbolic_link_is_followed_until_the_link_leads_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let [x, other, link] = ["x", "other", "link"].map(|name| directory.path().join(name));
    drop(filled(&x, Durability::Sync));
    drop(filled(&other, Durability::Sync));
    symlink("x", &link).unwrap();
    let store = Store::<u64>::open(&link, tiny()).unwrap();
    store.insert(1, 3_001).unwrap();
    store.compact().unwrap();
    assert!(matches!(Store::<u64>::open(&x, tiny()), Err(Error::InUse { .. })));
    let mut reader = StoreReader::<u64>::open(&link).unwrap();
    store.insert(1, 3_002).unwrap();
    reader.refresh().unwrap();
    assert!(holds(&reader.snapshot(), 1, 3_002));
    fs::remove_file(&link).unwrap();
    symlink("other", &link).unwrap();
    let before = (tree(&x), tree(&other));
    assert!(matches!(store.insert(1, 3_003), Err(Error::Lost { .. })));
    assert!(reader.has_changed().unwrap());
    reader.refresh().unwrap();
    assert!(!holds(&reader.snapshot(), 1, 3_001), "a reader follows the link");
    drop((store, reader));
    assert!((tree(&x), tree(&other)) == before);
    let mut all = expected();
    assert_eq!(ids(&link), all);
    all.extend([3_001, 3_002]);
    assert_eq!(ids(&x), all);
}

#[test]
fn a_repair_takes_the_lock_from_no_writer() {
    let directory = tempfile::tempdir().unwrap();
    let x = directory.path().join("x");
    let old = filled(&x, Durability::Sync);
    assert!(matches!(repair(&x), Err(Error::InUse { .. })));
    fs::remove_file(x.join("lock")).unwrap();
    repair(&x).unwrap();
    assert!(matches!(old.insert(1, 5_000), Err(Error::Lost { .. })));
    drop(old);
    assert_eq!(ids(&x), expected());
}
