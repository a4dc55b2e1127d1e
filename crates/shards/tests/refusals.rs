//! Directories that are not complete sets are refused, and nothing is changed.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Pushed, build, entries, kinds, mix};
use hamdex::{BuildOptions, Builder, OpenOptions, VerifyOptions, shingles};
use hamdex_manifest::seal;
use hamdex_shards::inspect::{IdType, read_manifest};
use hamdex_shards::{Error, Layout, MANIFEST, Shards, ShardsBuilder, add, create};

fn open(path: &Path) -> Result<Shards<u64>, Error> {
    Shards::open(path, &OpenOptions::new())
}

/// Opens a set, asks it everything and verifies it.
fn read_all(path: &Path) -> Result<(), Error> {
    let set = open(path)?;
    set.searcher().within(7, 4)?;
    set.verify(&VerifyOptions::new()).map(drop)
}

fn pushed() -> Vec<Pushed<u64>> {
    kinds::of(1, 400, 5)
}

/// All files below a directory, with their contents.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read(path).unwrap());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { [file(path)].into() }).collect()
}

/// An index file.
fn index(path: &Path, options: BuildOptions<u64>, range: std::ops::Range<u64>) {
    let (ids, names, shingles) = (options.has_ids(), options.has_names(), options.has_shingles());
    let mut builder = Builder::with_options(path, options).unwrap();
    for number in range {
        match ids {
            true => builder.push_with_id(mix(number), number).unwrap(),
            false => builder.push(mix(number)).unwrap(),
        }
        if names {
            builder.push_name(number, format!("page {number}")).unwrap();
        }
        if shingles {
            builder.push_shingles(number, &[number]).unwrap();
        }
    }
    builder.finish().unwrap();
}

#[test]
fn missing_changed_and_foreign_shards_are_found() {
    for layout in [Layout::Families, Layout::Hash] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("set");
        let manifest = build(&path, layout, 2, 3, &pushed(), true).manifest;
        read_all(&path).unwrap();
        let shard = path.join(&manifest.shards[1].file);
        let whole = std::fs::read(&shard).unwrap();
        std::fs::remove_file(&shard).unwrap();
        assert!(matches!(read_all(&path), Err(Error::Missing { path }) if path == shard));
        std::fs::create_dir(&shard).unwrap();
        assert!(matches!(read_all(&path), Err(Error::Damaged { .. })));
        std::fs::remove_dir(&shard).unwrap();
        std::fs::write(&shard, &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(read_all(&path), Err(Error::Damaged { .. })));
        // Of the same length, and something else.
        std::fs::write(&shard, vec![0; whole.len()]).unwrap();
        assert!(matches!(read_all(&path), Err(Error::Read(_))));
        for place in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[place] ^= 4;
            std::fs::write(&shard, changed).unwrap();
            assert!(read_all(&path).is_err(), "{layout}: byte {place}");
        }
        std::fs::write(&shard, &whole).unwrap();
        read_all(&path).unwrap();
    }
}

#[test]
fn a_shard_of_another_set_is_found_even_if_its_length_fits() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    let both = build(&path, Layout::Hash, 2, 3, &Vec::<Pushed<u64>>::new(), false).manifest;
    let one =
        build(&parent.path().join("other"), Layout::Hash, 1, 2, &Vec::<Pushed<u64>>::new(), false).manifest;
    assert_eq!(both.shards[0].bytes, one.shards[0].bytes, "both are empty");
    let other = parent.path().join("other").join(&one.shards[0].file);
    std::fs::copy(other, path.join(&both.shards[0].file)).unwrap();
    let error = read_all(&path).unwrap_err();
    assert!(error.to_string().contains("not the file that the manifest names"), "{error}");
}

#[test]
fn shards_that_change_places_are_found() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    let manifest = build(&path, Layout::Families, 2, 3, &pushed(), false).manifest;
    // Exchanged in the manifest too, so only the fingerprints themselves differ.
    let text = std::fs::read_to_string(path.join(MANIFEST)).unwrap();
    assert_ne!(manifest.shards[2].file_id, manifest.shards[3].file_id);
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.pop();
    lines.swap(3, 4);
    std::fs::write(path.join(MANIFEST), seal(lines.concat())).unwrap();
    let error = open(&path).unwrap().verify(&VerifyOptions::new()).unwrap_err();
    assert!(error.to_string().contains("belongs in another shard"), "{error}");
}

#[test]
fn invalid_manifests_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    build(&path, Layout::Families, 2, 3, &pushed(), true);
    let manifest = path.join(MANIFEST);
    let text = std::fs::read(&manifest).unwrap();
    for place in 0..text.len() {
        let mut changed = text.clone();
        changed[place] ^= 1;
        std::fs::write(&manifest, changed).unwrap();
        assert!(open(&path).is_err(), "byte {place}");
    }
    std::fs::remove_file(&manifest).unwrap();
    assert!(matches!(open(&path), Err(Error::NotShards { .. })));
    std::fs::create_dir(&manifest).unwrap();
    assert!(matches!(open(&path), Err(Error::NotShards { .. })));
    assert!(matches!(open(&parent.path().join("absent")), Err(Error::NotShards { .. })));
    std::fs::write(parent.path().join("file"), "").unwrap();
    assert!(matches!(open(&parent.path().join("file")), Err(Error::NotShards { .. })));
    let wide = Shards::<u128>::open(&path, &OpenOptions::new());
    assert!(wide.is_err());
}

#[test]
fn only_a_set_is_replaced_and_only_on_request() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    build(&path, Layout::Families, 2, 3, &pushed(), true);
    let before = files(parent.path());
    let start = |overwrite| {
        let options = BuildOptions::<u64>::new().overwrite(overwrite);
        ShardsBuilder::create(&path, Layout::Hash, 1, options)
    };
    assert!(matches!(start(false), Err(Error::Output(_))));
    // Started and dropped, or started before another process publishes.
    let mut builder = start(true).unwrap();
    builder.push(9).unwrap();
    drop(builder);
    assert_eq!(files(parent.path()), before);
    std::fs::write(path.join("mine.txt"), "mine").unwrap();
    let error = start(true).unwrap_err();
    assert!(error.to_string().contains("has mine.txt in it"), "{error}");
    std::fs::remove_file(path.join("mine.txt")).unwrap();
    let sealed = start(true).unwrap().seal(&mut |_, _| {}).unwrap();
    std::fs::write(path.join("mine.txt"), "mine").unwrap();
    let error = sealed.publish().unwrap_err();
    assert!(matches!(&error, Error::NotReplaced { what, .. } if what == "has mine.txt in it"), "{error}");
    std::fs::remove_file(path.join("mine.txt")).unwrap();
    assert_eq!(files(parent.path()), before);
    let text = std::fs::read(path.join(MANIFEST)).unwrap();
    std::fs::write(path.join(MANIFEST), &text[1..]).unwrap();
    let error = start(true).unwrap_err();
    assert!(matches!(&error, Error::NotReplaced { what, .. } if what == "not a set of shards"), "{error}");
    std::fs::write(path.join(MANIFEST), text).unwrap();
    start(true).unwrap().finish().unwrap();
    assert!(open(&path).unwrap().is_empty());
    assert_eq!(files(parent.path()).len(), 2, "a shard and the manifest");

    for (name, make) in [("directory", true), ("file", false)] {
        let path = parent.path().join(name);
        if make {
            std::fs::create_dir(&path).unwrap();
        } else {
            std::fs::write(&path, "mine").unwrap();
        }
        let options = BuildOptions::<u64>::new().overwrite(true);
        let refused = ShardsBuilder::create(&path, Layout::Hash, 1, options);
        match refused.unwrap_err() {
            Error::NotReplaced { what, .. } => {
                assert_eq!(what, if make { "not a set of shards" } else { "not a directory" });
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn options_are_checked_before_any_work() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("set");
    let refused = |layout, shards, options: BuildOptions<u64>| {
        let error = ShardsBuilder::create(&path, layout, shards, options).unwrap_err();
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
        error
    };
    assert!(matches!(refused(Layout::Hash, 0, BuildOptions::new()), Error::Option { .. }));
    assert!(matches!(refused(Layout::Families, 1 << 14, BuildOptions::new()), Error::Option { .. }));
    assert!(matches!(
        refused(Layout::Families, 1, BuildOptions::new().distance(64)),
        Error::Option { .. } | Error::Build(_)
    ));
    assert!(matches!(refused(Layout::Hash, 1, BuildOptions::new().memory(1)), Error::Build(_)));
    let missing = parent.path().join("no such directory");
    assert!(matches!(refused(Layout::Hash, 1, BuildOptions::new().temp_dir(missing)), Error::Build(_)));
    let mut builder = ShardsBuilder::create(&path, Layout::Hash, 1, BuildOptions::<u64>::new()).unwrap();
    assert!(builder.push_with_id(1, 2).is_err() && builder.push_named(1, 2, "x").is_err());
}

#[test]
fn files_join_a_set_and_ids_are_united() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let ids = || BuildOptions::new().ids(true);
    index(&at("a"), ids(), 0..100);
    index(&at("b"), ids(), 50..150);
    let mut builder = Builder::with_options(at("c"), ids()).unwrap();
    (90..95).for_each(|number| builder.push_with_id(mix(number), number + 1000).unwrap());
    builder.finish().unwrap();
    let options = VerifyOptions::new();
    create(at("set"), &[at("a"), at("b")], false, &options).unwrap();
    let manifest = add(at("set"), &[at("c")], &options).unwrap();
    assert_eq!(manifest, read_manifest(at("set")).unwrap());
    assert_eq!((manifest.shards.len(), manifest.id_type), (3, Some(IdType::Numbers)));
    ["a", "b", "c"].into_iter().for_each(|name| std::fs::remove_file(at(name)).unwrap());
    let set = open(&at("set")).unwrap();
    assert!(set.verify(&options).unwrap().notes.is_empty());
    assert_eq!(entries(&set).len(), 150, "each once");
    let mut searcher = set.searcher();
    for (number, ids) in [(7, vec![7]), (60, vec![60]), (92, vec![92, 1092]), (149, vec![149])] {
        let found: Vec<u64> = searcher.ids(mix(number)).unwrap().iter().map(|stored| stored.id).collect();
        assert_eq!(found, ids);
        assert_eq!(searcher.within(mix(number) ^ 5, 3).unwrap().len(), 1);
    }
}

#[test]
fn names_are_numbered_per_shard() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let named = || BuildOptions::<u64>::new().names(true);
    for (file, names) in [("a", ["one", "two"]), ("b", ["three", "two"])] {
        let mut builder = Builder::with_options(at(file), named()).unwrap();
        for (id, name) in (0..).zip(names) {
            builder.push_with_id(mix(id), id).unwrap();
            builder.push_name(id, name).unwrap();
        }
        builder.finish().unwrap();
    }
    create(at("set"), &[at("a"), at("b")], false, &VerifyOptions::new()).unwrap();
    let set = open(&at("set")).unwrap();
    let names = |fingerprint| -> Vec<String> {
        let ids = set.searcher().ids(fingerprint).unwrap();
        let names = ids.into_iter().map(|id| set.name(id).unwrap().unwrap().to_vec());
        names.map(|name| String::from_utf8(name).unwrap()).collect()
    };
    assert_eq!(names(mix(0)), ["one", "three"]);
    assert_eq!(names(mix(1)), ["two", "two"]);
}

#[test]
fn files_that_do_not_fit_are_refused_and_leave_the_set_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let plain = BuildOptions::<u64>::new;
    index(&at("a"), plain(), 0..50);
    index(&at("b"), plain(), 50..99);
    index(&at("ids"), plain().ids(true), 0..50);
    index(&at("names"), plain().names(true), 0..50);
    index(&at("shingles"), plain().names(true).shingles(true).metadata(shingles::KEY, "a"), 0..50);
    index(&at("others"), plain().names(true).shingles(true).metadata(shingles::KEY, "b"), 50..99);
    index(&at("distance"), plain().distance(2), 0..50);
    index(&at("recipe"), plain().metadata(hamdex::RECIPE_KEY, "x"), 0..50);
    let mut wide = Builder::<u128>::new(at("wide")).unwrap();
    wide.push(1).unwrap();
    wide.finish().unwrap();
    let mut damaged = std::fs::read(at("b")).unwrap();
    damaged[5000] ^= 1;
    std::fs::write(at("damaged"), damaged).unwrap();
    std::fs::write(at("text"), "0123456789abcdef\n").unwrap();
    let options = VerifyOptions::new();
    create(at("set"), &[at("a")], false, &options).unwrap();
    create(at("shingled"), &[at("shingles")], false, &options).unwrap();
    let error = add(at("shingled"), &[at("others")], &options).unwrap_err();
    assert!(error.to_string().contains("the shingles \"b\""), "{error}");
    assert!(matches!(add(at("shingled"), &[at("names")], &options), Err(Error::Unlike { .. })));
    build(&at("families"), Layout::Families, 2, 3, &pushed(), false);
    let before = files(parent.path());
    let refused = |files_: &[&str]| {
        let paths: Vec<_> = files_.iter().map(|name| at(name)).collect();
        let error = add(at("set"), &paths, &options).unwrap_err();
        assert_eq!(files(parent.path()), before, "{files_:?}");
        error
    };
    for other in ["ids", "names", "distance", "recipe", "wide"] {
        assert!(matches!(refused(&["b", other]), Error::Unlike { .. }), "{other}");
    }
    for other in ["damaged", "text", "absent"] {
        assert!(matches!(refused(&["b", other]), Error::Read(_)), "{other}");
    }
    assert!(matches!(refused(&["a"]), Error::Twice { .. }));
    assert!(matches!(refused(&["b", "b"]), Error::Twice { .. }));
    assert!(matches!(add(at("families"), &[at("b")], &options), Err(Error::Families { .. })));
    assert!(add(at("absent"), &[at("b")], &options).is_err());
    assert!(matches!(create(at("new"), &[] as &[&Path], false, &options), Err(Error::Option { .. })));
    assert!(matches!(create(at("set"), &[at("b")], false, &options), Err(Error::Output(_))));
    assert_eq!(files(parent.path()), before);
    let inside = at("set").join(&read_manifest(at("set")).unwrap().shards[0].file);
    let error = create(at("set"), &[inside], true, &options).unwrap_err();
    assert!(error.to_string().contains("is the input"), "{error}");
    assert_eq!(files(parent.path()), before);
    // A file that has the name which the set would give it, and keeps it.
    let named = at("set").join(format!("{}.hamdex", hamdex::Index::<u64>::open(at("b")).unwrap().file_id()));
    std::fs::copy(at("b"), &named).unwrap();
    add(at("set"), &[&named], &options).unwrap();
    assert_eq!(entries(&open(&at("set")).unwrap()).len(), 99);
}

#[cfg(unix)]
#[test]
fn one_process_at_a_time_adds_to_a_set() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    index(&at("a"), BuildOptions::new(), 0..50);
    index(&at("b"), BuildOptions::new(), 50..99);
    create(at("set"), &[at("a")], false, &VerifyOptions::new()).unwrap();
    let held = std::fs::File::open(at("set")).unwrap();
    held.lock().unwrap();
    assert!(matches!(add(at("set"), &[at("b")], &VerifyOptions::new()), Err(Error::InUse { .. })));
    drop(held);
    add(at("set"), &[at("b")], &VerifyOptions::new()).unwrap();
}

#[test]
fn the_same_input_gives_the_same_files_whatever_the_memory() {
    let parent = tempfile::tempdir().unwrap();
    let records: Vec<Pushed<u64>> = (0..200_000).map(|number| (mix(number % 150_000), number)).collect();
    for layout in [Layout::Families, Layout::Hash] {
        let set = |name: &str, memory: u64, reverse: bool| {
            let path = parent.path().join(format!("{layout}-{name}"));
            let options = BuildOptions::new().ids(true).memory(memory);
            let mut builder = ShardsBuilder::create(&path, layout, 3, options).unwrap();
            let mut push = |&(fingerprint, id): &Pushed<u64>| builder.push_with_id(fingerprint, id).unwrap();
            if reverse {
                records.iter().rev().for_each(&mut push);
            } else {
                records.iter().for_each(&mut push);
            }
            let manifest = builder.finish().unwrap().manifest;
            let contents = manifest.shards.iter().map(|shard| std::fs::read(path.join(&shard.file)).unwrap());
            (contents.collect::<Vec<_>>(), manifest)
        };
        // 16 MiB are too little for all records, and for the parts of them.
        let (small, large) = (set("small", 16 << 20, false), set("large", 1 << 30, true));
        assert!(small == large);
    }
}
