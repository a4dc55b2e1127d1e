//! Every kind of container of either width answers as brute force does, through the same interface.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use hamdex::{
    BatchOptions, BuildOptions, Builder, Cancellation, Category, Fingerprint, Index, Match, OpenOptions,
    PairsOptions, RECIPE_KEY, ReadErrorKind, Report, VerifyOptions,
};
use hamdex_any::{AnyFingerprint, AnySet, Kind, for_width, open};
use hamdex_shards::{Layout, Shards, ShardsBuilder};
use hamdex_store::{AnyStore, CreateOptions, Operation, Record, Store, StoreOptions, StoreReader, When};

const RECIPE: &str = "default";

/// Fingerprints far apart and near each other, some of them with several ids; 0 and the greatest value.
fn pairs<F: Fingerprint>() -> BTreeSet<(F, u64)> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u128::from(state ^ state >> 31) << 64 | u128::from(state.rotate_left(29))
    };
    let mut pairs = BTreeSet::from([(F::ZERO, 0), (F::ONES, 1)]);
    for number in 0..300u64 {
        let value = F::truncate(next());
        pairs.insert((value, 10 + 3 * number));
        if number % 3 == 0 {
            pairs.insert((value, 11 + 3 * number));
        }
        if number % 2 == 0 {
            pairs.insert((value ^ F::bit(number as u32 % 60) ^ F::bit(61), 12 + 3 * number));
        }
    }
    pairs
}

fn name(id: u64) -> Vec<u8> {
    format!("document {id}").into_bytes()
}

/// Writes the pairs as each kind of container, with names if they are wanted. Returns the paths.
fn written<F: Fingerprint>(
    directory: &Path,
    pairs: &BTreeSet<(F, u64)>,
    named: bool,
) -> [(Kind, std::path::PathBuf); 4] {
    let at = |name: &str| directory.join(name);
    let options =
        || BuildOptions::<F>::new().ids(true).names(named).metadata(RECIPE_KEY, RECIPE).block_bytes(512);
    let mut file = Builder::with_options(at("file"), options()).unwrap();
    let store = CreateOptions::new().names(named).recipe(RECIPE.to_owned());
    let store = Store::<F>::create(at("store"), &store, StoreOptions::new().merges(false)).unwrap();
    let mut hashed = ShardsBuilder::create(at("hashed"), Layout::Hash, 3, options()).unwrap();
    let mut families = ShardsBuilder::create(at("families"), Layout::Families, 4, options()).unwrap();
    // Names come in the order of their ids.
    let mut by_id: Vec<&(F, u64)> = pairs.iter().collect();
    by_id.sort_by_key(|pair| pair.1);
    for (number, &&(fingerprint, id)) in by_id.iter().enumerate() {
        file.push_with_id(fingerprint, id).unwrap();
        if named {
            hashed.push_named(fingerprint, id, name(id)).unwrap();
            families.push_named(fingerprint, id, name(id)).unwrap();
            store.put([Record::named(fingerprint, &name(id))], When::always()).unwrap();
        } else {
            hashed.push_with_id(fingerprint, id).unwrap();
            families.push_with_id(fingerprint, id).unwrap();
            store.insert(fingerprint, id).unwrap();
        }
        if number == 100 {
            store.flush().unwrap();
        }
    }
    if named {
        let ids: BTreeSet<u64> = pairs.iter().map(|pair| pair.1).collect();
        for id in ids {
            file.push_name(id, name(id)).unwrap();
        }
    }
    file.finish().unwrap();
    hashed.finish().unwrap();
    families.finish().unwrap();
    store.close().unwrap();
    [
        (Kind::File, at("file")),
        (Kind::Store, at("store")),
        (Kind::Shards, at("hashed")),
        (Kind::Shards, at("families")),
    ]
}

/// The ids of each fingerprint, by name if there are names.
fn documents(set: &AnySet, ids: hamdex::set::MatchIds<'_>) -> BTreeSet<Vec<u8>> {
    ids.map(|stored| match set.name_of(stored).unwrap() {
        Some(name) => name.into_owned(),
        None => name(stored.id),
    })
    .collect()
}

fn check<F: Fingerprint>(set: &AnySet, pairs: &BTreeSet<(F, u64)>) {
    let mut stored: BTreeMap<F, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for &(fingerprint, id) in pairs {
        stored.entry(fingerprint).or_default().insert(name(id));
    }
    let near = |query: F, distance| {
        let mut all: Vec<(u32, F)> = stored.keys().map(|&f| (f.distance(query), f)).collect();
        all.retain(|found| found.0 <= distance);
        all.sort_unstable();
        all
    };
    let typed = set.typed::<F>().unwrap();
    let queries: Vec<F> = stored.keys().flat_map(|&f| [f, f ^ F::bit(5), !f]).collect();
    let mut searcher = set.searcher();
    for &query in &queries {
        let expected = near(query, 3);
        let found = searcher.nearest_within(AnyFingerprint::of(query), usize::MAX, 3).unwrap();
        let found: Vec<(u32, F)> =
            found.iter().map(|one| (one.distance, one.fingerprint.narrow().unwrap())).collect();
        assert_eq!(found, expected);
        for (ids, (_, fingerprint)) in searcher.ids(usize::MAX).unwrap().into_iter().zip(&expected) {
            assert_eq!(documents(set, ids), stored[fingerprint]);
        }
        let nearest = searcher.nearest_within(AnyFingerprint::of(query), 2, F::BITS).unwrap();
        assert_eq!(
            nearest.iter().map(|one| one.distance).collect::<Vec<_>>(),
            [near(query, F::BITS)[0].0, near(query, F::BITS)[1].0]
        );
        let first = searcher.first(AnyFingerprint::of(query), 3).unwrap();
        assert_eq!(first.is_some(), !expected.is_empty());
        assert_eq!(set.contains(AnyFingerprint::of(query)).unwrap(), stored.contains_key(&query));
    }
    let mut answered = 0;
    let outcome = typed.visit_batch(&queries, 3, &BatchOptions::new(), &mut |place, matches: &[Match<F>]| {
        assert_eq!(place, answered);
        answered += 1;
        let found: Vec<(u32, F)> = matches.iter().map(|one| (one.distance, one.fingerprint)).collect();
        assert_eq!(found, near(queries[place], 3));
        Ok(())
    });
    assert!(outcome.is_ok() && answered == queries.len());

    let from = stored.keys().copied().nth(40).unwrap();
    let entries = typed.read_entries(from).unwrap().map(Result::unwrap);
    let entries: Vec<_> = entries.map(|(fingerprint, ids)| (fingerprint, documents(set, ids))).collect();
    assert!(entries.iter().map(|(f, ids)| (f, ids)).eq(stored.iter().skip(40)));

    let joined: BTreeSet<(F, F)> = stored
        .keys()
        .flat_map(|&a| stored.keys().map(move |&b| (a, b)))
        .filter(|(a, b)| a < b && a.distance(*b) <= 3)
        .collect();
    let mut found = BTreeSet::new();
    typed
        .visit_pairs(3, &PairsOptions::new(), &mut |some| {
            some.iter().for_each(|pair| assert!(found.insert((pair.a, pair.b))));
            Ok(())
        })
        .unwrap();
    assert_eq!(found, joined);
    let counts = typed.count_pairs(3, &PairsOptions::new()).unwrap();
    assert_eq!(counts.iter().sum::<u64>(), joined.len() as u64);

    let verified = set.verify(&VerifyOptions::new()).unwrap();
    assert!(verified.bytes > 0 && verified.files > 0 && verified.notes.is_empty(), "{verified:?}");
    let description = set.description();
    assert_eq!((description.width, description.distance, description.has_ids), (F::BITS, 3, true));
    assert!(description.fingerprints >= stored.len() as u64);
    assert!(!description.is_counted || description.fingerprints == stored.len() as u64);
    assert_eq!(description.metadata[RECIPE_KEY], RECIPE.as_bytes());
}

fn each_kind_answers_as_brute_force<F: Fingerprint>() {
    for named in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let pairs = pairs::<F>();
        for (kind, path) in written(directory.path(), &pairs, named) {
            let set = open(&path).unwrap();
            assert_eq!((set.kind(), set.description().has_names), (kind, named), "{}", path.display());
            assert_eq!(hamdex_any::width(&path).unwrap(), F::BITS);
            check(&set, &pairs);
            let in_memory = hamdex_any::open_with(&path, &OpenOptions::new().in_memory(true)).unwrap();
            assert!(in_memory.contains(AnyFingerprint::of(F::ONES)).unwrap());
            assert_eq!(set.typed::<F>().unwrap().as_index().is_some(), kind == Kind::File);
        }
    }
}

#[test]
fn each_kind_answers_as_brute_force_64() {
    each_kind_answers_as_brute_force::<u64>();
}

#[test]
fn each_kind_answers_as_brute_force_128() {
    each_kind_answers_as_brute_force::<u128>();
}

#[test]
fn a_query_or_a_type_of_another_width_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let pairs = pairs::<u64>();
    for (_, path) in written(directory.path(), &pairs, false) {
        let set = open(&path).unwrap();
        assert!(set.typed::<u128>().is_none());
        let beyond = AnyFingerprint::from(1u128 << 64);
        let mut searcher = set.searcher();
        for error in [
            searcher.nearest_within(beyond, 9, 3).map(drop).unwrap_err(),
            searcher.first(beyond, 3).map(drop).unwrap_err(),
            set.contains(beyond).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.category(), Category::Input);
            assert!(error.to_string().contains("more than the 64 bits"), "{error}");
        }
        assert!(searcher.ids(usize::MAX).unwrap().is_empty());
    }
}

#[test]
fn a_progress_callback_stops_a_query_of_many_blocks() {
    let directory = tempfile::tempdir().unwrap();
    // Blocks enough for more than one wave of any kind, in one file, one segment, and the shards of a family.
    let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let options = || BuildOptions::<u64>::new().block_bytes(512);
    let at = |name: &str| directory.path().join(name);
    let mut file = Builder::with_options(at("file"), options()).unwrap();
    let mut shards = ShardsBuilder::create(at("shards"), Layout::Hash, 1, options()).unwrap();
    let store = CreateOptions::new().ids(false);
    let store = Store::<u64>::create(at("store"), &store, StoreOptions::new()).unwrap();
    for number in 0..400_000 {
        file.push(spread(number)).unwrap();
        shards.push(spread(number)).unwrap();
    }
    store.write((0..400_000).map(|number| Operation::Insert(spread(number), 0)).collect()).unwrap();
    file.finish().unwrap();
    shards.finish().unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    for name in ["file", "shards", "store"] {
        let set = open(at(name)).unwrap();
        let mut searcher = set.searcher();
        let query = AnyFingerprint::from(77u64);
        assert_eq!(searcher.nearest_within(query, usize::MAX, 64).unwrap().len(), 400_000);
        let cancellation = Cancellation::new();
        searcher.report_to(Report::new().cancellation(cancellation.clone()));
        assert_eq!(searcher.nearest_within(query, usize::MAX, 64).unwrap().len(), 400_000);
        cancellation.cancel();
        let error = searcher.nearest_within(query, usize::MAX, 64).unwrap_err();
        assert_eq!(error.category(), Category::Stopped, "{name}: {error}");
    }
}

#[test]
fn a_path_that_names_nothing_is_refused_for_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let category = |path: &Path| open(path).unwrap_err().category();
    assert_eq!(category(&at("absent")), Category::System);
    assert_eq!(category(directory.path()), Category::Format);
    std::fs::write(at("text"), "no index").unwrap();
    assert_eq!(category(&at("text")), Category::Format);
    let error = open(at("text")).unwrap_err().downcast::<hamdex::ReadError>().unwrap();
    assert!(matches!(error.kind(), ReadErrorKind::NotHamdex));
    assert!(for_width!(64, F => F::BITS) == 64 && for_width!(128, F => F::BITS) == 128);
}

/// Returns the kind of the error of the system that an error comes from.
fn kind_of_cause(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<std::io::Error>()).map(std::io::Error::kind).last()
}

#[test]
fn a_path_to_nothing_is_not_found_whatever_opens_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent");
    let options = OpenOptions::new();
    let errors: [Box<dyn std::error::Error>; 7] = [
        Box::new(Index::<u64>::open(&path).err().unwrap()),
        Box::new(hamdex::width(&path).unwrap_err()),
        Box::new(open(&path).err().unwrap()),
        Box::new(Store::<u64>::open(&path, StoreOptions::new()).unwrap_err()),
        Box::new(AnyStore::open(&path, StoreOptions::new()).unwrap_err()),
        Box::new(StoreReader::<u64>::open(&path).err().unwrap()),
        Box::new(Shards::<u64>::open(&path, &options).err().unwrap()),
    ];
    for error in errors {
        assert_eq!(kind_of_cause(&*error), Some(ErrorKind::NotFound), "{error:?}");
        assert!(!error.to_string().contains("manifest"), "{error}");
    }
    // A directory that is there is another matter.
    let error = Store::<u64>::open(directory.path(), StoreOptions::new()).unwrap_err();
    assert_eq!((kind_of_cause(&error), error.category()), (None, Category::Format));
}
