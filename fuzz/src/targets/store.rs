//! The files of a store with a few bytes changed, their checksums made right: opened, asked, repaired.

use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Unstructured;
use hamdex::VerifyOptions;
use hamdex_store::disk::{SimulatedDisk, Survival};
use hamdex_store::internals::manifest::parse;
use hamdex_store::{CreateOptions, Engine, Store, StoreOptions, repair};

use crate::choose::{below, damage, flag, one_of};
use crate::seal::seal;
use crate::store::{
    DIRECTORIES, Files, disk_of, files_of, numbers_of, operation_bytes, seal_log, seal_removals,
    sealed_manifest,
};
use crate::targets::operations::model::{Chance, Model, assert_same, shape, tiny};

static STORES: LazyLock<Vec<Files>> = LazyLock::new(|| stores().iter().map(files_of).collect());

/// Opens the store that the input describes.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let mut files = STORES[below(&mut bytes, STORES.len())].clone();
    change(&mut files, &mut bytes);
    let wide =
        files.get("manifest").and_then(|text| width_and_ids(text)).is_some_and(|(width, _)| width == 128);
    if wide { open::<u128>(&files) } else { open::<u64>(&files) }
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
            Some("manifest") => *contents = sealed_manifest(contents),
            Some("log") => seal_log(contents, identity.store, number, operation_bytes(&identity)),
            Some("deletes") => seal_removals(contents, identity.store, number, version),
            _ => seal(contents),
        }
    }
}

/// What the manifest says of the store's kind.
fn width_and_ids(text: &[u8]) -> Option<(u32, bool)> {
    parse(text).ok().map(|manifest| (manifest.identity.width, manifest.identity.has_ids))
}

fn options() -> StoreOptions {
    tiny().merges(false)
}

fn open<F: Engine>(files: &Files) {
    let outcome = Store::<F, _>::open_on(disk_of(files), options());
    let is_good = match &outcome {
        Ok(store) => {
            let (_, has_ids) = width_and_ids(&files["manifest"]).expect("it was opened");
            ask(store, has_ids)
        }
        Err(_) => false,
    };
    drop(outcome);
    if !is_good {
        repaired(files);
    }
}

/// Asks a store, and compares it with a plain set if everything in it verifies.
fn ask<F: Engine>(store: &Store<F, SimulatedDisk>, has_ids: bool) -> bool {
    let is_good = store.verify(&VerifyOptions::new().threads(1)).is_ok();
    let snapshot = store.snapshot();
    let queries = [F::ZERO, F::ONES];
    if is_good {
        let pairs = snapshot.pairs_in_order().collect::<Result<_, _>>().expect("it was verified");
        assert_same(&snapshot, &Model(pairs), &queries, has_ids);
    } else {
        let mut searcher = snapshot.searcher();
        for query in queries {
            let _ = (searcher.within(query, 3).map(<[_]>::len), searcher.nearest(query, 2).map(<[_]>::len));
            let _ = (snapshot.ids(query), snapshot.contains(query));
        }
        let _ = snapshot.pairs_in_order().take(1000).filter(Result::is_ok).count();
    }
    is_good
}

/// Repairs the store in a real directory. What has been repaired is whole.
fn repaired(files: &Files) {
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
        (128, has_ids) => is_whole::<u128>(directory.path(), has_ids),
        (_, has_ids) => is_whole::<u64>(directory.path(), has_ids),
    }
    assert!(repair(directory.path()).expect("what was repaired").found.is_empty());
}

/// That a store opens, verifies, and answers as a plain set does.
fn is_whole<F: Engine>(directory: &Path, has_ids: bool) {
    let store = Store::<F>::open(directory, options()).expect("what was repaired");
    store.verify(&VerifyOptions::new().threads(1)).expect("what was repaired");
    let snapshot = store.snapshot();
    let pairs = snapshot.pairs_in_order().collect::<Result<_, _>>().expect("what was repaired");
    assert_same(&snapshot, &Model(pairs), &[F::ZERO, F::ONES], has_ids);
}

/// Stores of all kinds, closed or left by a crash, with segments, removals and logs.
pub(super) fn stores() -> Vec<SimulatedDisk> {
    let mut disks = Vec::new();
    for (seed, has_ids) in [(1, true), (2, false)] {
        let disk = SimulatedDisk::new();
        let store = Store::<u64, _>::create_on(disk.clone(), &shape(has_ids), options()).expect("a new disk");
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
    let store = Store::<u64, _>::create_on(disk.clone(), &create, options()).expect("a new disk");
    store.insert_named(&[(7, "seven"), (8, ""), (7, "a longer name of some bytes")]).expect("a new disk");
    store.flush().expect("a new disk");
    store.insert_named(&[(9, "nine"), (1 << 63, "far")]).expect("a new disk");
    drop(store);
    disks.push(disk);
    let disk = SimulatedDisk::new();
    let store = Store::<u128, _>::create_on(disk.clone(), &shape(true), options()).expect("a new disk");
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
