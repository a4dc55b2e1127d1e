//! Publications of which one operation fails, while pairs are removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hamdex::{BuildOptions, Builder, Design, VerifyOptions};
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::internals::repair_on;
use hamdex_store::{Store, StoreOptions};

use crate::common::{Chance, shape, step};

type Pair = (u64, u64);

/// The operations that replace the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Flush,
    Compact,
    Purge,
    Ingest,
}

/// The expected pairs. A failed removal leaves its pair in doubt.
#[derive(Debug, Clone, Default)]
struct Known {
    stored: BTreeSet<Pair>,
    removed: BTreeSet<Pair>,
    /// Pairs that may be removed next, each once.
    victims: Vec<Pair>,
}

struct Scene {
    disk: SimulatedDisk,
    store: Store<u64>,
    known: Arc<Mutex<Known>>,
    /// A file to ingest. Some of its pairs are in the store, too.
    file: PathBuf,
    from_file: Vec<Pair>,
}

/// Memory enough that nothing is flushed unasked.
fn options() -> StoreOptions {
    StoreOptions::new().memory(1 << 22).threads(1).merges(false)
}

impl Scene {
    /// A store with three segments, some of whose pairs are removed, and recent pairs, many of them of one fingerprint.
    fn new(directory: &Path) -> Self {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), options()).unwrap();
        let mut chance = Chance(7);
        let mut known = Known::default();
        for part in 0..4u64 {
            for id in 0..40 {
                let pair = (if id % 2 == 0 { 7 } else { chance.fingerprint() }, part * 100 + id);
                store.insert(pair.0, pair.1).unwrap();
                known.stored.insert(pair);
            }
            if part < 3 {
                store.flush().unwrap();
            }
        }
        let all: Vec<Pair> = known.stored.iter().copied().collect();
        for &pair in all.iter().step_by(11) {
            assert!(store.remove(pair.0, pair.1).unwrap());
            known.stored.remove(&pair);
            known.removed.insert(pair);
        }
        let left: Vec<Pair> = known.stored.iter().copied().collect();
        known.victims = left.iter().copied().step_by(3).collect();
        let from_file: Vec<Pair> = (500..540).map(|id| (7, id)).chain(known.victims.clone()).collect();
        let file = directory.join("built.hamdex");
        if !file.exists() {
            let mut builder = Builder::<u64>::with_options(&file, BuildOptions::new().ids(true)).unwrap();
            from_file.iter().for_each(|pair| builder.push_with_id(pair.0, pair.1).unwrap());
            builder.finish().unwrap();
        }
        Self { disk, store, known: Arc::new(Mutex::new(known)), file, from_file }
    }

    /// Removes a pair before each operation on a name, outside of the logs.
    fn remove_in_between(&self) {
        let (store, known) = (self.store.clone(), Arc::clone(&self.known));
        self.disk.before_operations(Some(Arc::new(move |_, name| {
            // Another thread may be at it, and the removal itself uses the logs.
            let Ok(mut known) = known.try_lock() else { return };
            if name.starts_with("log") {
                return;
            }
            let Some(pair) = known.victims.pop() else { return };
            known.stored.remove(&pair);
            if store.remove(pair.0, pair.1).is_ok() {
                known.removed.insert(pair);
            }
        })));
    }

    fn run(&self, work: Work) -> bool {
        match work {
            Work::Flush => self.store.flush().is_ok(),
            Work::Compact => self.store.compact().is_ok(),
            Work::Purge => self.store.purge().is_ok(),
            Work::Ingest => {
                let is_done = self.store.ingest(&self.file).is_ok();
                let mut known = self.known.lock().unwrap();
                // A removal may have come before it or after it.
                let in_doubt: Vec<Pair> = self.from_file.clone();
                for pair in in_doubt {
                    known.removed.remove(&pair);
                    if is_done && pair.1 >= 500 {
                        known.stored.insert(pair);
                    }
                }
                is_done
            }
        }
    }

    /// Compares the open store, the store after a crash, and the store after it is opened again, with what is known.
    fn check(self, what: &str) {
        let Self { disk, store, known, .. } = self;
        disk.fail_operations(0..0, Failure::Io);
        disk.before_operations(None);
        let known = known.lock().unwrap().clone();
        check(&store, &known, what);
        for survival in [Survival::Nothing, Survival::Everything, Survival::Any(disk.changes())] {
            let what = format!("{what}, {survival:?}");
            check(&open(disk.crashed(survival), &what), &known, &what);
        }
        drop(store);
        check(&open(disk, what), &known, what);
    }
}

fn open(disk: SimulatedDisk, what: &str) -> Store<u64> {
    let store = Store::open_on(disk, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    store.verify(&VerifyOptions::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
    store
}

fn check(store: &Store<u64>, known: &Known, what: &str) {
    let found: BTreeSet<Pair> =
        store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{what}: {e}"));
    let lost: Vec<_> = known.stored.difference(&found).collect();
    let returned: Vec<_> = known.removed.intersection(&found).collect();
    assert!(lost.is_empty() && returned.is_empty(), "{what}: lost {lost:?}, returned {returned:?}");
}

const ALL: [Work; 4] = [Work::Flush, Work::Compact, Work::Purge, Work::Ingest];

#[test]
fn each_operation_of_a_publication_may_fail_while_pairs_are_removed() {
    for work in ALL {
        let directory = tempfile::tempdir().unwrap();
        let whole = Scene::new(directory.path());
        whole.remove_in_between();
        let before = whole.disk.operations();
        let all = whole.known.lock().unwrap().victims.len();
        assert!(whole.run(work));
        let operations = whole.disk.operations() - before;
        let left = whole.known.lock().unwrap().victims.len();
        assert!(left + 8 < all, "{work:?}: {left} of {all} pairs are removed meanwhile");
        whole.check(&format!("{work:?}"));
        let (mut failed, mut goes_on) = (0, 0);
        for number in 1..=operations + 3 {
            // In a campaign both.
            for failure in [Failure::Io, Failure::Full].into_iter().skip(number as usize % 2).step_by(step(2))
            {
                let scene = Scene::new(directory.path());
                scene.remove_in_between();
                scene.disk.fail_operation(scene.disk.operations() + number, failure);
                failed += u32::from(!scene.run(work));
                // The process goes on, whatever has failed, with another publication.
                let again = scene.run(if work == Work::Flush { Work::Compact } else { Work::Flush });
                goes_on += u32::from(again);
                let trace = scene.disk.trace();
                let at = trace.get((before + number) as usize - 1).cloned().unwrap_or_default();
                scene.check(&format!("{work:?}, operation {number} ({at}), {failure:?}"));
            }
        }
        assert!(failed > 5 && goes_on > 5, "{work:?}: {failed} failed, {goes_on} went on");
    }
}

#[test]
fn a_new_file_is_read_once_before_a_manifest_names_it() {
    for work in ALL {
        for part in 0..8usize {
            let directory = tempfile::tempdir().unwrap();
            let scene = Scene::new(directory.path());
            let (disk, is_damaged) = (scene.disk.clone(), Mutex::new(None::<(String, usize)>));
            let known = Arc::clone(&scene.known);
            let store = scene.store.clone();
            let bytes_of_old: Vec<String> =
                (1..=3).map(|number| format!("segments/{number:06}.hamdex")).collect();
            scene.disk.before_operations(Some(Arc::new(move |what, name| {
                let Ok(mut is_damaged) = is_damaged.try_lock() else { return };
                if let Some((name, at)) = is_damaged.take() {
                    disk.alter(&name, |bytes| bytes[at] ^= 1);
                }
                if what == "map"
                    && name.starts_with("segments")
                    && !bytes_of_old.iter().any(|old| old == name)
                {
                    // What is read is damaged, and the file is not: a bad cable.
                    let mut at = 0;
                    disk.alter(name, |bytes| {
                        at = bytes.len() * (2 * part + 1) / 16;
                        bytes[at] ^= 1;
                    });
                    *is_damaged = Some((name.to_owned(), at));
                } else if name == "manifest.new" {
                    let mut known = known.lock().unwrap();
                    for pair in std::mem::take(&mut known.victims) {
                        known.stored.remove(&pair);
                        if store.remove(pair.0, pair.1).is_ok() {
                            known.removed.insert(pair);
                        }
                    }
                }
            })));
            scene.run(work);
            scene.check(&format!("{work:?}, part {part}"));
        }
    }
}

/// A block of a new segment that is damaged when it is first read, as in a file that is larger than memory.
#[test]
fn a_removal_that_cannot_read_a_new_segment_fails_and_not_the_publication() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("built.hamdex");
    let all: Vec<u64> = (0..5_000).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let single = BuildOptions::new().ids(true).design(Design::named("single", 3).unwrap());
    let mut builder = Builder::<u64>::with_options(&file, single).unwrap();
    all.iter().for_each(|&fingerprint| builder.push_with_id(fingerprint, 1).unwrap());
    builder.finish().unwrap();
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true).design("single"), options()).unwrap();
    all.iter().for_each(|&fingerprint| store.insert(fingerprint, 1).unwrap());
    store.flush().unwrap();
    // The same pairs once more, as a file that is ingested while they are removed.
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let (told, remover, machine, victims) = (Arc::clone(&outcomes), store.clone(), disk.clone(), all.clone());
    let (new, mapped) = ("segments/000002.hamdex", AtomicU32::new(0));
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    disk.before_operations(Some(Arc::new(move |what, name| {
        // The first mapping of the file is checked whole, and the second one is the segment.
        if (what, name) == ("map", new) && mapped.fetch_add(1, Ordering::Relaxed) == 1 {
            machine.alter(new, flip);
        } else if (what, name) == ("rename", "manifest.new") {
            machine.alter(new, flip);
            let removed =
                victims.iter().map(|&fingerprint| (fingerprint, remover.remove(fingerprint, 1).is_ok()));
            told.lock().unwrap().extend(removed);
        }
    })));
    store.ingest(&file).unwrap();
    disk.before_operations(None);
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    let refused = outcomes.iter().filter(|(_, is_removed)| !is_removed).count();
    assert!(refused > 0 && refused < all.len() / 2, "{refused} of {} are in the damaged block", all.len());
    drop(store);
    let reopened = open(disk, "reopened");
    for (fingerprint, is_removed) in outcomes {
        assert_eq!(reopened.snapshot().contains(fingerprint).unwrap(), !is_removed);
    }
}

/// A crash between the copy of a manifest and the manifest leaves the files of both. The copy counts, and those that only
/// the manifest names go only if what they were merged into is whole.
#[test]
fn merged_files_stay_while_what_they_were_merged_into_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let scene = Scene::new(directory.path());
    let (disk, is_armed) = (scene.disk.clone(), Mutex::new(true));
    scene.store.flush().unwrap();
    scene.disk.before_operations(Some(Arc::new(move |what, name| {
        if (what, name) == ("rename", "manifest.new") && std::mem::take(&mut *is_armed.lock().unwrap()) {
            disk.lose_power_after(disk.changes());
        }
    })));
    scene.store.compact().unwrap_err();
    scene.disk.before_operations(None);
    let crashed = || scene.disk.crashed(Survival::Everything);
    let segments = crashed().list("segments").unwrap();
    assert_eq!(segments.len(), 5, "four and the one that they were merged into");
    let known = scene.known.lock().unwrap().clone();
    let whole = crashed();
    check(&open(whole.clone(), "whole"), &known, "whole");
    assert_eq!(whole.list("segments").unwrap(), segments[4..]);
    let damage = |name: &str| {
        let damaged = crashed();
        damaged.alter(&format!("segments/{name}"), |bytes| {
            let bytes_of_blocks = bytes.len() / 8..bytes.len() / 4;
            bytes[bytes_of_blocks].iter_mut().for_each(|byte| *byte ^= 0xa5);
        });
        damaged
    };
    for name in &segments[..4] {
        check(&open(damage(name), "without one that was merged"), &known, "without one that was merged");
    }
    let damaged = damage(&segments[4]);
    let error = Store::<u64>::open_on(damaged.clone(), options()).unwrap_err();
    assert_eq!(error.category(), hamdex::Category::Damaged, "{error}");
    assert_eq!(damaged.list("segments").unwrap(), segments);
    // All that it was merged from is there.
    repair_on(&damaged).unwrap();
    check(&open(damaged, "repaired"), &known, "repaired");
}
