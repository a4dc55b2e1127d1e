//! Copies of a store that is written to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hamdex::VerifyOptions;
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::internals::backup_on;
use hamdex_store::{Error, Operation, Store, backup};

use crate::common::{Chance, Model, assert_same, shape, tiny};

#[test]
fn a_copy_has_all_that_was_acknowledged_before_and_no_batch_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), tiny()).unwrap();
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut chance = Chance(11);
            for batch in 0..300u64 {
                let operations = (0..40).map(|n| Operation::Insert(chance.next(), batch * 40 + n));
                store.write(operations.collect()).unwrap();
                acknowledged.store(batch + 1, Ordering::SeqCst);
                if batch % 60 == 59 {
                    store.compact().unwrap();
                }
            }
        });
        let mut copies = 0;
        loop {
            let least = acknowledged.load(Ordering::SeqCst);
            let copy = directory.path().join(format!("copy{copies}"));
            backup(&path, &copy).unwrap();
            let most = acknowledged.load(Ordering::SeqCst) + 1;
            let copied = Store::<u64>::open(&copy, tiny()).unwrap();
            let mut ids: Vec<u64> = copied.snapshot().pairs_in_order().map(|pair| pair.unwrap().1).collect();
            ids.sort_unstable();
            // The first so many batches.
            assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());
            let batches = ids.len() as u64 / 40;
            assert_eq!(ids.len() % 40, 0);
            assert!((least..=most).contains(&batches), "{least} ≤ {batches} ≤ {most}");
            copied.verify(&VerifyOptions::new()).unwrap();
            copies += 1;
            if least == 300 {
                break;
            }
        }
        assert!(copies > 1);
    });
}

#[test]
fn a_copy_is_a_store_only_when_it_is_whole_and_durable() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(12), Model::default());
    for step in 0..5 {
        let operations = chance.operations(150, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        if step % 2 == 0 {
            store.flush().unwrap();
        }
    }
    let before = disk.operations();
    let whole = disk.sibling("whole");
    backup_on(&disk, &whole).unwrap();
    let operations = disk.operations() - before;
    let crashed = whole.crashed(Survival::Nothing);
    assert_same(&Store::<u64>::open_on(crashed, tiny()).unwrap().snapshot(), &model, &[0], true);
    for number in 1..=operations {
        let target = disk.sibling(&format!("copy{number}"));
        disk.fail_operation(disk.operations() + number, Failure::Io);
        let outcome = backup_on(&disk, &target);
        disk.fail_operations(0..0, Failure::Io);
        match Store::<u64>::open_on(target.clone(), tiny().merges(false)) {
            Ok(copy) => assert_same(&copy.snapshot(), &model, &[0], true),
            Err(error) => {
                assert!(matches!(error, Error::NotAStore { .. }) && outcome.is_err(), "{error}");
                let left =
                    ["", "segments", "deletes", "log"].map(|name| target.list(name).unwrap_or_default());
                assert!(left.concat().is_empty(), "{number}: {left:?}");
            }
        }
        assert!(outcome.is_err() || target.exists("manifest").unwrap());
    }
    assert!(matches!(backup_on(&disk, &whole), Err(Error::Exists { .. })));
    assert!(matches!(backup_on(&disk.sibling("none"), &disk.sibling("new")), Err(Error::NotAStore { .. })));
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["s", "copy"].map(|name| directory.path().join(name));
    let store = Store::<u64>::create(&path, &shape(true), tiny().merges(false)).unwrap();
    for id in 0..2 {
        store.insert(7, id).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let segments: Vec<_> =
        std::fs::read_dir(path.join("segments")).unwrap().map(|e| e.unwrap().path()).collect();
    let hidden = directory.path().join("hidden");
    std::fs::rename(segments.iter().max().unwrap(), &hidden).unwrap();
    assert!(backup(&path, &copy).is_err());
    assert!(!copy.exists());
    std::fs::rename(&hidden, segments.iter().max().unwrap()).unwrap();
    // A directory with files that no copy has put there stays as it is.
    std::fs::create_dir_all(copy.join("segments")).unwrap();
    std::fs::copy(&segments[0], copy.join("segments/000001.hamdex")).unwrap();
    assert!(matches!(backup(&path, &copy), Err(Error::Exists { .. })));
    assert!(copy.join("segments/000001.hamdex").exists());
    std::fs::remove_dir_all(&copy).unwrap();
    backup(&path, &copy).unwrap();
    assert!(Store::<u64>::open(&copy, tiny()).unwrap().snapshot().contains(7).unwrap());
}

#[test]
fn a_copy_that_was_killed_is_replaced_by_the_next_one() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(13), Model::default());
    for _ in 0..4 {
        let operations = chance.operations(150, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let begun = disk.changes();
    backup_on(&disk, &disk.sibling("whole")).unwrap();
    let changes = disk.changes() - begun;
    let mut interrupted = 0;
    for survival in [Survival::Nothing, Survival::Everything, Survival::Any(7), Survival::Any(8)] {
        for number in 1..changes {
            let killed = disk.crashed(Survival::Everything);
            killed.lose_power_after(killed.changes() + number);
            assert!(backup_on(&killed, &killed.sibling("copy")).is_err());
            let after = killed.crashed(survival);
            let target = after.sibling("copy");
            interrupted += u64::from(target.exists("backup.new").unwrap_or(false));
            match backup_on(&after, &target) {
                Ok(()) => {}
                // It had become whole, and all that was lacking was to say so.
                Err(Error::Exists { .. }) => {
                    assert!(target.exists("manifest").unwrap(), "{survival:?} {number}");
                }
                Err(error) => panic!("{survival:?}, killed after {number} changes: {error}"),
            }
            assert!(!target.exists("backup.new").unwrap());
            let copy = Store::<u64>::open_on(target, tiny()).unwrap();
            assert_same(&copy.snapshot(), &model, &[0], true);
        }
    }
    assert!(interrupted > changes);
}

/// The paths of the segments of a store.
fn segments(store: &std::path::Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(store.join("segments")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Writes over the middle of a file in place.
fn damage(path: &std::path::Path) {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    let bytes = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(bytes / 8)).unwrap();
    file.write_all(&vec![0xa5; bytes as usize / 2]).unwrap();
}

#[test]
fn damage_to_a_backup_is_none_of_the_store_and_that_to_a_checkpoint_is() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy, links] = ["s", "copy", "links"].map(|name| directory.path().join(name));
    let store = Store::<u64>::create(&path, &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(17), Model::default());
    for _ in 0..3 {
        let operations = chance.operations(150, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        store.flush().unwrap();
    }
    store.backup(&copy).unwrap();
    store.checkpoint(&links).unwrap();
    let whole = |path: &std::path::Path| {
        let store = Store::<u64>::open(path, tiny().merges(false)).unwrap();
        store.verify(&VerifyOptions::new()).is_ok()
    };
    assert!(whole(&copy) && whole(&links));
    segments(&copy).iter().for_each(|segment| damage(segment));
    assert!(!whole(&copy) && whole(&links));
    store.verify(&VerifyOptions::new()).unwrap();
    // Either store does without its files, and the other keeps them.
    store.compact().unwrap();
    assert_same(&store.snapshot(), &model, &[0], true);
    assert!(whole(&links));
    std::fs::remove_dir_all(&links).unwrap();
    store.checkpoint(&links).unwrap();
    segments(&links).iter().for_each(|segment| damage(segment));
    assert!(!whole(&links));
    assert!(store.verify(&VerifyOptions::new()).is_err());
}

#[test]
fn a_damaged_store_gives_no_backup() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["s", "copy"].map(|name| directory.path().join(name));
    let store = Store::<u64>::create(&path, &shape(true), tiny().merges(false)).unwrap();
    store.write(Chance(18).operations(200, true)).unwrap();
    store.flush().unwrap();
    segments(&path).iter().for_each(|segment| damage(segment));
    for outcome in [store.backup(&copy), backup(&path, &copy)] {
        let error = outcome.unwrap_err();
        assert_eq!(error.category(), hamdex::Category::Damaged);
        assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        assert!(!copy.exists());
    }
}

#[test]
fn a_checkpoint_is_made_while_the_store_is_written_to() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let elsewhere = SimulatedDisk::new();
    store.insert(7, 1).unwrap();
    store.flush().unwrap();
    let error = store.checkpoint_to(&elsewhere).unwrap_err();
    assert!(matches!(error, Error::CannotLink { .. }), "{error}");
    assert!(!elsewhere.exists("manifest").unwrap() && elsewhere.list("segments").unwrap().is_empty());
    let links = disk.sibling("links");
    store.checkpoint_to(&links).unwrap();
    store.remove(7, 1).unwrap();
    store.purge().unwrap();
    let before = Store::<u64>::open_on(links.crashed(Survival::Nothing), tiny()).unwrap();
    assert_eq!(before.snapshot().ids(7).unwrap(), [1]);
}

#[test]
fn a_store_is_not_copied_into_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), tiny().merges(false)).unwrap();
    store.insert(7, 1).unwrap();
    for target in [path.clone(), path.join("copy"), path.join("segments"), path.join("a/../b")] {
        assert!(matches!(store.backup(&target), Err(Error::BackupInside { .. })), "{}", target.display());
        assert!(matches!(backup(&path, &target), Err(Error::BackupInside { .. })));
        assert!(!path.join("copy").exists() && !path.join("b").exists());
    }
    #[cfg(unix)]
    {
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(path.join("log"), &link).unwrap();
        assert!(matches!(store.backup(link.join("copy")), Err(Error::BackupInside { .. })));
    }
    store.backup(directory.path().join("s2")).unwrap();
}
