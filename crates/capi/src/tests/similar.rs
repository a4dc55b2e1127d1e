//! Similar documents: queries of files, stores and shards, and stores that are written unless something is similar.

use std::collections::BTreeSet;
use std::path::Path;
use std::ptr;

use hamdex::similar::{Condition, Measure};
use hamdex::{BuildOptions, shingles};
use hamdex_shards::{Layout, ShardsBuilder};

use super::c::{Failed, Given, Searcher, Set, array, build, call, sized};
use super::stores::{Store, create, store_of};
use crate::build::hamdex_build_options;
use crate::edge::hamdex_error;
use crate::options::HAMDEX_NAMES;
use crate::records::hamdex_records;
use crate::search::hamdex_searcher_similar;
use crate::similar::{
    HAMDEX_CONTAINED, HAMDEX_CONTAINING, HAMDEX_RESEMBLANCE, hamdex_similar, hamdex_similar_free,
};
use crate::status::{HAMDEX_INPUT, HAMDEX_MISUSE, HAMDEX_OK, HAMDEX_USAGE, hamdex_status};
use crate::store::{
    HAMDEX_WITH_IDS, HAMDEX_WITH_LOOKUPS, HAMDEX_WITH_NAMES, hamdex_create_options, hamdex_store,
};
use crate::write::{
    hamdex_store_insert, hamdex_store_insert_unless_similar, hamdex_store_remove,
    hamdex_store_replace_unless_similar,
};

const DEFINITION: &str = "numbers of this test";

/// An id, a name, and a similarity.
type Found = (u64, String, f64);

/// Reads similar documents: a list for each query, with empty names if there are none.
fn read(similar: *const hamdex_similar) -> Vec<Vec<Found>> {
    // SAFETY: they are not freed yet, and their arrays are as long as the header says.
    unsafe {
        let similar = &*similar;
        let (ids, similarities) =
            (array(similar.ids, similar.count), array(similar.similarities, similar.count));
        assert_eq!(array(similar.parts, similar.count).len(), ids.len());
        let name_starts = array(similar.name_starts, similar.count + 1);
        let names = array(similar.names.cast::<u8>(), name_starts.last().copied().unwrap_or(0));
        let found = |place: usize| {
            let name = match name_starts {
                [] => &[],
                starts => &names[starts[place] as usize..starts[place + 1] as usize],
            };
            (ids[place], String::from_utf8(name.to_vec()).unwrap(), similarities[place])
        };
        let starts = array(similar.query_starts, similar.queries + 1);
        starts.windows(2).map(|ends| (ends[0] as usize..ends[1] as usize).map(found).collect()).collect()
    }
}

fn similar(
    searcher: &Searcher,
    set: &[u64],
    (measure, least): (u32, f64),
    limit: u64,
    flags: u32,
) -> Result<Vec<Found>, Failed> {
    let mut found = ptr::dangling();
    // SAFETY: the searcher is open, and the shingles live on.
    let outcome = call(|error| unsafe {
        let (set, count, place) = (set.as_ptr(), set.len() as u64, &raw mut found);
        hamdex_searcher_similar(searcher.0, set, count, measure, least, limit, flags, place, error)
    });
    assert_eq!(outcome.is_err(), found.is_null());
    outcome.map(|()| read(found).remove(0))
}

/// One of the functions that write unless something is similar.
type Write = unsafe extern "C" fn(
    *const hamdex_store,
    *const hamdex_records,
    u32,
    f64,
    *mut u64,
    *mut *const hamdex_similar,
    *mut *mut hamdex_error,
) -> hamdex_status;

fn write(
    write: Write,
    store: &Store,
    given: &Given,
    (measure, least): (u32, f64),
) -> Result<(u64, Vec<Vec<Found>>), Failed> {
    let (records, mut count, mut found) = (given.records(), u64::MAX, ptr::dangling());
    // SAFETY: the store is open, and the records live on.
    let outcome = call(|error| unsafe {
        write(store.0, &raw const records, measure, least, &raw mut count, &raw mut found, error)
    });
    assert_eq!(outcome.is_err(), found.is_null());
    outcome?;
    let similar = read(found);
    // SAFETY: they are freed once.
    unsafe {
        assert_eq!(hamdex_similar_free(found), HAMDEX_OK);
        assert_eq!(hamdex_similar_free(found), HAMDEX_MISUSE);
    }
    Ok((count, similar))
}

fn store_with_shingles(path: &Path, flags: u32, width: u32) -> Store {
    let options = hamdex_create_options {
        width,
        flags,
        shingles: DEFINITION.as_ptr().cast(),
        shingles_length: DEFINITION.len(),
        ..sized()
    };
    create(path, &options).unwrap()
}

fn defined() -> hamdex_build_options {
    hamdex_build_options {
        shingles: DEFINITION.as_ptr().cast(),
        shingles_length: DEFINITION.len(),
        ..sized()
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Sets of shingles that crowd, one of them empty, and the greatest shingle.
fn sets(count: u64) -> Vec<Vec<u64>> {
    let mut state = 7;
    let mut set = |number| {
        let mut set: BTreeSet<u64> = (0..random(&mut state) % 20).map(|_| random(&mut state) % 30).collect();
        if number % 9 == 0 {
            set.insert((1 << shingles::BITS) - 1);
        }
        set.into_iter().collect()
    };
    let mut sets: Vec<Vec<u64>> = (0..count).map(&mut set).collect();
    sets[3].clear();
    sets
}

const MEASURES: [(u32, Measure); 3] = [
    (HAMDEX_RESEMBLANCE, Measure::Resemblance),
    (HAMDEX_CONTAINING, Measure::Containing),
    (HAMDEX_CONTAINED, Measure::Contained),
];

fn share(one: &[u64], other: &[u64], condition: &Condition) -> f64 {
    let shared = one.iter().filter(|&shingle| other.binary_search(shingle).is_ok()).count();
    condition.share(shared, one.len(), other.len())
}

/// Compares queries with the naive program. Ids are the numbers of the documents.
fn check(set: &Set, stored: &[Vec<u64>], name: impl Fn(usize) -> String) {
    let searcher = set.searcher();
    for (query, (number, measure)) in stored.iter().flat_map(|query| MEASURES.map(|measure| (query, measure)))
    {
        for least in [0.01, 0.5, 1.0] {
            let condition = Condition::new(measure, least).unwrap();
            let mut expected: Vec<Found> = (0..)
                .zip(stored)
                .map(|(id, other)| (id, name(id as usize), share(query, other, &condition)))
                .filter(|found| found.2 >= least)
                .collect();
            expected.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
            let found = similar(&searcher, query, (number, least), 0, HAMDEX_NAMES).unwrap();
            assert_eq!(found, expected, "{query:?} {measure:?} {least}");
            expected.truncate(2);
            expected.iter_mut().for_each(|found| found.1.clear());
            assert_eq!(similar(&searcher, query, (number, least), 2, 0).unwrap(), expected);
        }
    }
    assert_eq!(similar(&searcher, &[], (HAMDEX_CONTAINED, 0.01), 0, 0).unwrap(), []);
}

#[test]
fn files_stores_and_shards_find_what_is_similar() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let sets = sets(40);
    let fingerprints: Vec<u128> = (0..40).collect();
    let names: Vec<String> = (0..40).map(|number| format!("page {number}")).collect();
    let name_list: Vec<&str> = names.iter().map(String::as_str).collect();
    let (by_name, no_name) = (|id: usize| format!("page {id}"), |_| String::new());

    let given = Given::new(&fingerprints).names(&name_list).shingles(&sets);
    build(&at("names.hamdex"), &given, &defined()).unwrap();
    check(&Set::open(&at("names.hamdex")).unwrap(), &sets, by_name);

    // Records in any order.
    let back: Vec<Vec<u64>> = sets.iter().rev().cloned().collect();
    let given = Given::new(&fingerprints).ids(&(0..40).rev().collect::<Vec<u64>>()).shingles(&back);
    build(&at("ids.hamdex"), &given, &defined()).unwrap();
    check(&Set::open(&at("ids.hamdex")).unwrap(), &sets, no_name);

    let store = store_with_shingles(&at("store"), 0, 128);
    for part in [0..25, 25..40] {
        let given = Given::new(&fingerprints[part.clone()]);
        let given = given.names(&name_list[part.clone()]).shingles(&sets[part.clone()]);
        store.insert(&given).unwrap();
        if part.start == 0 {
            store.flush().unwrap();
        }
    }
    check(&store.snapshot(), &sets, by_name);

    let options = BuildOptions::<u64>::new().ids(true).shingles(true).metadata(shingles::KEY, DEFINITION);
    let mut shards = ShardsBuilder::create(at("shards"), Layout::Hash, 3, options).unwrap();
    for (id, set) in (0_u64..).zip(&sets) {
        shards.push_document(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), id, None, set).unwrap();
    }
    shards.finish().unwrap();
    check(&Set::open(&at("shards")).unwrap(), &sets, no_name);
}

#[test]
fn a_document_is_stored_unless_one_is_similar() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_with_shingles(&directory.path().join("news"), HAMDEX_WITH_LOOKUPS, 64);
    let all = |sets: &[&[u64]]| sets.iter().map(|set| set.to_vec()).collect::<Vec<_>>();
    let given = |names: &[&str], sets: &[&[u64]]| {
        Given::new(&vec![7_u64; names.len()]).names(names).shingles(&all(sets))
    };
    let condition = (HAMDEX_RESEMBLANCE, 0.7);

    let first = given(&["one", "two", "three"], &[&[1, 2, 3, 4], &[1, 2, 3], &[10, 11]]);
    let (inserted, found) = write(hamdex_store_insert_unless_similar, &store, &first, condition).unwrap();
    assert_eq!(inserted, 2);
    assert_eq!(found, [vec![], vec![(0, "one".to_owned(), 0.75)], vec![]]);
    // By another measure, the one stored first contains half of it.
    let half = given(&["half"], &[&[3, 4, 5, 6]]);
    let containing = (HAMDEX_CONTAINING, 0.5);
    let (inserted, found) = write(hamdex_store_insert_unless_similar, &store, &half, containing).unwrap();
    assert_eq!((inserted, found), (0, vec![vec![(0, "one".to_owned(), 0.5)]]));

    // What is replaced is not similar to what replaces it, and what is refused replaces nothing.
    let again = given(&["one", "three"], &[&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5]]);
    let (replaced, found) = write(hamdex_store_replace_unless_similar, &store, &again, condition).unwrap();
    assert_eq!(replaced, 1);
    assert!(found[0].is_empty());
    assert_eq!((&*found[1][0].1, found[1][0].2), ("one", 1.0));
    let searcher = store.snapshot().searcher();
    let names = |set: &[u64]| {
        let found = similar(&searcher, set, (HAMDEX_CONTAINED, 0.01), 0, HAMDEX_NAMES).unwrap();
        found.into_iter().map(|found| found.1).collect::<Vec<_>>()
    };
    assert_eq!((names(&[5]), names(&[10])), (vec!["one".to_owned()], vec!["three".to_owned()]));

    // No place is needed for what is not wanted, and no record to write.
    for records in [&again, &given(&[], &[])] {
        let records = records.records();
        for write in [hamdex_store_insert_unless_similar, hamdex_store_replace_unless_similar] {
            // SAFETY: the store is open, and the records live on.
            call(|error| unsafe {
                write(store.0, &raw const records, 0, 0.7, ptr::null_mut(), ptr::null_mut(), error)
            })
            .unwrap();
        }
    }
}

fn refuses<T: std::fmt::Debug>(outcome: Result<T, Failed>, status: hamdex_status, about: &str) {
    let failed = outcome.unwrap_err();
    assert!(failed.status == status && failed.message.contains(about), "{failed:?}");
    assert!(!failed.message.contains('\n'), "{failed:?}");
}

#[test]
fn questions_that_cannot_be_answered_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = store_with_shingles(&at("store"), 0, 64);
    let one = Given::new(&[7_u64]).names(&["one"]).shingles(&[vec![1, 2, 3]]);
    store.insert(&one).unwrap();
    let searcher = store.snapshot().searcher();
    let ask = |set: &[u64], condition, flags| similar(&searcher, set, condition, 0, flags);
    let put = |given: &Given, condition| write(hamdex_store_insert_unless_similar, &store, given, condition);

    for least in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        refuses(ask(&[1], (HAMDEX_RESEMBLANCE, least), 0), HAMDEX_USAGE, "above 0 and at most 1");
        refuses(put(&one, (HAMDEX_RESEMBLANCE, least)), HAMDEX_USAGE, "above 0 and at most 1");
    }
    refuses(ask(&[1], (3, 0.5), 0), HAMDEX_USAGE, "no measure 3");
    refuses(put(&one, (3, 0.5)), HAMDEX_USAGE, "no measure 3");
    refuses(ask(&[1], (0, 0.5), 4), HAMDEX_USAGE, "flags 0x4");
    for wrong in [vec![2, 1], vec![1, 1], vec![1, 1 << 48], vec![u64::MAX]] {
        refuses(ask(&wrong, (0, 0.5), 0), HAMDEX_INPUT, "do not ascend, or exceed");
        let given = Given::new(&[7_u64]).names(&["two"]).shingles(std::slice::from_ref(&wrong));
        refuses(put(&given, (0, 0.5)), HAMDEX_INPUT, "do not ascend, or exceed");
        refuses(store.insert(&given), HAMDEX_INPUT, "do not ascend, or exceed");
        refuses(build(&at("wrong.hamdex"), &given, &defined()), HAMDEX_INPUT, "do not ascend, or exceed");
    }
    // A refused question leaves the searcher as it was.
    assert_eq!(ask(&[1, 2, 3], (0, 0.5), 0).unwrap().len(), 1);

    // Documents without shingles, and shingles without documents.
    let without = Given::new(&[7_u64]).names(&["two"]);
    refuses(put(&without, (0, 0.5)), HAMDEX_INPUT, "keeps shingles");
    refuses(store.insert(&without), HAMDEX_INPUT, "keeps shingles");
    let records = one.records();
    // SAFETY: the store is open, and the records live on.
    let removed =
        call(|error| unsafe { hamdex_store_remove(store.0, &raw const records, ptr::null_mut(), error) });
    refuses(removed, HAMDEX_USAGE, "leave the shingles out");
    refuses(
        write(hamdex_store_replace_unless_similar, &store, &one, (0, 0.5)),
        HAMDEX_INPUT,
        "the store has no look-ups",
    );
    for (name, flags) in
        [("plain", 0), ("ids", HAMDEX_WITH_IDS), ("names", HAMDEX_WITH_NAMES | HAMDEX_WITH_LOOKUPS)]
    {
        let plain = store_of(&at(name), 64, flags);
        for function in [hamdex_store_insert_unless_similar, hamdex_store_replace_unless_similar] {
            refuses(write(function, &plain, &one, (0, 0.5)), HAMDEX_INPUT, "the store keeps no shingles");
        }
        refuses(plain.insert(&one), HAMDEX_INPUT, "keeps no shingles");
        let asked = similar(&plain.snapshot().searcher(), &[1], (0, 0.5), 0, 0);
        refuses(asked, HAMDEX_INPUT, "keeps no shingles");
    }

    // A file has shingles, the definition of them, and documents; or none of these.
    let path = at("file.hamdex");
    refuses(build(&path, &one, &sized()), HAMDEX_USAGE, "do not say how they are made");
    refuses(build(&path, &without, &defined()), HAMDEX_USAGE, "the records have none");
    let anonymous = Given::new(&[7_u64]).shingles(&[vec![1]]);
    refuses(build(&path, &anonymous, &defined()), HAMDEX_USAGE, "neither ids nor names");
    let twice = Given::new(&[7_u64, 8]).ids(&[5, 5]).shingles(&[vec![1], vec![2]]);
    refuses(build(&path, &twice, &defined()), HAMDEX_INPUT, "5");
    assert!(!path.exists());
    build(&path, &without, &sized()).unwrap();
    let asked = similar(&Set::open(&path).unwrap().searcher(), &[1], (0, 0.5), 0, 0);
    refuses(asked, HAMDEX_INPUT, "file.hamdex: keeps no shingles");
}

#[test]
fn what_cannot_be_a_pointer_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_with_shingles(&directory.path().join("store"), 0, 64);
    let one = Given::new(&[7_u64]).names(&["one"]).shingles(&[vec![1, 2, 3]]);
    store.insert(&one).unwrap();
    let searcher = store.snapshot().searcher();
    let (set, mut found) = ([1_u64, 2, 3], [ptr::null(); 2]);
    let place = found.as_mut_ptr();
    let ask = |searcher, set, count, place| {
        // SAFETY: null, misaligned and impossible ones are refused, and the others live on.
        call(|error| unsafe { hamdex_searcher_similar(searcher, set, count, 0, 0.5, 0, 0, place, error) })
    };
    refuses(ask(ptr::null_mut(), set.as_ptr(), 3, place), HAMDEX_MISUSE, "the searcher is null");
    refuses(ask(store.0.cast(), set.as_ptr(), 3, place), HAMDEX_MISUSE, "to no searcher");
    refuses(ask(searcher.0, ptr::null(), 3, place), HAMDEX_MISUSE, "the array of shingles is null");
    refuses(ask(searcher.0, set.as_ptr(), u64::MAX / 4, place), HAMDEX_MISUSE, "no array is that long");
    let shifted = set.as_ptr().cast::<u8>().wrapping_add(1).cast();
    refuses(ask(searcher.0, shifted, 1, place), HAMDEX_MISUSE, "misaligned");
    refuses(ask(searcher.0, set.as_ptr(), 3, ptr::null_mut()), HAMDEX_MISUSE, "is null");
    ask(searcher.0, ptr::null(), 0, place).unwrap();
    ask(searcher.0, set.as_ptr(), 3, place).unwrap();
    // SAFETY: the library knows what belongs to a searcher, and what is none.
    unsafe {
        assert_eq!((*found[0]).count, 1);
        assert_eq!(hamdex_similar_free(found[0]), HAMDEX_MISUSE, "they belong to the searcher");
        assert_eq!((*found[0]).count, 1);
        assert_eq!(hamdex_similar_free(store.0.cast()), HAMDEX_MISUSE);
        assert_eq!(hamdex_similar_free(ptr::null()), HAMDEX_OK);
    }
    drop(searcher);
    // SAFETY: as above.
    unsafe {
        assert_eq!(hamdex_similar_free(found[0]), HAMDEX_MISUSE);
        assert!((*found[0]).ids.is_null(), "no pointer to what was freed is left");
    }
    let insert = |change: &dyn Fn(&mut hamdex_records)| {
        let mut records = one.records();
        change(&mut records);
        // SAFETY: what is wrong is seen before memory is read that is not there.
        call(|error| unsafe { hamdex_store_insert(store.0, &raw const records, ptr::null_mut(), error) })
    };
    refuses(
        insert(&|records| records.shingles = ptr::null()),
        HAMDEX_MISUSE,
        "the array of shingles is null",
    );
    refuses(insert(&|records| records.shingle_starts = ptr::null()), HAMDEX_USAGE, "where these begin");
    for starts in [[1_u64, 3], [0, u64::MAX]] {
        let status = if starts[0] == 1 { HAMDEX_USAGE } else { HAMDEX_MISUSE };
        refuses(insert(&|records| records.shingle_starts = starts.as_ptr()), status, "shingles");
    }
    // A program of a version without the fields gives none.
    let earlier = insert(&|records| records.size = std::mem::offset_of!(hamdex_records, shingles));
    refuses(earlier, HAMDEX_INPUT, "keeps shingles");
}
