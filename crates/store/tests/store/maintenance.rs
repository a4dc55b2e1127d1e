//! Maintenance of a store: stats, settle, compact, purge, ingest, verify.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use hamdex::{
    BuildError, BuildOptions, Builder, Cancellation, Category, Design, FilterChoice, Index, Phase,
    ReadErrorKind, Report, VerifyOptions,
};
use hamdex_store::{CreateOptions, Durability, Error, Operation, Store, backup_with, inspect, repair_with};

use crate::common::{Chance, Model, assert_same, shape, tiny};

fn filled(path: &Path, seed: u64) -> (Store<u64>, Model<u64>, Chance) {
    let (mut chance, mut model) = (Chance(seed), Model::default());
    let store = Store::create(path, &shape(true), tiny().merges(false)).unwrap();
    for step in 0..6 {
        let operations = chance.operations(150, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        if step % 2 == 0 {
            store.flush().unwrap();
        }
    }
    (store, model, chance)
}

/// All bytes of all files below a directory.
fn contents(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        bytes.extend(if path.is_dir() { contents(&path) } else { fs::read(path).unwrap() });
    }
    bytes
}

#[test]
fn a_store_is_opened_or_created_and_nothing_else_is_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let open = |name: &str, create: &CreateOptions| Store::<u64>::open_or_create(at(name), create, tiny());
    for number in 0..3 {
        let store = open("s", &shape(true)).unwrap();
        store.insert(7, number).unwrap();
        assert_eq!(store.snapshot().ids(7).unwrap(), (0..=number).collect::<Vec<_>>());
        assert!(matches!(open("s", &shape(true)), Err(Error::InUse { .. })));
    }
    assert!(matches!(open("s", &shape(true).names(true)), Err(Error::Names { has_names: false, .. })));
    drop(open("named", &shape(true).names(true)).unwrap());
    assert!(matches!(open("named", &shape(true)), Err(Error::Names { has_names: true, .. })));
    drop(open("plain", &shape(false)).unwrap());
    assert!(matches!(open("plain", &shape(true)), Err(Error::NoIds { .. })));
    drop(open("plain", &shape(false)).unwrap());
    let wide = hamdex_store::AnyStore::open_or_create(at("s"), 128, &shape(true), tiny());
    assert!(matches!(wide, Err(Error::Width { found: 64, expected: 128, .. })));
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("other").join("file"), "of another").unwrap();
    assert!(matches!(open("other", &shape(true)), Err(Error::Exists { .. })));
    std::fs::remove_file(at("s").join("manifest")).unwrap();
    std::fs::remove_file(at("s").join("manifest.copy")).unwrap();
    assert!(
        matches!(open("s", &shape(true)), Err(Error::Missing { .. })),
        "a store without its manifest stays"
    );
}

#[test]
fn a_file_that_was_built_elsewhere_joins_in_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mut model, mut chance) = filled(&directory.path().join("s"), 1);
    // Removed before it comes, and so no longer after it.
    let early = (chance.fingerprint(), 4);
    store.remove(early.0, early.1).unwrap();
    model.0.remove(&early);
    let file = directory.path().join("built.hamdex");
    let options = BuildOptions::new().design(Design::named("single", 3).unwrap()).ids(true);
    let mut builder = Builder::<u64>::with_options(&file, options).unwrap();
    for pair in (0..100).map(|_| (chance.fingerprint(), chance.below(9))).chain([early]) {
        builder.push_with_id(pair.0, pair.1).unwrap();
        model.0.insert(pair);
    }
    builder.finish().unwrap();
    store.ingest(&file).unwrap();
    assert_same(&store.snapshot(), &model, &[early.0, 0], true);
    let late = *model.0.first().unwrap();
    assert!(store.remove(late.0, late.1).unwrap());
    model.0.remove(&late);
    drop(store);
    let store = Store::<u64>::open(directory.path().join("s"), tiny()).unwrap();
    assert_same(&store.snapshot(), &model, &[early.0, late.0, 0], true);
    store.compact().unwrap();
    assert_same(&store.snapshot(), &model, &[early.0, late.0, 0], true);
    // The file itself is as it was.
    assert_eq!(hamdex::Index::<u64>::open(&file).unwrap().verify().unwrap().tables, 1);
}

/// The bytes of the filters of each segment.
fn filter_bytes(store: &Path) -> Vec<Vec<Option<u64>>> {
    let segments = fs::read_dir(store.join("segments")).unwrap().map(|segment| segment.unwrap().path());
    segments
        .map(|segment| {
            let tables = Index::<u64>::open(segment).unwrap().stats().tables;
            tables.iter().map(|table| table.filter.map(|filter| filter.bytes)).collect()
        })
        .collect()
}

#[test]
fn all_segments_have_the_filters_of_the_store() {
    for (filter, has_filters) in
        [(FilterChoice::None, false), (FilterChoice::Auto, false), (FilterChoice::Bits(20), true)]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let (mut chance, mut model) = (Chance(17), Model::default());
        let store = Store::create(&path, &shape(true).filter(filter), tiny().merges(false)).unwrap();
        for _ in 0..3 {
            let operations = chance.operations(300, true);
            model.apply(&operations);
            store.write(operations).unwrap();
            store.flush().unwrap();
        }
        let is_as_asked = |tables: &Vec<Option<u64>>| {
            tables.iter().all(|filter| filter.is_some_and(|bytes| bytes > 136) == has_filters)
        };
        let flushed = filter_bytes(&path);
        assert!(flushed.len() > 1 && flushed.iter().all(is_as_asked), "{filter}: {flushed:?}");
        drop(store);
        // The choice is the store's, not that of the process that opens it.
        let store = Store::<u64>::open(&path, tiny().merges(false)).unwrap();
        assert_eq!(inspect(&path).unwrap().manifest.filter, filter);
        // A file with other filters joins, until a merge rewrites it.
        let file = directory.path().join("built.hamdex");
        let other = if has_filters { FilterChoice::None } else { FilterChoice::Bits(20) };
        let mut builder =
            Builder::<u64>::with_options(&file, BuildOptions::new().ids(true).filter(other)).unwrap();
        for pair in (0..500).map(|_| (chance.fingerprint(), chance.below(9))) {
            builder.push_with_id(pair.0, pair.1).unwrap();
            model.0.insert(pair);
        }
        builder.finish().unwrap();
        store.ingest(&file).unwrap();
        let queries = [chance.fingerprint(), 0];
        assert_same(&store.snapshot(), &model, &queries, true);
        store.compact().unwrap();
        let merged = filter_bytes(&path);
        assert!(merged.len() == 1 && merged.iter().all(is_as_asked), "{filter}: {merged:?}");
        assert_same(&store.snapshot(), &model, &queries, true);
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (store, model, _) = filled(&directory.path().join("s"), 2);
    let file = directory.path().join("built.hamdex");
    let mut builder = Builder::<u64>::new(&file).unwrap();
    builder.push(7).unwrap();
    builder.finish().unwrap();
    let error = store.ingest(&file).unwrap_err();
    assert!(matches!(error, Error::Ingest { what: "has no ids, and the store has them", .. }), "{error}");
    assert!(matches!(store.ingest(directory.path().join("none")), Err(Error::Read(_))));
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(store.ingest(&file).is_err());
    assert_same(&store.snapshot(), &model, &[0], true);
    assert_eq!(store.verify(&VerifyOptions::new()).unwrap().notes, Vec::<String>::new());
}

#[test]
fn an_ingested_file_may_be_changed_afterwards_and_what_was_copied_counts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (store, mut model, _) = filled(&path, 4);
    let build = |name: &str, id: u64| {
        let file = directory.path().join(name);
        let mut builder = Builder::<u64>::with_options(&file, BuildOptions::new().ids(true)).unwrap();
        builder.push_with_id(0x00ff, id).unwrap();
        builder.finish().unwrap();
        file
    };
    let [file, other, broken] = [build("a.hamdex", 1), build("b.hamdex", 2), build("c.hamdex", 3)];
    let mut bytes = fs::read(&broken).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&broken, bytes).unwrap();
    // Another file takes its place while it is read: that one is checked, and counts, or is refused.
    let swap = |by: std::path::PathBuf| {
        let file = file.clone();
        Report::new().progress(move |_| _ = fs::rename(&by, &file))
    };
    store.ingest_with(&file, &swap(other)).unwrap();
    let ids = store.snapshot().ids(0x00ff).unwrap();
    let new = *ids.iter().find(|id| !model.0.contains(&(0x00ff, **id))).unwrap();
    model.0.insert((0x00ff, new));
    assert_same(&store.snapshot(), &model, &[0x00ff], true);
    store.ingest_with(&file, &swap(broken)).ok();
    store.verify(&VerifyOptions::new()).unwrap();
    assert!(store.ingest(&file).is_err());
    // Written over in place.
    let last = build("d.hamdex", 9);
    store.ingest(&last).unwrap();
    fs::write(&last, "something else").unwrap();
    store.verify(&VerifyOptions::new()).unwrap();
    assert!(store.snapshot().ids(0x00ff).unwrap().contains(&9));
}

#[test]
fn a_backup_is_the_store_at_one_moment_and_lives_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mut model, mut chance) = filled(&directory.path().join("s"), 3);
    let copy = directory.path().join("copy");
    store.backup(&copy).unwrap();
    let before = Model(model.0.clone());
    let operations = chance.operations(200, true);
    model.apply(&operations);
    store.write(operations).unwrap();
    store.compact().unwrap();
    let restored = Store::<u64>::open(&copy, tiny()).unwrap();
    assert_same(&restored.snapshot(), &before, &[0], true);
    assert_same(&store.snapshot(), &model, &[0], true);
    restored.verify(&VerifyOptions::new()).unwrap();
    assert!(matches!(store.backup(&copy), Err(Error::Exists { .. })));
}

#[test]
fn no_file_holds_what_has_been_purged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (store, mut model, _) = filled(&path, 4);
    let secret = 0x5ec2_e7f1_b091_2345u64;
    store.insert(secret, 1).unwrap();
    store.flush().unwrap();
    let is_there = || contents(&path).windows(8).any(|bytes| bytes == secret.to_le_bytes());
    assert_eq!(store.remove_fingerprint(secret).unwrap(), 1);
    assert!(is_there(), "the log of removals has it");
    let snapshot = store.snapshot();
    let purged = store.purge().unwrap();
    assert!(purged.pairs >= 1 && !purged.held.is_empty(), "{purged:?}");
    drop(snapshot);
    assert!(purged.held.iter().all(|path| !path.exists()));
    assert!(!is_there());
    assert_eq!(store.stats().removed, 0);
    model.0.retain(|pair| pair.0 != secret);
    assert_same(&store.snapshot(), &model, &[0, secret], true);
}

#[test]
fn ids_are_removed_wherever_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mut model, _) = filled(&directory.path().join("s"), 5);
    let ids = HashSet::from([1, 3, 77]);
    let expected = model.0.iter().filter(|pair| ids.contains(&pair.1)).count() as u64;
    assert_eq!(store.remove_ids(&ids).unwrap(), expected);
    model.0.retain(|pair| !ids.contains(&pair.1));
    assert_same(&store.snapshot(), &model, &[0], true);
}

#[test]
fn counts_are_those_of_the_set_after_it_has_become_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let (store, model, _) = filled(&directory.path().join("s"), 6);
    let before = store.stats();
    assert!(before.ids >= model.0.len() as u64 && before.segments.len() >= 3 && !before.is_exact);
    store.compact().unwrap();
    let stats = store.stats();
    let fingerprints: HashSet<u64> = model.0.iter().map(|pair| pair.0).collect();
    assert!(stats.is_exact);
    assert_eq!((stats.fingerprints, stats.ids), (fingerprints.len() as u64, model.0.len() as u64));
    assert_eq!((stats.segments.len(), stats.removed, stats.recent), (1, 0, 0));
    assert!(stats.write_amplification >= 1.0);
    let verified = store.verify(&VerifyOptions::new()).unwrap();
    assert_eq!((verified.files, verified.bytes), (1, stats.bytes));
}

#[test]
fn one_process_writes_and_the_second_is_told_who() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (store, ..) = filled(&path, 7);
    let error = Store::<u64>::open(&path, tiny()).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    drop(store);
    assert!(matches!(Store::<u128>::open(&path, tiny()), Err(Error::Width { found: 64, expected: 128, .. })));
    assert!(matches!(Store::<u64>::create(&path, &shape(true), tiny()), Err(Error::Exists { .. })));
    let nothing = Store::<u64>::open(directory.path().join("none"), tiny()).unwrap_err();
    assert!(matches!(nothing, Error::NotAStore { .. }), "{nothing}");
}

#[test]
fn ids_where_there_are_none_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = tiny().durability(Durability::None);
    let store = Store::<u64>::create(directory.path().join("s"), &shape(false), options).unwrap();
    assert!(matches!(store.insert(1, 1), Err(Error::NoIds { .. })));
    store.write(vec![Operation::Insert(1, 0)]).unwrap();
    assert!(store.snapshot().contains(1).unwrap());
}

#[test]
fn at_rest_each_file_is_more_than_twice_as_large_as_all_smaller_ones() {
    let directory = tempfile::tempdir().unwrap();
    for merges in [false, true] {
        let path = directory.path().join(format!("s{merges}"));
        let store = Store::<u64>::create(path, &shape(true), tiny().merges(merges)).unwrap();
        let (mut chance, mut model) = (Chance(9), Model::default());
        for _ in 0..30 {
            let operations = (0..200).map(|id| Operation::Insert(chance.next(), id)).collect::<Vec<_>>();
            model.apply(&operations);
            store.write(operations).unwrap();
        }
        store.pause_merges(true);
        store.flush().unwrap();
        store.settle().unwrap();
        let mut sizes: Vec<u64> = store.stats().segments.iter().map(|segment| segment.pairs).collect();
        sizes.sort_unstable();
        let mut smaller = 0;
        for size in sizes {
            assert!(size > 2 * smaller);
            smaller += size;
        }
        assert_eq!(smaller, model.0.len() as u64);
        assert_same(&store.snapshot(), &model, &[0], true);
    }
}

#[test]
fn a_merge_of_everything_says_how_far_it_is_and_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (store, model, _) = filled(&directory.path().join("s"), 10);
    let before = store.stats().segments;
    for at in 0..3 {
        let stopped = store.compact_with(&stopping(at)).unwrap_err();
        assert!(matches!(stopped, Error::Build(BuildError::Stopped)), "{stopped}");
    }
    assert!(store.stats().segments.len() >= before.len());
    assert_same(&store.snapshot(), &model, &[0], true);
    let phases = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&phases);
    let report = Report::new().progress(move |progress| seen.lock().unwrap().push(progress));
    store.compact_with(&report).unwrap();
    let phases = phases.lock().unwrap();
    assert!(phases.iter().any(|progress| matches!(progress.phase, Phase::Write { .. })), "{phases:?}");
    assert!(phases.iter().all(|progress| progress.total.is_none_or(|total| progress.done <= total)));
    assert_eq!(store.stats().segments.len(), 1);
    assert_same(&store.snapshot(), &model, &[0], true);
}

/// Collects the phases that long work reports.
fn reported() -> (Arc<Mutex<Vec<Phase>>>, Report) {
    let phases = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&phases);
    let report = Report::new().progress(move |progress| {
        assert!(progress.total.is_none_or(|total| progress.done <= total));
        seen.lock().unwrap().push(progress.phase);
    });
    (phases, report)
}

/// Cancels the work when it has reported its progress this often: before its start, or from another thread, which the
/// work waits for.
fn stopping(at: usize) -> Report {
    let (cancellation, count) = (Cancellation::new(), AtomicUsize::new(0));
    if at == 0 {
        cancellation.cancel();
    }
    let report = Report::new().cancellation(cancellation.clone());
    report.progress(move |_| {
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(count <= at, "it goes on");
        if count == at {
            thread::scope(|scope| scope.spawn(|| cancellation.cancel()).join()).unwrap();
        }
    })
}

#[test]
fn a_purge_reports_its_progress_and_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mut model, _) = filled(&directory.path().join("s"), 12);
    store.flush().unwrap();
    let gone = model.0.pop_first().unwrap();
    assert!(store.remove(gone.0, gone.1).unwrap());
    for at in 0..3 {
        let stopped = store.purge_with(&stopping(at)).unwrap_err();
        assert!(matches!(stopped, Error::Build(BuildError::Stopped)), "{stopped}");
    }
    assert_same(&store.snapshot(), &model, &[gone.0], true);
    let (phases, report) = reported();
    assert!(store.purge_with(&report).unwrap().pairs > 0);
    assert!(phases.lock().unwrap().iter().any(|phase| matches!(phase, Phase::Write { .. })));
    assert_same(&store.snapshot(), &model, &[gone.0], true);
}

#[test]
fn an_ingestion_reports_its_progress_and_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let (store, mut model, _) = filled(&directory.path().join("s"), 13);
    let file = directory.path().join("built.hamdex");
    let mut builder = Builder::<u64>::with_options(&file, BuildOptions::new().ids(true)).unwrap();
    builder.push_with_id(0x00ff, 7).unwrap();
    builder.finish().unwrap();
    for at in 0..2 {
        let stopped = store.ingest_with(&file, &stopping(at)).unwrap_err();
        assert!(
            matches!(&stopped, Error::Read(error) if matches!(error.kind(), ReadErrorKind::Stopped)),
            "{stopped}"
        );
    }
    assert_same(&store.snapshot(), &model, &[0x00ff], true);
    let (phases, report) = reported();
    store.ingest_with(&file, &report).unwrap();
    assert!(phases.lock().unwrap().contains(&Phase::Verify));
    model.0.insert((0x00ff, 7));
    assert_same(&store.snapshot(), &model, &[0x00ff], true);
}

#[test]
fn a_backup_reports_its_progress_and_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("s"), directory.path().join("copy"));
    let (store, model, _) = filled(&path, 15);
    for at in 0..3 {
        let stopped = store.backup_with(&copy, &stopping(at)).unwrap_err();
        assert_eq!(stopped.category(), Category::Stopped, "{stopped}");
        let stopped = backup_with(&path, &copy, &stopping(at)).unwrap_err();
        assert_eq!(stopped.category(), Category::Stopped, "{stopped}");
    }
    // All is copied but the last bytes of the logs.
    let cancellation = Cancellation::new();
    let almost_all = Report::new().cancellation(cancellation.clone()).progress(move |progress| {
        if progress.total.is_none_or(|total| progress.done >= total) {
            cancellation.cancel();
        }
    });
    let stopped = backup_with(&path, &copy, &almost_all).unwrap_err();
    assert_eq!(stopped.category(), Category::Stopped, "{stopped}");
    assert!(!copy.exists(), "a cancelled copy is removed");
    let (phases, report) = reported();
    backup_with(&path, &copy, &report).unwrap();
    let phases = phases.lock().unwrap();
    assert!(phases.len() > 2 && phases.iter().all(|phase| *phase == Phase::Copy), "{phases:?}");
    let copied = Store::<u64>::open(&copy, tiny()).unwrap();
    assert_same(&copied.snapshot(), &model, &[0], true);
}

#[test]
fn a_repair_reports_its_progress_and_can_be_cancelled_and_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let (store, model, _) = filled(&path, 14);
    store.close().unwrap();
    let segment = path.join("segments/000001.hamdex");
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
    for at in 0..3 {
        let stopped = repair_with(&path, &stopping(at), |_| Ok::<_, Error>(())).unwrap_err();
        assert_eq!(stopped.category(), Category::Stopped, "{stopped}");
    }
    let (phases, report) = reported();
    let repaired = repair_with(&path, &report, |_| Ok::<_, Error>(())).unwrap();
    assert!(!repaired.was_whole());
    let phases = phases.lock().unwrap();
    assert!(
        phases.contains(&Phase::Verify) && phases.iter().any(|phase| matches!(phase, Phase::Write { .. }))
    );
    let store = Store::<u64>::open(&path, tiny()).unwrap();
    assert!(store.snapshot().count().unwrap().pairs + repaired.lost_pairs() >= model.0.len() as u64);
}

#[test]
fn pairs_span_memory_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let (store, model, _) = filled(&directory.path().join("s"), 8);
    let mut expected = HashSet::new();
    let fingerprints: HashSet<u64> = model.0.iter().map(|pair| pair.0).collect();
    for &a in &fingerprints {
        expected
            .extend(fingerprints.iter().filter(|&&b| a < b && (a ^ b).count_ones() <= 3).map(|&b| (a, b)));
    }
    let indexes = store.snapshot().indexes().unwrap();
    let found: Vec<(u64, u64)> =
        indexes.pairs(3).collect().unwrap().iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.into_iter().collect::<HashSet<_>>(), expected);
}

/// All files below a directory, and their contents.
fn tree(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_store_is_created_in_an_empty_directory_only_and_any_other_is_left_as_it_was() {
    for name in
        ["lock", "notes", "photos/1", "segments/000001.hamdex", "deletes/1", "log/000001", "damaged/lock"]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        fs::write(path.join(name), "important").unwrap();
        let before = tree(&path);
        let error = Store::<u64>::create(&path, &shape(true), tiny()).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{name}: {error}");
        assert_eq!(tree(&path), before, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn no_text_is_written_through_a_link_of_the_name_of_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let (path, target) = (directory.path().join("s"), directory.path().join("target"));
    fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink(&target, path.join("lock")).unwrap();
    for text in [None, Some("process"), Some("")] {
        text.iter().for_each(|text| fs::write(&target, text).unwrap());
        let error = Store::<u64>::create(&path, &shape(true), tiny()).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        assert_eq!(fs::read_to_string(&target).ok().as_deref(), text);
    }
}

#[test]
fn an_interrupted_creation_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    drop(Store::<u64>::create(&path, &shape(true), tiny()).unwrap());
    let log = fs::read(path.join("log/000001")).unwrap();
    for log in [&log[..64], &log[..3], &[0; 64], &[]] {
        fs::remove_file(path.join("manifest")).unwrap();
        fs::remove_file(path.join("manifest.copy")).unwrap();
        fs::write(path.join("log/000001"), log).unwrap();
        for name in ["manifest.new", "manifest.copy.new"] {
            fs::write(path.join(name), "{\"hamdex").unwrap();
        }
        for name in ["damaged", "lost+found"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        Store::<u64>::create(&path, &shape(true), tiny()).unwrap();
    }
}

#[test]
fn a_repair_without_any_manifest_says_what_can_be_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    drop(filled(&path, 11));
    for name in ["manifest", "manifest.copy"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    let before = tree(&path);
    assert!(matches!(Store::<u64>::create(&path, &shape(true), tiny()), Err(Error::Exists { .. })));
    let error = repair_with(&path, &Report::new(), |_| Ok::<_, Error>(())).unwrap_err();
    assert!(matches!(error, Error::Irreparable { .. }) && error.category() == Category::Damaged, "{error}");
    let segments = |(path, _): &&(std::path::PathBuf, _)| path.extension().is_some();
    assert_eq!(tree(&path).iter().filter(segments).count(), before.iter().filter(segments).count());
}
