//! A store from its creation to its end.

use std::path::Path;
use std::ptr;

use super::c::{Failed, Found, Given, Set, call, path_of, read, sized};
use crate::matches::{hamdex_matches, hamdex_matches_free};
use crate::search::{hamdex_store_find_ids, hamdex_store_find_names};
use crate::status::{
    HAMDEX_EXISTS, HAMDEX_FORMAT, HAMDEX_INPUT, HAMDEX_OK, HAMDEX_SYSTEM, HAMDEX_UNAVAILABLE, HAMDEX_USAGE,
};
use crate::store::{
    HAMDEX_NO_MERGES, HAMDEX_WITH_IDS, HAMDEX_WITH_LOOKUPS, HAMDEX_WITH_NAMES, hamdex_create_options,
    hamdex_store, hamdex_store_close, hamdex_store_compact, hamdex_store_create, hamdex_store_flush,
    hamdex_store_get_stats, hamdex_store_open, hamdex_store_options, hamdex_store_snapshot,
    hamdex_store_stats, hamdex_store_sync,
};
use crate::write::{
    hamdex_store_insert, hamdex_store_insert_unless_near, hamdex_store_remove, hamdex_store_remove_ids,
    hamdex_store_remove_names, hamdex_store_replace, hamdex_store_replace_unless_near,
};

/// The number of records written, and the matches of each.
type Written = (u64, Vec<Vec<Found<u64>>>);

/// An open store.
pub(super) struct Store(pub(super) *mut hamdex_store);

/// Takes the fingerprints of each query, and frees them.
fn fingerprints_of(matches: *const hamdex_matches) -> Vec<Vec<u64>> {
    let found = read::<u64>(matches);
    // SAFETY: they are freed once.
    assert_eq!(unsafe { hamdex_matches_free(matches) }, HAMDEX_OK);
    assert!(found.iter().flatten().all(|found| found.distance == 0 && found.ids.is_empty()));
    found.iter().map(|found| found.iter().map(|found| found.fingerprint).collect()).collect()
}

fn options() -> hamdex_store_options {
    let durability = "none";
    hamdex_store_options {
        durability: durability.as_ptr().cast(),
        durability_length: durability.len(),
        // The segments that a test compacts have not been merged before.
        flags: HAMDEX_NO_MERGES,
        ..sized()
    }
}

pub(super) fn create(path: &Path, create: &hamdex_create_options) -> Result<Store, Failed> {
    let ((path, length), mut store) = (path_of(path), ptr::null_mut());
    // SAFETY: all pointers are to what lives on.
    call(|error| unsafe { hamdex_store_create(path, length, create, &options(), &raw mut store, error) })
        .map(|()| Store(store))
}

pub(super) fn store_of(path: &Path, width: u32, flags: u32) -> Store {
    create(path, &hamdex_create_options { width, flags, ..sized() }).unwrap()
}

impl Store {
    fn open(path: &Path) -> Result<Self, Failed> {
        let ((path, length), mut store) = (path_of(path), ptr::null_mut());
        // SAFETY: all pointers are to what lives on.
        call(|error| unsafe { hamdex_store_open(path, length, ptr::null(), &raw mut store, error) })
            .map(|()| Self(store))
    }

    pub(super) fn insert(&self, given: &Given) -> Result<u64, Failed> {
        let mut first = u64::MAX;
        // SAFETY: the store is open, and the records live on.
        call(|error| unsafe { hamdex_store_insert(self.0, &given.records(), &raw mut first, error) })
            .map(|()| first)
    }

    fn insert_unless_near(&self, given: &Given, distance: u32) -> Written {
        let (mut inserted, mut near) = (u64::MAX, ptr::null());
        // SAFETY: as above.
        call(|error| unsafe {
            let (records, count, place) = (given.records(), &raw mut inserted, &raw mut near);
            hamdex_store_insert_unless_near(self.0, &raw const records, distance, count, place, error)
        })
        .unwrap();
        let found = read(near);
        // SAFETY: they are freed once.
        assert_eq!(unsafe { hamdex_matches_free(near) }, HAMDEX_OK);
        (inserted, found)
    }

    fn replace_unless_near(&self, given: &Given, distance: u32) -> Result<Written, Failed> {
        let (mut replaced, mut near) = (u64::MAX, ptr::null());
        // SAFETY: as above.
        call(|error| unsafe {
            let (records, count, place) = (given.records(), &raw mut replaced, &raw mut near);
            hamdex_store_replace_unless_near(self.0, &raw const records, distance, count, place, error)
        })?;
        let found = read(near);
        // SAFETY: they are freed once.
        assert_eq!(unsafe { hamdex_matches_free(near) }, HAMDEX_OK);
        Ok((replaced, found))
    }

    fn replace(&self, given: &Given) -> Result<u64, Failed> {
        let mut replaced = u64::MAX;
        // SAFETY: as above.
        call(|error| unsafe { hamdex_store_replace(self.0, &given.records(), &raw mut replaced, error) })
            .map(|()| replaced)
    }

    /// Returns the fingerprints of each id.
    fn find_ids(&self, ids: &[u64]) -> Result<Vec<Vec<u64>>, Failed> {
        let mut found = ptr::null();
        // SAFETY: as above.
        call(|error| unsafe {
            hamdex_store_find_ids(self.0, ids.as_ptr(), ids.len() as u64, &raw mut found, error)
        })
        .map(|()| fingerprints_of(found))
    }

    /// Returns the fingerprints of each name.
    fn find_names(&self, names: &[&str]) -> Result<Vec<Vec<u64>>, Failed> {
        let starts: Vec<u64> = (0..=names.len()).map(|end| names[..end].concat().len() as u64).collect();
        let (text, mut found) = (names.concat(), ptr::null());
        // SAFETY: as above.
        call(|error| unsafe {
            let (text, count) = (text.as_ptr().cast(), names.len() as u64);
            hamdex_store_find_names(self.0, text, starts.as_ptr(), count, &raw mut found, error)
        })
        .map(|()| fingerprints_of(found))
    }

    fn remove(&self, given: &Given) -> Result<u64, Failed> {
        let mut removed = u64::MAX;
        // SAFETY: as above.
        call(|error| unsafe { hamdex_store_remove(self.0, &given.records(), &raw mut removed, error) })
            .map(|()| removed)
    }

    pub(super) fn flush(&self) -> Result<(), Failed> {
        // SAFETY: the store is open.
        call(|error| unsafe { hamdex_store_flush(self.0, error) })
    }

    pub(super) fn snapshot(&self) -> Set {
        let mut set = ptr::null_mut();
        // SAFETY: the store is open.
        call(|error| unsafe { hamdex_store_snapshot(self.0, &raw mut set, error) }).unwrap();
        Set(set)
    }

    fn stats(&self) -> hamdex_store_stats {
        let mut stats: hamdex_store_stats = sized();
        // SAFETY: the store is open.
        call(|error| unsafe { hamdex_store_get_stats(self.0, &raw mut stats, error) }).unwrap();
        stats
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: it is closed once.
        call(|error| unsafe { hamdex_store_close(self.0, error) }).unwrap();
    }
}

#[test]
fn a_store_is_made_filled_emptied_closed_and_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.store");
    let store = store_of(&path, 64, HAMDEX_WITH_IDS);
    store.insert(&Given::new(&[0b1_u64, 0b1111_0000, 0b1]).ids(&[10, 11, 12])).unwrap();
    let before = store.snapshot();

    // The second is near the first, which is inserted; the third is near what is stored.
    let (inserted, near) =
        store.insert_unless_near(&Given::new(&[0xff00_u64, 0xff01, 0b11]).ids(&[1, 2, 3]), 1);
    assert_eq!(inserted, 1);
    let of_first = Found { fingerprint: 0xff00, distance: 1, ids: vec![1], names: Vec::new() };
    let of_stored = Found { fingerprint: 0b1, distance: 1, ids: vec![10, 12], names: Vec::new() };
    assert_eq!(near, [vec![], vec![of_first], vec![of_stored]]);

    assert_eq!(store.remove(&Given::new(&[0b1_u64, 0b1]).ids(&[12, 13])).unwrap(), 1);
    assert_eq!(store.remove(&Given::new(&[0xff00_u64])).unwrap(), 1);
    let mut removed = 0;
    // SAFETY: the store is open, and the ids live on.
    call(|error| unsafe { hamdex_store_remove_ids(store.0, [11].as_ptr(), 1, &raw mut removed, error) })
        .unwrap();
    assert_eq!(removed, 1);
    // SAFETY: the store is open.
    call(|error| unsafe { hamdex_store_sync(store.0, error) }).unwrap();
    assert_eq!(store.stats().ids, 1);
    assert_eq!((store.stats().segments, store.stats().recent), (0, 1));
    store.flush().unwrap();
    // SAFETY: as above.
    call(|error| unsafe { hamdex_store_compact(store.0, ptr::null(), error) }).unwrap();
    assert_eq!((store.stats().segments, store.stats().recent), (1, 0));

    let query = |set: &Set| set.batch(&[0b1_u64, 0xff00], 0, 0, crate::options::HAMDEX_IDS).unwrap();
    let one = |ids: &[u64]| Found { fingerprint: 0b1_u64, distance: 0, ids: ids.to_vec(), names: Vec::new() };
    let is_in_use = Store::open(&path).err().unwrap();
    assert_eq!(is_in_use.status, HAMDEX_UNAVAILABLE, "{is_in_use:?}");
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(query(&store.snapshot()), [vec![one(&[10])], vec![]]);
    drop(store);
    // A snapshot outlives its store.
    assert_eq!(query(&before), [vec![one(&[10, 12])], vec![]]);
}

#[test]
fn a_store_with_names_gives_ids() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of(&directory.path().join("named.store"), 64, HAMDEX_WITH_NAMES);
    assert_eq!(store.insert(&Given::new(&[1_u64, 2]).names(&["one", "two"])).unwrap(), 0);
    assert_eq!(store.insert(&Given::new(&[0xff_u64]).names(&["more"])).unwrap(), 2);
    let (inserted, near) = store.insert_unless_near(&Given::new(&[3_u64]).names(&["three"]), 1);
    assert_eq!(inserted, 0);
    assert_eq!(near, [[Found { fingerprint: 1, distance: 1, ids: vec![0], names: vec!["one".into()] }]]);
    let (names, starts, mut removed) = ("moreone", [0_u64, 4, 7], 0);
    // SAFETY: the store is open, and the names live on.
    call(|error| unsafe {
        let names = names.as_ptr().cast();
        hamdex_store_remove_names(store.0, names, starts.as_ptr(), 2, &raw mut removed, error)
    })
    .unwrap();
    assert_eq!((removed, store.stats().ids), (2, 1));
    assert_eq!(store.insert(&Given::new(&[1_u64]).ids(&[1])).unwrap_err().status, HAMDEX_INPUT);
    assert_eq!(store.remove(&Given::new(&[1_u64]).names(&["two"])).unwrap_err().status, HAMDEX_USAGE);
}

#[test]
fn look_ups_lead_from_ids_and_names_to_fingerprints() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = store_of(&at("ids"), 64, HAMDEX_WITH_IDS | HAMDEX_WITH_LOOKUPS);
    store.insert(&Given::new(&[5_u64, 3, 9]).ids(&[1, 1, 2])).unwrap();
    store.flush().unwrap();
    assert_eq!(store.find_ids(&[2, 7, 1, 2]).unwrap(), [vec![9], vec![], vec![3, 5], vec![9]]);
    assert_eq!(store.find_ids(&[]).unwrap(), Vec::<Vec<u64>>::new());
    assert_eq!(store.replace(&Given::new(&[8_u64, 4]).ids(&[1, 3])).unwrap(), 2);
    assert_eq!(store.find_ids(&[1, 3]).unwrap(), [[8], [4]]);
    assert_eq!(store.find_names(&["a"]).unwrap_err().status, HAMDEX_INPUT);

    let named = store_of(&at("names"), 64, HAMDEX_WITH_NAMES | HAMDEX_WITH_LOOKUPS);
    named.insert(&Given::new(&[5_u64, 3, 3]).names(&["b", "a", "a"])).unwrap();
    named.flush().unwrap();
    named.insert(&Given::new(&[2_u64]).names(&["a"])).unwrap();
    assert_eq!(named.find_names(&["a", "", "b"]).unwrap(), [vec![2, 3], vec![], vec![5]]);
    assert_eq!(named.find_ids(&[0]).unwrap(), [[5]]);
    assert_eq!(named.replace(&Given::new(&[7_u64]).names(&["a"])).unwrap(), 3);
    assert_eq!(named.find_names(&["a"]).unwrap(), [[7]]);

    // Near to others only: 6 to what "b" has, and 7 to what it replaces.
    let given = Given::new(&[6_u64, 1 << 40]).names(&["a", "a"]);
    let (replaced, near) = named.replace_unless_near(&given, 2).unwrap();
    let b = Found { fingerprint: 5, distance: 2, ids: vec![0], names: vec!["b".into()] };
    assert_eq!((replaced, near), (1, vec![vec![b], vec![]]));
    assert_eq!(named.find_names(&["a", "b"]).unwrap(), [[1 << 40], [5]]);
    let (replaced, near) =
        named.replace_unless_near(&Given::new(&[1_u64 << 40 | 1 << 41]).names(&["a"]), 2).unwrap();
    assert_eq!((replaced, near), (1, vec![vec![]]));

    // Without look-ups the whole store is read, and nothing can be replaced.
    let without = store_of(&at("without"), 64, HAMDEX_WITH_IDS);
    without.insert(&Given::new(&[5_u64]).ids(&[1])).unwrap();
    assert_eq!(without.find_ids(&[1, 2]).unwrap(), [vec![5], vec![]]);
    assert_eq!(without.replace(&Given::new(&[6_u64]).ids(&[1])).unwrap_err().status, HAMDEX_INPUT);
    let refused = without.replace_unless_near(&Given::new(&[6_u64]).ids(&[1]), 2);
    assert_eq!(refused.unwrap_err().status, HAMDEX_INPUT);
    assert_eq!(without.find_ids(&[1]).unwrap(), [[5]]);
    let alone = hamdex_create_options { flags: HAMDEX_WITH_LOOKUPS, ..sized() };
    assert_eq!(create(&at("alone"), &alone).err().unwrap().status, HAMDEX_USAGE);
}

#[test]
fn records_that_do_not_fit_the_store_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let plain = store_of(&at("plain"), 128, 0);
    plain.insert(&Given::new(&[1_u128])).unwrap();
    for given in
        [Given::new(&[1_u64]), Given::new(&[2_u128]).ids(&[0]), Given::new(&[2_u128]).names(&["two"])]
    {
        assert_eq!(plain.insert(&given).unwrap_err().status, HAMDEX_INPUT);
    }
    assert_eq!(plain.stats().fingerprints, 1);
    let with_ids = store_of(&at("ids"), 64, HAMDEX_WITH_IDS);
    assert_eq!(with_ids.insert(&Given::new(&[1_u64])).unwrap_err().status, HAMDEX_INPUT);

    drop(plain);
    let exists = create(&at("plain"), &sized()).err().unwrap();
    assert_eq!(exists.status, HAMDEX_EXISTS, "{exists:?}");
    let file = directory.path().join("file");
    std::fs::write(&file, b"no directory").unwrap();
    let exists = create(&file, &sized()).err().unwrap();
    assert_eq!(exists.status, HAMDEX_EXISTS, "{exists:?}");
    let width = hamdex_create_options { width: 96, ..sized() };
    assert_eq!(create(&at("none"), &width).err().unwrap().status, HAMDEX_INPUT);
    let design = "no such design";
    let design =
        hamdex_create_options { design: design.as_ptr().cast(), design_length: design.len(), ..sized() };
    assert_eq!(create(&at("none"), &design).err().unwrap().status, HAMDEX_USAGE);
    assert!(!at("none").join("manifest").exists());
}

#[test]
fn of_near_fingerprints_that_threads_insert_at_once_one_is_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of(&directory.path().join("store"), 64, 0);
    let handle = store.0.expose_provenance();
    let inserted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|bit| {
                scope.spawn(move || {
                    let store = Store(ptr::with_exposed_provenance_mut(handle));
                    let inserted: u64 = (0..50_u64)
                        .map(|page| store.insert_unless_near(&Given::new(&[page << 20 | 1 << bit]), 2).0)
                        .sum();
                    std::mem::forget(store);
                    inserted
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let stored = store.snapshot().batch(&[0_u64], 64, 0, 0).unwrap().remove(0);
    assert_eq!(stored.len() as u64, inserted);
    for (place, one) in stored.iter().enumerate() {
        for other in &stored[place + 1..] {
            assert!((one.fingerprint ^ other.fingerprint).count_ones() > 2, "{one:?} {other:?}");
        }
    }
}

#[test]
fn options_that_a_flush_would_refuse_open_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let options = hamdex_store_options { threads: 1025, ..options() };
    let ((bytes, length), mut store) = (path_of(&path), ptr::null_mut());
    // SAFETY: all pointers are to what lives on.
    let created = call(|error| unsafe {
        hamdex_store_create(bytes, length, ptr::null(), &raw const options, &raw mut store, error)
    });
    let failed = created.unwrap_err();
    assert_eq!(failed.status, HAMDEX_USAGE);
    assert!(failed.message.contains("1025") && failed.message.contains("1024"), "{failed:?}");
    assert!(store.is_null() && !path.exists());
}

#[test]
fn a_store_has_the_filter_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let with = |filter: &str| {
        let options =
            hamdex_create_options { filter: filter.as_ptr().cast(), filter_length: filter.len(), ..sized() };
        let store = create(&directory.path().join(filter), &options)?;
        let fingerprints: Vec<u64> =
            (0..5_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        store.insert(&Given::new(&fingerprints)).unwrap();
        store.flush().unwrap();
        Ok::<_, Failed>(store.stats().bytes)
    };
    assert!(with("16").unwrap() > with("none").unwrap());
    assert_eq!(with("much").unwrap_err().status, HAMDEX_USAGE);
}

#[test]
fn stores_that_are_not_there_and_distances_that_cannot_be_are_refused() {
    const NO_SUCH_FILE: i32 = 2;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let missing = Store::open(&path).err().unwrap();
    assert_eq!((missing.status, missing.os_code), (HAMDEX_SYSTEM, NO_SUCH_FILE), "{missing:?}");
    assert_eq!(Store::open(directory.path()).err().unwrap().status, HAMDEX_FORMAT);

    let store = store_of(&path, 128, HAMDEX_WITH_IDS | HAMDEX_WITH_LOOKUPS);
    let given = Given::new(&[7_u128]).ids(&[1]);
    let records = given.records();
    for write in [hamdex_store_insert_unless_near, hamdex_store_replace_unless_near] {
        // SAFETY: the store is open, and the records live on.
        let failed = call(|error| unsafe {
            write(store.0, &raw const records, 129, ptr::null_mut(), ptr::null_mut(), error)
        });
        assert_eq!(failed.unwrap_err().status, HAMDEX_USAGE);
    }
    assert_eq!(store.stats().ids, 0);
    let wrong = hamdex_create_options { width: 64, distance: 65, ..sized() };
    assert_eq!(create(&directory.path().join("far"), &wrong).err().unwrap().status, HAMDEX_USAGE);
}
