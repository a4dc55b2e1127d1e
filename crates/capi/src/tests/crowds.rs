//! Matches with more ids than an answer has.

use std::mem::offset_of;
use std::path::Path;
use std::ptr;

use super::c::{Given, Searcher, Set, build, bytes_of, call, id_counts, read, sized};
use super::stores::{Store, store_of};
use crate::batch::hamdex_set_batch;
use crate::matches::{hamdex_matches, hamdex_matches_free};
use crate::options::{HAMDEX_ALL_IDS, HAMDEX_IDS, HAMDEX_NAMES, hamdex_work};
use crate::search::{hamdex_searcher_query, hamdex_searcher_set_ids_limit};
use crate::status::HAMDEX_OK;
use crate::store::{HAMDEX_WITH_IDS, HAMDEX_WITH_NAMES};
use crate::write::hamdex_store_insert_unless_near;

const CROWD: u64 = 0x0123_4567_89ab_cdef;
const IDS: u64 = 25;

/// A fingerprint with many ids, and one beside it with one.
fn crowd() -> (Vec<u64>, Vec<u64>) {
    let mut fingerprints = vec![CROWD; IDS as usize];
    fingerprints.push(CROWD ^ 1);
    (fingerprints, (0..=IDS).collect())
}

/// The first ids of each match, the number of its names, and the number of all its ids.
type Lists = Vec<(Vec<u64>, usize, u64)>;

fn lists(matches: *const hamdex_matches) -> Lists {
    // SAFETY: they are not freed yet.
    let counts = unsafe { id_counts(&*matches) }.to_vec();
    let found = read::<u64>(matches).into_iter().flatten();
    found.zip(counts).map(|(found, all)| (found.ids, found.names.len(), all)).collect()
}

fn expected(most: u64, has_names: bool) -> Lists {
    let with_names = |ids: Vec<u64>, all| {
        let names = if has_names { ids.len() } else { 0 };
        (ids, names, all)
    };
    vec![with_names((0..most.min(IDS)).collect(), IDS), with_names(vec![IDS], 1)]
}

fn set_limit(searcher: &Searcher, limit: u64) {
    // SAFETY: the searcher is open.
    call(|error| unsafe { hamdex_searcher_set_ids_limit(searcher.0, limit, error) }).unwrap();
}

fn query(searcher: &Searcher, flags: u32) -> Lists {
    let (query, mut matches) = (bytes_of(&[CROWD]), ptr::null());
    // SAFETY: the searcher is open, and the query lives on.
    call(|error| unsafe {
        let place = &raw mut matches;
        hamdex_searcher_query(searcher.0, query.as_ptr(), query.len(), 1, 0, flags, place, error)
    })
    .unwrap();
    lists(matches)
}

fn batch(set: &Set, flags: u32, work: *const hamdex_work) -> Lists {
    let (query, mut matches) = (bytes_of(&[CROWD]), ptr::null());
    // SAFETY: the set is open, and the query and the options live on.
    call(|error| unsafe {
        let place = &raw mut matches;
        hamdex_set_batch(set.0, query.as_ptr(), query.len(), 1, 1, 0, flags, work, place, error)
    })
    .unwrap();
    let lists = lists(matches);
    // SAFETY: they are freed once.
    assert_eq!(unsafe { hamdex_matches_free(matches) }, HAMDEX_OK);
    lists
}

fn check(set: &Set, flags: u32) {
    let has_names = flags == HAMDEX_NAMES;
    let searcher = set.searcher();
    assert_eq!(query(&searcher, flags), expected(10, has_names));
    assert_eq!(batch(set, flags, ptr::null()), expected(10, has_names));
    for (limit, most) in [(3, 3), (24, 24), (25, 25), (26, 25), (HAMDEX_ALL_IDS, 25), (0, 10)] {
        set_limit(&searcher, limit);
        let work = hamdex_work { ids_limit: limit, ..sized() };
        assert_eq!(query(&searcher, flags), expected(most, has_names), "{limit}");
        assert_eq!(batch(set, flags, &raw const work), expected(most, has_names), "{limit}");
    }
    // A program of a version without the field has the default.
    let size = offset_of!(hamdex_work, ids_limit);
    let earlier = hamdex_work { size, ids_limit: 3, ..sized() };
    assert_eq!(batch(set, flags, &raw const earlier), expected(10, has_names));
    assert!(query(&searcher, 0).is_empty());
}

fn named(path: &Path) {
    let (fingerprints, ids) = crowd();
    let names: Vec<String> = ids.iter().map(u64::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    build(path, &Given::new(&fingerprints).names(&names), &sized()).unwrap();
}

fn near(store: &Store, given: &Given) -> Lists {
    let (records, mut near) = (given.records(), ptr::null());
    // SAFETY: the store is open, and the records live on.
    call(|error| unsafe {
        let (records, place) = (&raw const records, &raw mut near);
        hamdex_store_insert_unless_near(store.0, records, 0, ptr::null_mut(), place, error)
    })
    .unwrap();
    let lists = lists(near);
    // SAFETY: they are freed once.
    assert_eq!(unsafe { hamdex_matches_free(near) }, HAMDEX_OK);
    lists
}

#[test]
fn ids_of_a_match_are_limited_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (fingerprints, ids) = crowd();
    let given = Given::new(&fingerprints).ids(&ids);
    build(&at("ids.hamdex"), &given, &sized()).unwrap();
    check(&Set::open(&at("ids.hamdex")).unwrap(), HAMDEX_IDS);
    named(&at("names.hamdex"));
    check(&Set::open(&at("names.hamdex")).unwrap(), HAMDEX_NAMES);

    let store = store_of(&at("ids.store"), 64, HAMDEX_WITH_IDS);
    store.insert(&given).unwrap();
    check(&store.snapshot(), HAMDEX_IDS);
    store.flush().unwrap();
    check(&store.snapshot(), HAMDEX_IDS);
    assert_eq!(near(&store, &Given::new(&[CROWD, CROWD ^ 1]).ids(&[90, 91])), expected(10, false));
}

#[test]
fn long_names_of_something_near_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of(&directory.path().join("names.store"), 64, HAMDEX_WITH_NAMES);
    let name = "n".repeat(3000);
    store.insert(&Given::new(&[CROWD; 25]).names(&[&*name; 25])).unwrap();
    assert_eq!(near(&store, &Given::new(&[CROWD]).names(&["new"])), [(vec![0], 1, 25)]);
}
