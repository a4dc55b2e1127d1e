//! A really full disk: a small file system in memory, if one may be mounted.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use hamdex::VerifyOptions;
use hamdex::similar::{Condition, Measure};
use hamdex_store::{Operation, Record, Store, When};

use crate::common::{Chance, Model, assert_same, seeds, shape, tiny};
use crate::named::named_shape;

/// A small file system, as long as it is held.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path, kilobytes: u32) -> Option<Self> {
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

/// Appends to a file until nothing more fits on its disk.
///
/// The store gives room back in the background, that of a log after its flush above all: a disk
/// that was filled once need not be full at the next write.
fn fill(ballast: &Path) {
    let mut file = std::fs::File::options().create(true).append(true).open(ballast).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let mut refused = 0;
    for seed in seeds(0..3) {
        let directory = tempfile::tempdir().unwrap();
        let Some(_small) = Small::mount(directory.path(), 600 + 50 * seed as u32) else {
            println!("skipped: a file system for it cannot be mounted here");
            return;
        };
        let path = directory.path().join("s");
        let ballast = directory.path().join("ballast");
        let (mut chance, mut model) = (Chance(seed), Model::default());
        let mut store = Store::<u64>::create(&path, &shape(true), tiny()).unwrap();
        let mut since_reopened = 0;
        for round in 0..400u64 {
            let batch: Vec<_> = (0..1 + chance.below(200))
                .map(|_| Operation::Insert(chance.next() & 0xffff_ffff, round))
                .collect();
            match store.write(batch.clone()) {
                Ok(_) => model.apply(&batch),
                Err(_) => refused += 1,
            }
            if chance.below(40) == 0 {
                let _ = store.compact();
            }
            if chance.below(60) == 0 {
                // Another program fills the rest of the disk, or makes room.
                match std::fs::remove_file(&ballast) {
                    Ok(()) => {}
                    Err(_) => drop(std::fs::write(&ballast, vec![0; 200 << 10])),
                }
            }
            since_reopened += 1;
            if since_reopened > 50 || store.sync().is_err() {
                // Whatever failed: it is opened again as soon as there is room.
                since_reopened = 0;
                drop(store);
                let _ = std::fs::remove_file(&ballast);
                store = match Store::open(&path, tiny()) {
                    Ok(store) => store,
                    Err(_) => {
                        // More is stored than leaves room for a log to be written again: it grows.
                        let grown = Command::new("mount")
                            .args(["-o", "remount,size=8m"])
                            .arg(directory.path())
                            .status();
                        assert!(grown.unwrap().success());
                        Store::open(&path, tiny()).unwrap()
                    }
                };
            }
            if round % 20 == 0 {
                assert_same(&store.snapshot(), &model, &[chance.fingerprint(), 0], true);
            }
        }
        let _ = std::fs::remove_file(&ballast);
        let grown = Command::new("mount").args(["-o", "remount,size=16m"]).arg(directory.path()).status();
        assert!(grown.unwrap().success());
        drop(store);
        let store = Store::<u64>::open(&path, tiny()).unwrap();
        assert_same(&store.snapshot(), &model, &[chance.fingerprint(), 0], true);
        store.compact().unwrap();
        store.verify(&VerifyOptions::new()).unwrap();
        assert_same(&store.snapshot(), &model, &[chance.fingerprint(), 0], true);
        drop(store);
    }
    println!("{refused} writes refused by a full disk, nothing lost");
    assert!(refused > 0, "the disk was never full");
}

#[test]
fn what_makes_room_is_done_on_a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(directory.path(), 4096) else {
        println!("skipped: a file system for it cannot be mounted here");
        return;
    };
    let path = directory.path().join("s");
    for memory in [1 << 14, 1 << 24] {
        let options = tiny().memory(memory);
        let store = Store::<u64>::create(&path, &shape(true), options).unwrap();
        let (mut chance, mut model) = (Chance(memory), Model::default());
        let mut insert = |model: &mut Model<u64>| {
            let batch: Vec<_> = (0..50).map(|_| Operation::Insert(chance.next(), 1)).collect();
            store.write(batch.clone()).map(|_| model.apply(&batch))
        };
        insert(&mut model).unwrap();
        // All that is left of the disk.
        let ballast = directory.path().join("ballast");
        fill(&ballast);
        // Nothing more fits: into memory that cannot be flushed, or into the log.
        while insert(&mut model).is_ok() {
            fill(&ballast);
        }
        fill(&ballast);
        assert!(insert(&mut model).is_err());
        for _ in 0..400 {
            let pair = model.0.pop_first().unwrap_or((0, 0));
            assert_eq!(store.remove(pair.0, pair.1).unwrap(), pair.1 == 1);
        }
        fill(&ballast);
        assert!(insert(&mut model).is_err(), "the room is kept for removals");
        assert_same(&store.snapshot(), &model, &[0], true);
        std::fs::remove_file(&ballast).unwrap();
        insert_when_there_is_room(&mut insert, &mut model);
        store.close().unwrap();
        let store = Store::<u64>::open(&path, options).unwrap();
        assert_same(&store.snapshot(), &model, &[0], true);
        drop(store);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

/// Waits until the failed flush is retried.
fn insert_when_there_is_room(
    insert: &mut impl FnMut(&mut Model<u64>) -> Result<(), hamdex_store::Error>,
    model: &mut Model<u64>,
) {
    while insert(model).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_store_takes_texts_again_as_soon_as_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(directory.path(), 2000) else {
        println!("skipped: a file system for it cannot be mounted here");
        return;
    };
    let create = named_shape().shingles("numbers of this test");
    let store = Store::<u64>::create(directory.path().join("s"), &create, tiny()).unwrap();
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let put = |number: u64, length: u64| {
        let set: Vec<u64> = (number << 20..(number << 20) + length).collect();
        let name = number.to_string();
        store.put([Record::document(number, &name, &set)], When::unless_similar(condition))
    };
    assert_eq!(put(1, 100).unwrap().inserted, 1);
    // Nothing is in memory now, and nothing may be left there by what is refused.
    store.flush().unwrap();
    let ballast = directory.path().join("ballast");
    let refused = (2..40u64).filter(|&number| {
        fill(&ballast);
        put(number, 20_000).is_err()
    });
    let refused = refused.count();
    assert!(refused > 30, "{refused}");
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(put(50, 100).unwrap().inserted, 1);
    assert_eq!(put(50, 101).unwrap().inserted, 0);
    assert_eq!(put(1, 101).unwrap().inserted, 0);
}
