//! A distance that no two fingerprints have is refused by everything that takes one, and the greatest one answered.

use std::fmt::Debug;
use std::sync::Arc;

use hamdex::{
    BatchOptions, BuildOptions, Builder, Category, Fingerprint, FingerprintSet, Index, MultiIndex,
    OpenOptions, PairsOptions, ReadError, SetError, check_distance,
};
use hamdex_any::{AnyFingerprint, open};
use hamdex_shards::{Layout, Shards, ShardsBuilder};
use hamdex_store::{CreateOptions, Store, StoreOptions, StoreReader, When};

/// Checks how a call ended at a distance.
fn check<F: Fingerprint, T>(what: &str, distance: u32, outcome: Result<T, impl Into<SetError>>) {
    match outcome.map_err(Into::into) {
        Ok(_) => assert!(distance <= F::BITS, "{what}: {distance} bits are accepted"),
        Err(error) => {
            let text =
                format!("no two fingerprints of {0} bits are {distance} bits apart: at most {0}", F::BITS);
            assert!(distance > F::BITS, "{what}: {distance} bits are refused: {error}");
            assert_eq!((error.category(), error.to_string()), (Category::Usage, text), "{what}");
        }
    }
}

/// Asks every question of a set.
fn ask<F: Fingerprint>(what: &str, distance: u32, set: &dyn FingerprintSet<F>) {
    let check = |outcome| check::<F, ()>(what, distance, outcome);
    let mut searcher = set.open_searcher();
    for count in [0, 1, usize::MAX] {
        check(searcher.nearest_within(F::ZERO, count, distance).map(drop));
    }
    check(searcher.first(F::ZERO, distance).map(drop));
    for queries in [0, 1, 1000] {
        let queries = vec![F::ZERO; queries];
        check(set.visit_batch(&queries, distance, &BatchOptions::new(), &mut |_, _| Ok(())));
    }
    check(set.visit_pairs(distance, &PairsOptions::new(), &mut |_| Ok(())));
    check(set.count_pairs(distance, &PairsOptions::new()).map(drop));
}

/// Calls what the interface of all sets does not have.
fn call<F: Fingerprint + Debug>(distance: u32, index: Index<F>) {
    fn check_read<F: Fingerprint, T>(what: &str, distance: u32, outcome: Result<T, ReadError>) {
        check::<F, T>(what, distance, outcome);
    }
    check_read::<F, _>("check_distance", distance, check_distance::<F>(distance));
    let mut searcher = index.searcher();
    check_read::<F, _>("within", distance, searcher.within(F::ZERO, distance));
    check_read::<F, _>("for_each", distance, searcher.for_each(F::ZERO, distance, |_| Ok(())));
    let options = BatchOptions::new();
    check_read::<F, _>("batch", distance, index.batch_with(&[], distance, &options, |_, _| Ok(())));
    check_read::<F, _>("explain", distance, index.explain(F::ZERO, distance));
    check_read::<F, _>("pairs", distance, hamdex::pairs(&[F::ZERO, F::ONES], distance).collect());
    check_read::<F, _>("pairs", distance, hamdex::pairs::<F>(&[], distance).count_by_distance());
    let index = Arc::new(index);
    for indexes in [MultiIndex::new([]), MultiIndex::new([Arc::clone(&index), index])] {
        ask("several files", distance, &indexes);
        let mut searcher = indexes.searcher();
        check_read::<F, _>("within", distance, searcher.within(F::ZERO, distance));
        check_read::<F, _>("for_each", distance, searcher.for_each(F::ZERO, distance, |_, _| Ok(())));
        check_read::<F, _>("batch", distance, indexes.batch_with(&[], distance, &options, |_, _| Ok(())));
    }
}

/// Writes unless something is near.
fn write<F: Fingerprint>(distance: u32, directory: &std::path::Path) {
    let at = |name: &str| directory.join(format!("{name} {distance}"));
    let create =
        |path, options: CreateOptions| Store::<F>::create(path, &options, StoreOptions::new()).unwrap();
    let numbers = create(at("numbers"), CreateOptions::new().ids(true).lookups(true));
    let names = create(at("names"), CreateOptions::new().names(true).lookups(true));
    check::<F, _>("insert", distance, numbers.insert_unless_near(F::ZERO, 7, distance));
    for count in [0, 1, 1000] {
        let (pairs, named) = (vec![(F::ZERO, 7); count], vec![(F::ZERO, "seven"); count]);
        check::<F, _>("insert", distance, numbers.put(&pairs, When::unless_near(distance)));
        check::<F, _>("insert by name", distance, names.put(&named, When::unless_near(distance)));
        check::<F, _>("upsert", distance, numbers.put(&pairs, When::unless_near(distance).replacing()));
        check::<F, _>("upsert by name", distance, names.put(&named, When::unless_near(distance).replacing()));
    }
    for store in [&numbers, &names] {
        ask("store", distance, &store.snapshot());
        assert_eq!(store.snapshot().count().unwrap().pairs, u64::from(distance <= F::BITS));
    }
}

fn refused_beyond_the_width<F: Fingerprint + Debug>() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let options = BuildOptions::<F>::new;
    let mut file = Builder::with_options(at("file"), options()).unwrap();
    let mut hashed = ShardsBuilder::create(at("hashed"), Layout::Hash, 2, options()).unwrap();
    let mut families = ShardsBuilder::create(at("families"), Layout::Families, 2, options()).unwrap();
    let store = CreateOptions::new().ids(false);
    let store = Store::<F>::create(at("store"), &store, StoreOptions::new()).unwrap();
    for fingerprint in [F::ZERO, F::bit(3), F::ONES] {
        file.push(fingerprint).unwrap();
        hashed.push(fingerprint).unwrap();
        families.push(fingerprint).unwrap();
        // Some in a segment, some in memory.
        store.flush().unwrap();
        store.insert(fingerprint, 0).unwrap();
    }
    file.finish().unwrap();
    hashed.finish().unwrap();
    families.finish().unwrap();
    store.close().unwrap();
    for distance in [F::BITS, F::BITS + 1, u32::MAX] {
        for name in ["hashed", "families"] {
            let shards = Shards::<F>::open(at(name), &OpenOptions::new()).unwrap();
            ask(name, distance, &shards);
            check::<F, _>(name, distance, shards.searcher().within(F::ZERO, distance));
        }
        ask("snapshot", distance, &StoreReader::<F>::open(at("store")).unwrap().snapshot());
        for name in ["file", "hashed", "families", "store"] {
            let set = open(at(name)).unwrap();
            ask(name, distance, &**set.typed::<F>().unwrap());
            let mut searcher = set.searcher();
            let query = AnyFingerprint::of(F::ZERO);
            check::<F, _>(name, distance, searcher.nearest_within(query, 9, distance).map(drop));
            assert_eq!(searcher.ids(9).unwrap().len(), if distance == F::BITS { 3 } else { 0 });
            check::<F, _>(name, distance, searcher.first(query, distance).map(drop));
        }
        call(distance, Index::<F>::open(at("file")).unwrap());
        write::<F>(distance, directory.path());
    }
    // A file is not built for such a distance, either.
    let error = Builder::with_options(at("other"), options().distance(F::BITS + 1)).err().unwrap();
    assert_eq!(error.category(), Category::Usage, "{error}");
    let error =
        ShardsBuilder::create(at("other"), Layout::Hash, 2, options().distance(F::BITS + 1)).err().unwrap();
    assert_eq!(error.category(), Category::Usage, "{error}");
    let create = CreateOptions::new().distance(F::BITS + 1);
    let error = Store::<F>::create(at("other"), &create, StoreOptions::new()).err().unwrap();
    assert_eq!(error.category(), Category::Usage, "{error}");
}

#[test]
fn distances_beyond_the_width_are_refused_64() {
    refused_beyond_the_width::<u64>();
}

#[test]
fn distances_beyond_the_width_are_refused_128() {
    refused_beyond_the_width::<u128>();
}
