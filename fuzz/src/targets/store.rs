//! The files of a store with a few bytes changed, their checksums made right: opened, asked, repaired. What files hold
//! that were not changed is there in any case.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Unstructured;
use hamdex::{FilterChoice, Fingerprint, VerifyOptions};
use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::internals::log::salvage;
use hamdex_store::internals::manifest::{SegmentEntry, parse, to_text};
use hamdex_store::{CreateOptions, Operation, Store, StoreOptions, When, repair};

use crate::choose::{below, damage, flag, one_of};
use crate::seal::seal;
use crate::store::{
    DIRECTORIES, Files, disk_of, files_of, numbers_of, operation_bytes, seal_log, seal_removals,
    sealed_manifest,
};
use crate::targets::operations::model::{Chance, Model, assert_same, shape, tiny};

/// A fingerprint and its id.
type Pair<F> = (F, u64);

static STORES: LazyLock<Vec<Files>> = LazyLock::new(|| stores().iter().map(files_of).collect());

/// Opens the store that the input describes.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let good = &STORES[below(&mut bytes, STORES.len())];
    let mut files = good.clone();
    change(&mut files, &mut bytes);
    let wide =
        files.get("manifest").and_then(|text| width_and_ids(text)).is_some_and(|(width, _)| width == 128);
    if wide { open::<u128>(good, &files) } else { open::<u64>(good, &files) }
}

/// Changes some of the files, and seals what was changed.
fn change(files: &mut Files, bytes: &mut Unstructured<'_>) {
    let identity = parse(&files["manifest"]).expect("a good store").identity;
    for _ in 0..5 {
        if bytes.is_empty() || files.is_empty() {
            return;
        }
        let names: Vec<String> = files.keys().cloned().collect();
        let name = one_of(bytes, &names);
        if below(bytes, 16) == 0 {
            files.remove(&name);
            continue;
        }
        let contents = files.get_mut(&name).expect("it was listed");
        damage(contents, bytes);
        if flag(bytes) {
            continue;
        }
        let (number, version) = numbers_of(&name).unwrap_or_default();
        match name.split('/').next() {
            Some("manifest" | "manifest.copy") => *contents = sealed_manifest(contents),
            Some("log") => seal_log(contents, identity.store, number, operation_bytes(&identity)),
            Some("deletes") => seal_removals(contents, identity.store, number, version),
            _ => seal(contents),
        }
    }
}

/// The store's kind, as of the manifest.
fn width_and_ids(text: &[u8]) -> Option<(u32, bool)> {
    parse(text).ok().map(|manifest| (manifest.identity.width, manifest.identity.has_ids))
}

fn options() -> StoreOptions {
    tiny().merges(false)
}

/// Opens files that were made of those of a good store.
fn open<F: Fingerprint>(good: &Files, files: &Files) {
    let outcome = Store::<F>::open_on(disk_of(files), options());
    let is_good = match &outcome {
        Ok(store) => {
            // The copy serves where the manifest is damaged.
            let texts = ["manifest", "manifest.copy"].into_iter().filter_map(|name| files.get(name));
            let (_, has_ids) = texts.map(Vec::as_slice).find_map(width_and_ids).expect("it was opened");
            ask(store, has_ids, || unchanged(good, files))
        }
        Err(_) => false,
    };
    drop(outcome);
    assert!(is_good || files != good, "a good store");
    if !is_good {
        repaired(good, files);
    }
}

/// The pairs that a store has whatever was changed in its files. If the manifest was changed, which says what
/// counts, there are none.
///
/// They are those of a store that lacks the segments that were changed, or whose removals were. What such segments are
/// found to hold only adds to them, since a pair may lie in several. If logs were changed, too, pairs that these name
/// are left out: what inserted them may be lost, and what is read may remove them.
fn unchanged<F: Fingerprint>(good: &Files, files: &Files) -> BTreeSet<Pair<F>> {
    let is_same = |name: &String| good.get(name) == files.get(name);
    if !is_same(&"manifest".to_owned()) {
        return BTreeSet::new();
    }
    let mut manifest = parse(&good["manifest"]).expect("a good store");
    manifest.segments.retain(|segment| files_of_segment(segment).iter().all(is_same));
    let mut rest = good.clone();
    rest.insert("manifest".to_owned(), to_text(&manifest).into_bytes());
    let mut pairs = pairs_of(&Store::<F>::open_on(disk_of(&rest), options()).expect("a good store"));
    let mut logs = good.keys().chain(files.keys()).filter(|name| name.starts_with("log/"));
    if !logs.all(is_same) {
        for named in [named_in_logs(good), named_in_logs(files)] {
            pairs.retain(|pair| !named.contains(pair));
        }
    }
    pairs
}

fn files_of_segment(segment: &SegmentEntry) -> Vec<String> {
    let number = segment.number;
    let removals = segment.removals.map(|removals| format!("deletes/{number:06}-{}", removals.version));
    [format!("segments/{number:06}.hamdex")].into_iter().chain(removals).collect()
}

fn pairs_of<F: Fingerprint>(store: &Store<F>) -> BTreeSet<Pair<F>> {
    store.snapshot().pairs_in_order().collect::<Result<_, _>>().expect("what is whole")
}

/// The pairs of all operations that can be had of the logs, whether or not they count.
fn named_in_logs<F: Fingerprint>(files: &Files) -> BTreeSet<Pair<F>> {
    let manifest = parse(&files["manifest"]).expect("a good manifest");
    let (identity, start) = (&manifest.identity, manifest.logs_start());
    let mut pairs = BTreeSet::new();
    let salvaged = salvage(&disk_of(files), identity, start, manifest.sealed, |_, batch| {
        pairs.extend(batch.operations.iter().map(Operation::pair));
        Ok(())
    });
    salvaged.expect("a simulated disk");
    pairs
}

/// Asks a store. If everything in it verifies, compares it with a plain set, which has at least these pairs.
fn ask<F: Fingerprint>(
    store: &Store<F>,
    has_ids: bool,
    at_least: impl FnOnce() -> BTreeSet<Pair<F>>,
) -> bool {
    let is_good = store.verify(&VerifyOptions::new().threads(1)).is_ok();
    if is_good {
        is_plain_set(store, has_ids, &at_least());
    } else {
        let snapshot = store.snapshot();
        let queries = [F::ZERO, F::ONES];
        let mut searcher = snapshot.searcher();
        for query in queries {
            let _ = (
                searcher.within(query, 3).map(<[_]>::len),
                searcher.nearest_within(query, 2, u64::BITS).map(<[_]>::len),
            );
            let _ = (snapshot.ids(query), snapshot.contains(query));
        }
        let _ = snapshot.pairs_in_order().take(1000).filter(Result::is_ok).count();
    }
    is_good
}

/// Repairs the store in a real directory. What has been repaired is whole.
fn repaired(good: &Files, files: &Files) {
    let directory = super::directory();
    for name in DIRECTORIES {
        std::fs::create_dir(directory.path().join(name)).expect("a temporary directory");
    }
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).expect("a temporary directory");
    }
    let Ok(_) = repair(directory.path()) else { return };
    let manifest = std::fs::read(directory.path().join("manifest")).expect("what was repaired");
    match width_and_ids(&manifest).expect("what was repaired") {
        (128, has_ids) => is_whole::<u128>(directory.path(), has_ids, &unchanged(good, files)),
        (_, has_ids) => is_whole::<u64>(directory.path(), has_ids, &unchanged(good, files)),
    }
    assert!(repair(directory.path()).expect("what was repaired").was_whole());
}

/// That a store opens, verifies, and answers as a plain set does, which has at least these pairs.
fn is_whole<F: Fingerprint>(directory: &Path, has_ids: bool, at_least: &BTreeSet<Pair<F>>) {
    let store = Store::<F>::open(directory, options()).expect("what was repaired");
    store.verify(&VerifyOptions::new().threads(1)).expect("what was repaired");
    is_plain_set(&store, has_ids, at_least);
}

/// That a store that verifies answers as a plain set does, which has at least these pairs.
fn is_plain_set<F: Fingerprint>(store: &Store<F>, has_ids: bool, at_least: &BTreeSet<Pair<F>>) {
    let pairs = pairs_of(store);
    let lost: Vec<_> = at_least.difference(&pairs).collect();
    assert!(lost.is_empty(), "{lost:?} of files that were not changed");
    assert_same(&store.snapshot(), &Model(pairs), &[F::ZERO, F::ONES], has_ids);
}

/// Stores of all kinds, closed or left by a crash, with segments, removals and logs.
pub(super) fn stores() -> Vec<SimulatedDisk> {
    let mut disks = Vec::new();
    for (seed, has_ids) in [(1, true), (2, false)] {
        let disk = SimulatedDisk::new();
        let filter = if has_ids { FilterChoice::Bits(11) } else { FilterChoice::Auto };
        let create = shape(has_ids).filter(filter);
        let store = Store::<u64>::create_on(disk.clone(), &create, options()).expect("a new disk");
        let mut chance = Chance(seed);
        for count in [40, 60, 10] {
            store.write(chance.operations(count, has_ids)).expect("a new disk");
            store.flush().expect("a new disk");
        }
        store.write(chance.operations(9, has_ids)).expect("a new disk");
        store.write(chance.operations(3, has_ids)).expect("a new disk");
        disks.push(disk.crashed(Survival::Everything));
        drop(store);
        disks.push(disk);
    }
    let disk = SimulatedDisk::new();
    let create = CreateOptions::new().names(true).design("single").distance(1);
    let store = Store::<u64>::create_on(disk.clone(), &create, options()).expect("a new disk");
    store
        .put([(7, "seven"), (8, ""), (7, "a longer name of some bytes")], When::always())
        .expect("a new disk");
    store.flush().expect("a new disk");
    store.put([(9, "nine"), (1 << 63, "far")], When::always()).expect("a new disk");
    drop(store);
    disks.push(disk);
    let disk = SimulatedDisk::new();
    let store = Store::<u128>::create_on(disk.clone(), &shape(true), options()).expect("a new disk");
    (0..30).try_for_each(|id| store.insert(1 << (id * 4), id)).expect("a new disk");
    store.flush().expect("a new disk");
    store.remove(1, 0).expect("a new disk");
    drop(store);
    disks.push(disk);
    disks
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 60)
}
