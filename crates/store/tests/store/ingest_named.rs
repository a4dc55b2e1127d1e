//! Ingestion of files with names.

use std::collections::{BTreeMap, HashSet};

use hamdex::{BuildOptions, Builder, VerifyOptions};
use hamdex_store::{Store, When};

use crate::common::{Chance, tiny};
use crate::named::{batch, name, named_shape};

#[test]
fn a_file_with_names_joins_behind_all_ids_that_were_given() {
    let directory = tempfile::tempdir().unwrap();
    let (path, file) = (directory.path().join("named.store"), directory.path().join("built.hamdex"));
    let mut chance = Chance(5);
    let mut builder = Builder::<u64>::with_options(&file, BuildOptions::new().names(true)).unwrap();
    let mut from_file = Vec::new();
    // Ids with a gap, and a fingerprint with several.
    for id in [0, 1, 2, 5, 6, 40] {
        let (fingerprint, name) = (if id == 6 { 77 } else { chance.fingerprint() }, name(&mut chance));
        builder.push_with_id(fingerprint, id).unwrap();
        builder.push_with_id(77, id).unwrap();
        from_file.push((id, fingerprint, name));
    }
    from_file.iter().for_each(|(id, _, name)| builder.push_name(*id, name).unwrap());
    builder.finish().unwrap();

    let store = Store::<u64>::create(&path, &named_shape(), tiny().merges(false)).unwrap();
    let mut expected: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
    for round in 0..3 {
        let named = batch(&mut chance);
        let put = store.put(&named, When::always()).unwrap();
        expected.extend(put.ids().zip(named).map(|(id, (fingerprint, name))| ((fingerprint, id), name)));
        let first = expected.keys().map(|pair| pair.1 + 1).max().unwrap();
        store.ingest(&file).unwrap();
        for (id, fingerprint, name) in &from_file {
            expected.insert((*fingerprint, first + id), name.clone());
            expected.insert((77, first + id), name.clone());
        }
        if round == 1 {
            store.compact().unwrap();
        }
    }
    let check = |store: &Store<u64>| {
        let snapshot = store.snapshot();
        let found: BTreeMap<(u64, u64), Vec<u8>> = snapshot
            .pairs_in_order()
            .map(Result::unwrap)
            .map(|pair| (pair, snapshot.name(pair.1).unwrap().unwrap().to_vec()))
            .collect();
        assert_eq!(found, expected);
        store.verify(&VerifyOptions::new()).unwrap();
    };
    check(&store);
    store.close().unwrap();
    let store = Store::<u64>::open(&path, tiny().merges(false)).unwrap();
    check(&store);
    // No id twice.
    let id = store.put([(1, "last")], When::always()).unwrap().ids().next().unwrap();
    assert!(expected.keys().all(|pair| pair.1 < id));
    // Those of one name go, wherever they came from.
    let gone = from_file[0].2.clone();
    let count = expected.values().filter(|name| **name == gone).count() as u64;
    assert_eq!(store.remove_names(&HashSet::from([gone])).unwrap(), count);
}
