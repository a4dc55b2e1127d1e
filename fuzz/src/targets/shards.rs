//! A set of shards, its manifest and its files changed, their checksums made right: opened, asked, verified. What
//! verifies is compared with brute force.

use std::path::Path;
use std::sync::LazyLock;

use arbitrary::Unstructured;
use hamdex::{
    BatchOptions, BuildOptions, Fingerprint, FingerprintSet, OpenOptions, PairsOptions, RECIPE_KEY, SetError,
    VerifyOptions,
};
use hamdex_shards::inspect::IdType;
use hamdex_shards::{Layout, MANIFEST, Shards, ShardsBuilder, width};

use crate::check::{MAX_JOINED, are_all_pairs, assert_sound};
use crate::choose::{below, damage, flag, one_of};
use crate::common::{Shape, brute_force, data, pairs, queries};
use crate::seal::seal;
use crate::set::{edited, name_anew};
use crate::store::{Files, sealed_manifest};

static SETS: LazyLock<Vec<Files>> = LazyLock::new(sets);

/// Opens the set that the input describes.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let mut files = one_of(&mut bytes, SETS.as_slice());
    change(&mut files, &mut bytes);
    let directory = super::directory();
    for (name, contents) in &files {
        std::fs::write(directory.path().join(name), contents).expect("a temporary directory");
    }
    match width(directory.path()) {
        Ok(64) => open::<u64>(directory.path(), &mut bytes),
        Ok(128) => open::<u128>(directory.path(), &mut bytes),
        Ok(width) => panic!("a width of {width} bits"),
        Err(_) => {}
    }
}

/// Changes the manifest or some of the files, and seals what was changed.
fn change(files: &mut Files, bytes: &mut Unstructured<'_>) {
    let shards: Vec<String> = files.keys().filter(|name| *name != MANIFEST).cloned().collect();
    for _ in 0..4 {
        if bytes.is_empty() {
            return;
        }
        let name = one_of(bytes, &shards);
        match below(bytes, 8) {
            0 => drop(files.remove(&name)),
            1 | 2 => {
                let Some(contents) = files.get_mut(&name) else { continue };
                damage(contents, bytes);
                seal(contents);
                if flag(bytes) {
                    name_anew(files, &name);
                }
            }
            3 => {
                let Some(other) = files.get(&one_of(bytes, &shards)).cloned() else { continue };
                files.insert(name.clone(), other);
                name_anew(files, &name);
            }
            4 => {
                let manifest = files.get_mut(MANIFEST).expect("no one removes it");
                damage(manifest, bytes);
                *manifest = sealed_manifest(manifest);
            }
            _ => {
                let manifest = edited(&files[MANIFEST], bytes);
                files.insert(MANIFEST.to_owned(), manifest);
            }
        }
    }
}

fn open<F: Fingerprint>(path: &Path, bytes: &mut Unstructured<'_>) {
    let Ok(set) = Shards::<F>::open(path, &OpenOptions::new()) else { return };
    // Whatever was asked before, and so opened, verification finds the same.
    if flag(bytes) {
        ask(&set);
    }
    match set.verify(&VerifyOptions::new().threads(1)) {
        Ok(verified) => {
            let stored = entries(&set);
            match set.manifest().layout {
                Layout::Families => assert_eq!(verified.fingerprints, stored.len() as u64),
                _ => assert!(verified.fingerprints >= stored.len() as u64),
            }
            agrees(&set, &stored);
        }
        Err(_) => ask(&set),
    }
}

/// Asks a set that may be anything. What is found is what it says.
fn ask<F: Fingerprint>(set: &Shards<F>) {
    let mut searcher = set.searcher();
    for query in [F::ZERO, F::ONES] {
        for distance in [0, set.distance(), F::BITS] {
            if let Ok(found) = searcher.within(query, distance) {
                assert_sound(found, query, distance);
            }
        }
        let _ = (searcher.first(query, 3), searcher.ids(query));
        let _ = searcher.nearest_within(query, 2, F::BITS).map(<[_]>::len);
    }
    let _ = set.read_entries(F::ZERO).map(|entries| entries.take(1000).take_while(Result::is_ok).count());
    let _ = set.count_pairs(2, &PairsOptions::new().threads(1));
}

/// All that is stored, ascending, each once; its ids are the same by every way to them.
fn entries<F: Fingerprint>(set: &Shards<F>) -> Vec<F> {
    let mut searcher = set.searcher();
    let mut stored = Vec::new();
    for entry in set.read_entries(F::ZERO).expect("it was verified") {
        let (fingerprint, listed) = entry.expect("it was verified");
        assert_eq!(listed.len() == 0, set.manifest().id_type.is_none());
        let ids = searcher.ids(fingerprint).expect("it was verified");
        assert!(ids.iter().map(|stored| stored.id).eq(listed.map(|stored| stored.id)));
        for &id in &ids {
            let name = set.name(id).expect("it was verified");
            assert_eq!(name.is_some(), set.manifest().id_type == Some(IdType::Names));
        }
        stored.push(fingerprint);
    }
    assert!(stored.is_sorted_by(|a, b| a < b));
    stored
}

/// That a set without damage answers as brute force does.
fn agrees<F: Fingerprint>(set: &Shards<F>, stored: &[F]) {
    let known = set.distance();
    let queries = queries(stored, 2, 5);
    let mut searcher = set.searcher();
    for distance in [0, 1, known, known.saturating_add(1).min(F::BITS), F::BITS] {
        for &query in &queries {
            let expected = brute_force(stored, query, distance);
            assert_eq!(pairs(searcher.within(query, distance).unwrap()), expected, "within {distance}");
            let first = searcher.first(query, distance).unwrap();
            assert_eq!(first.is_some(), !expected.is_empty(), "first within {distance}");
            let nearest = pairs(searcher.nearest_within(query, 2, distance).unwrap());
            assert_eq!(nearest, expected[..expected.len().min(2)], "nearest within {distance}");
            assert_eq!(searcher.first(query, 0).unwrap().is_some(), stored.binary_search(&query).is_ok());
        }
        let mut next = 0;
        let options = BatchOptions::new().threads(1);
        let outcome = set.batch_with(&queries, distance, &options, |place, found| {
            assert_eq!(place, next);
            next += 1;
            assert_eq!(pairs(found), brute_force(stored, queries[place], distance), "a batch");
            Ok::<_, SetError>(())
        });
        assert!(outcome.is_ok() && next == queries.len());
    }
    if stored.len() <= MAX_JOINED {
        for distance in [1, known.min(6)] {
            let mut found = Vec::new();
            let outcome = set.visit_pairs(distance, &PairsOptions::new().threads(1), &mut |pairs| {
                found.extend_from_slice(pairs);
                Ok(())
            });
            outcome.unwrap();
            are_all_pairs(found, stored, distance);
        }
    }
}

/// Sets of both layouts and widths, with ids, names, a recipe, and without.
fn sets() -> Vec<Files> {
    vec![
        set::<u64>(Layout::Families, 2, options().distance(1).ids(true)),
        set::<u64>(Layout::Families, 1, options().distance(3).metadata(RECIPE_KEY, "a recipe")),
        set::<u128>(Layout::Families, 2, options().distance(2).names(true)),
        set::<u64>(Layout::Hash, 3, options().distance(3).ids(true)),
        set::<u64>(Layout::Hash, 2, options().distance(2).names(true)),
        set::<u128>(Layout::Hash, 2, options()),
    ]
}

fn options<F: Fingerprint>() -> BuildOptions<F> {
    BuildOptions::new().block_bytes(512).threads(1)
}

fn set<F: Fingerprint>(layout: Layout, shards: usize, options: BuildOptions<F>) -> Files {
    let parent = super::directory();
    let path = parent.path().join("set");
    let (has_ids, has_names) = (options.has_ids(), options.has_names());
    let mut builder = ShardsBuilder::create(&path, layout, shards, options).expect("a temporary directory");
    for (&fingerprint, id) in data::<F>(Shape::Mixed, 60, 9).iter().zip(0..) {
        let pushed = match (has_ids, has_names) {
            (false, _) => builder.push(fingerprint),
            (true, false) => builder.push_with_id(fingerprint, id / 2),
            (true, true) => builder.push_named(fingerprint, id, format!("document {id}")),
        };
        pushed.expect("a temporary directory");
    }
    builder.finish().expect("a temporary directory");
    let entries = path.read_dir().expect("it was built").map(|entry| entry.expect("it was built"));
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a plain name");
            (name, std::fs::read(entry.path()).expect("it was built"))
        })
        .collect()
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 60)
}
