//! Callbacks may stop the work.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::c::{Given, Set, build, bytes_of, call, path_of, sized};
use super::stores::store_of;
use crate::batch::{hamdex_set_batch, hamdex_set_pairs};
use crate::build::hamdex_build;
use crate::options::hamdex_work;
use crate::search::{hamdex_searcher_query, hamdex_searcher_set_progress};
use crate::set::hamdex_set_verify;
use crate::status::{HAMDEX_MISUSE, HAMDEX_STOPPED};
use crate::store::hamdex_store_compact;

/// Calls that are allowed, and calls that were made.
struct Calls {
    allowed: u64,
    made: AtomicU64,
}

impl Calls {
    fn allowing(allowed: u64) -> Self {
        Self { allowed, made: AtomicU64::new(0) }
    }

    fn next(&self) -> c_int {
        c_int::from(self.made.fetch_add(1, Ordering::Relaxed) >= self.allowed)
    }

    fn context(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    fn work(&self) -> hamdex_work {
        hamdex_work { progress: Some(on_progress), context: self.context(), ..sized() }
    }

    fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }
}

unsafe extern "C" fn on_progress(context: *mut c_void, _: u64, _: u64) -> c_int {
    // SAFETY: the context is one of `Calls`.
    unsafe { &*context.cast::<Calls>() }.next()
}

unsafe extern "C" fn on_pairs(
    context: *mut c_void,
    _: *const u8,
    _: *const u8,
    _: *const u32,
    count: u64,
) -> c_int {
    assert!(count > 0);
    // SAFETY: as above.
    unsafe { &*context.cast::<Calls>() }.next()
}

fn built(path: &Path) -> Set {
    // Thousands of near pairs, more than are delivered at once; many blocks, more than are read without a report.
    let near = 0..20_000_u64;
    let far = near
        .clone()
        .flat_map(|number| (0..10).map(move |more| (number * 10 + more).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let fingerprints: Vec<u64> = near.clone().map(|number| number * 3).chain(far).collect();
    build(path, &Given::new(&fingerprints), &sized()).unwrap();
    Set::open(path).unwrap()
}

#[test]
fn a_callback_for_pairs_stops_them() {
    let directory = tempfile::tempdir().unwrap();
    let set = built(&directory.path().join("a.hamdex"));
    for allowed in [0, 1] {
        let calls = Calls::allowing(allowed);
        let one = hamdex_work { threads: 1, memory: 1 << 20, ..sized() };
        // SAFETY: the set is open, and the context is what the callback expects.
        let failed = call(|error| unsafe {
            hamdex_set_pairs(set.0, 3, &raw const one, Some(on_pairs), calls.context(), error)
        });
        assert_eq!(failed.unwrap_err().status, HAMDEX_STOPPED);
        assert_eq!(calls.made(), allowed + 1, "it is not called again");
    }
    // SAFETY: as above.
    let failed =
        call(|error| unsafe { hamdex_set_pairs(set.0, 3, ptr::null(), None, ptr::null_mut(), error) });
    assert_eq!(failed.unwrap_err().status, HAMDEX_MISUSE);
}

#[test]
fn a_callback_for_progress_stops_a_build_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.hamdex");
    let given = Given::new(&(0..20_000_u64).collect::<Vec<_>>());
    let calls = Calls::allowing(2);
    let (text, length) = path_of(&path);
    // SAFETY: everything lives on.
    let failed = call(|error| unsafe {
        hamdex_build(text, length, &given.records(), ptr::null(), &calls.work(), error)
    });
    assert_eq!(failed.unwrap_err().status, HAMDEX_STOPPED);
    assert!(calls.made() > 2);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_callback_for_progress_stops_batches_queries_and_verification() {
    let directory = tempfile::tempdir().unwrap();
    let set = built(&directory.path().join("a.hamdex"));
    let queries = bytes_of(&(0..50_000_u64).collect::<Vec<_>>());
    let (calls, mut matches) = (Calls::allowing(0), ptr::dangling());
    // SAFETY: everything lives on.
    let failed = call(|error| unsafe {
        let (queries, work, place) = (queries.as_ptr(), calls.work(), &raw mut matches);
        hamdex_set_batch(set.0, queries, 8, 50_000, 3, 0, 0, &raw const work, place, error)
    });
    assert_eq!(failed.unwrap_err().status, HAMDEX_STOPPED);
    assert!(matches.is_null());

    let calls = Calls::allowing(0);
    // SAFETY: as above.
    let failed = call(|error| unsafe { hamdex_set_verify(set.0, &calls.work(), error) });
    assert_eq!(failed.unwrap_err().status, HAMDEX_STOPPED);

    let (calls, searcher) = (Calls::allowing(0), set.searcher());
    // SAFETY: as above.
    call(|error| unsafe {
        hamdex_searcher_set_progress(searcher.0, Some(on_progress), calls.context(), error)
    })
    .unwrap();
    let query = |distance| {
        let mut matches = ptr::null();
        // SAFETY: as above.
        call(|error| unsafe {
            let query = queries.as_ptr();
            hamdex_searcher_query(searcher.0, query, 8, distance, 0, 0, &raw mut matches, error)
        })
    };
    assert_eq!(query(64).unwrap_err().status, HAMDEX_STOPPED, "{} calls", calls.made());
    // The next query is asked for anew.
    let made = calls.made();
    assert_eq!(query(64).unwrap_err().status, HAMDEX_STOPPED);
    assert!(calls.made() > made);
    // SAFETY: as above.
    call(|error| unsafe { hamdex_searcher_set_progress(searcher.0, None, ptr::null_mut(), error) }).unwrap();
    query(64).unwrap();
}

#[test]
fn a_callback_for_progress_stops_a_compaction_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_of(&directory.path().join("store"), 64, 0);
    for part in 0..2_u64 {
        store.insert(&Given::new(&(0..20_000).map(|number| number * 2 + part).collect::<Vec<_>>())).unwrap();
        store.flush().unwrap();
    }
    let calls = Calls::allowing(0);
    // SAFETY: everything lives on.
    let failed = call(|error| unsafe { hamdex_store_compact(store.0, &calls.work(), error) });
    assert_eq!(failed.unwrap_err().status, HAMDEX_STOPPED);
    assert_eq!(store.snapshot().batch(&[7_u64, 8], 0, 0, 0).unwrap().concat().len(), 2);
}
