//! Arguments that are null, misaligned, too short, closed, freed twice, of another type, or used by two threads.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::c::{Given, Set, build, call, path_of, sized};
use super::stores::store_of;
use crate::batch::hamdex_set_batch;
use crate::build::{hamdex_build, hamdex_build_options};
use crate::hamdex_error_free;
use crate::matches::hamdex_matches_free;
use crate::options::hamdex_work;
use crate::records::hamdex_records;
use crate::search::{
    hamdex_searcher_close, hamdex_searcher_open, hamdex_searcher_query, hamdex_searcher_set_progress,
};
use crate::set::{
    hamdex_description, hamdex_open, hamdex_set, hamdex_set_close, hamdex_set_describe, hamdex_set_metadata,
    hamdex_set_verify,
};
use crate::status::{HAMDEX_INPUT, HAMDEX_MISUSE, HAMDEX_OK, HAMDEX_USAGE, hamdex_status};
use crate::store::{hamdex_store_close, hamdex_store_create, hamdex_store_flush};
use crate::write::hamdex_store_insert;

fn built() -> (tempfile::TempDir, Set) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.hamdex");
    let fingerprints: Vec<u64> = (0..5_000).collect();
    build(&path, &Given::new(&fingerprints), &sized()).unwrap();
    (directory, Set::open(&path).unwrap())
}

fn is_misuse(result: Result<(), super::c::Failed>, what: &str) {
    let failed = result.expect_err(what);
    assert_eq!(failed.status, HAMDEX_MISUSE, "{failed:?}");
    assert!(failed.message.contains(what), "{failed:?}");
}

/// A pointer one byte further.
fn shifted<T>(pointer: *const T) -> *mut T {
    pointer.cast::<u8>().wrapping_add(1).cast::<T>().cast_mut()
}

#[test]
fn null_is_refused_where_something_is_needed() {
    let (directory, set) = built();
    let (path, length) = path_of(directory.path());
    let (mut matches, searcher, query) = (ptr::null(), set.searcher(), [0_u8; 8]);
    // SAFETY: null where the header allows none, which is refused, and otherwise what lives on.
    unsafe {
        is_misuse(
            call(|error| hamdex_open(ptr::null(), 3, 0, &mut ptr::null_mut(), error)),
            "the path is null",
        );
        is_misuse(call(|error| hamdex_open(path, length, 0, ptr::null_mut(), error)), "is null");
        is_misuse(call(|error| hamdex_set_describe(set.0, ptr::null_mut(), error)), "is null");
        is_misuse(call(|error| hamdex_set_describe(ptr::null(), ptr::null_mut(), error)), "the set is null");
        is_misuse(call(|error| hamdex_set_verify(ptr::null(), ptr::null(), error)), "the set is null");
        let place = &raw mut matches;
        is_misuse(
            call(|error| hamdex_searcher_query(ptr::null_mut(), query.as_ptr(), 8, 3, 0, 0, place, error)),
            "the searcher is null",
        );
        is_misuse(
            call(|error| hamdex_searcher_query(searcher.0, ptr::null(), 8, 3, 0, 0, place, error)),
            "the query is null",
        );
        is_misuse(
            call(|error| {
                hamdex_searcher_query(searcher.0, query.as_ptr(), 8, 3, 0, 0, ptr::null_mut(), error)
            }),
            "is null",
        );
        is_misuse(
            call(|error| hamdex_set_batch(set.0, ptr::null(), 8, 1, 3, 0, 0, ptr::null(), place, error)),
            "is null",
        );
        is_misuse(
            call(|error| hamdex_build(path, length, ptr::null(), ptr::null(), ptr::null(), error)),
            "the structure of records is null",
        );
        is_misuse(
            call(|error| hamdex_set_metadata(set.0, ptr::null(), 1, ptr::null_mut(), ptr::null_mut(), error)),
            "is null",
        );
        is_misuse(call(|error| hamdex_store_flush(ptr::null(), error)), "the store is null");
        // To close or free nothing is allowed, as with free(), and an empty array needs no memory.
        assert_eq!(hamdex_set_close(ptr::null_mut()), HAMDEX_OK);
        assert_eq!(hamdex_searcher_close(ptr::null_mut()), HAMDEX_OK);
        assert_eq!(hamdex_matches_free(ptr::null()), HAMDEX_OK);
        assert_eq!(hamdex_error_free(ptr::null_mut()), HAMDEX_OK);
        call(|error| hamdex_store_close(ptr::null_mut(), error)).unwrap();
        call(|error| hamdex_set_batch(set.0, ptr::null(), 8, 0, 3, 0, 0, ptr::null(), place, error)).unwrap();
        assert_eq!(hamdex_matches_free(matches), HAMDEX_OK);
    }
}

#[test]
fn misaligned_pointers_are_refused() {
    let (_directory, set) = built();
    let (mut matches, query) = ([ptr::null(); 2], [0_u8; 8]);
    let place = matches.as_mut_ptr();
    let searcher = set.searcher();
    // SAFETY: misaligned pointers are not followed.
    unsafe {
        is_misuse(call(|error| hamdex_set_verify(shifted(set.0), ptr::null(), error)), "misaligned");
        assert_eq!(hamdex_set_close(shifted(set.0)), HAMDEX_MISUSE);
        is_misuse(
            call(|error| hamdex_set_verify(set.0, shifted(&sized::<hamdex_work>()), error)),
            "misaligned",
        );
        is_misuse(
            call(|error| {
                hamdex_searcher_query(searcher.0, query.as_ptr(), 8, 3, 0, 0, shifted(place), error)
            }),
            "misaligned",
        );
        let records =
            hamdex_records { count: 1, fingerprints: query.as_ptr(), fingerprint_bytes: 8, ..sized() };
        let ids = hamdex_records { ids: shifted([0_u64; 2].as_ptr()), ..records };
        is_misuse(
            call(|error| hamdex_build(c"a".as_ptr(), 1, &raw const ids, ptr::null(), ptr::null(), error)),
            "misaligned",
        );
        let mut error = [ptr::null_mut(); 2];
        assert_eq!(hamdex_set_verify(set.0, ptr::null(), shifted(error.as_mut_ptr())), HAMDEX_MISUSE);
        assert!(error.iter().all(|error| error.is_null()));
        // Bytes need no alignment.
        let bytes = [0_u8; 9];
        call(|error| hamdex_searcher_query(searcher.0, bytes[1..].as_ptr(), 8, 3, 0, 0, place, error))
            .unwrap();
    }
}

#[test]
fn whatever_is_closed_or_freed_is_refused_from_then_on() {
    let (_directory, set) = built();
    let (mut matches, query) = (ptr::null(), [0_u8; 8]);
    let place = &raw mut matches;
    let closed = Set::open(&_directory.path().join("a.hamdex")).unwrap();
    let searcher = closed.searcher();
    // SAFETY: the library knows what is closed.
    unsafe {
        assert_eq!(hamdex_set_close(closed.0), HAMDEX_OK);
        assert_eq!(hamdex_set_close(closed.0), HAMDEX_MISUSE);
        is_misuse(call(|error| hamdex_set_verify(closed.0, ptr::null(), error)), "the set is closed");
        is_misuse(
            call(|error| hamdex_searcher_open(closed.0, &mut ptr::null_mut(), error)),
            "the set is closed",
        );
        // A searcher keeps its set.
        call(|error| hamdex_searcher_query(searcher.0, query.as_ptr(), 8, 3, 0, 0, place, error)).unwrap();
        assert_eq!((*matches).queries, 1);
        assert_eq!(hamdex_matches_free(matches), HAMDEX_MISUSE, "they belong to the searcher");
        assert_eq!((*matches).queries, 1);
        assert_eq!(hamdex_searcher_close(searcher.0), HAMDEX_OK);
        assert_eq!(hamdex_searcher_close(searcher.0), HAMDEX_MISUSE);
        assert_eq!(hamdex_matches_free(matches), HAMDEX_MISUSE);
        assert!((*matches).distances.is_null(), "no pointer to what was freed is left");
        is_misuse(
            call(|error| hamdex_searcher_query(searcher.0, query.as_ptr(), 8, 3, 0, 0, place, error)),
            "the searcher is closed",
        );

        call(|error| hamdex_set_batch(set.0, query.as_ptr(), 8, 1, 3, 0, 0, ptr::null(), place, error))
            .unwrap();
        assert_eq!(hamdex_matches_free(matches), HAMDEX_OK);
        assert_eq!(hamdex_matches_free(matches), HAMDEX_MISUSE);

        let mut error = ptr::null_mut();
        assert_ne!(hamdex_open(c"".as_ptr(), 0, 0, &mut ptr::null_mut(), &raw mut error), HAMDEX_OK);
        assert_eq!(hamdex_error_free(error), HAMDEX_OK);
        assert_eq!(hamdex_error_free(error), HAMDEX_MISUSE);
    }
    std::mem::forget((closed, searcher));
    let store = store_of(&_directory.path().join("store"), 64, 0);
    // SAFETY: as above.
    unsafe {
        call(|error| hamdex_store_close(store.0, error)).unwrap();
        is_misuse(call(|error| hamdex_store_close(store.0, error)), "the store is closed");
        is_misuse(call(|error| hamdex_store_flush(store.0, error)), "the store is closed");
        let records = Given::new(&[1_u64]);
        is_misuse(
            call(|error| hamdex_store_insert(store.0, &records.records(), ptr::null_mut(), error)),
            "the store is closed",
        );
    }
    std::mem::forget(store);
}

#[test]
fn objects_of_another_type_are_refused() {
    let (_directory, set) = built();
    let searcher = set.searcher();
    // SAFETY: the library has made them all, and knows their types.
    unsafe {
        assert_eq!(hamdex_set_close(searcher.0.cast()), HAMDEX_MISUSE);
        assert_eq!(hamdex_searcher_close(set.0.cast()), HAMDEX_MISUSE);
        assert_eq!(hamdex_matches_free(set.0.cast()), HAMDEX_MISUSE);
        assert_eq!(hamdex_error_free(searcher.0.cast()), HAMDEX_MISUSE);
        is_misuse(call(|error| hamdex_store_flush(set.0.cast(), error)), "to no store");
    }
}

#[test]
fn structures_say_their_size() {
    let (_directory, set) = built();
    let describe = |size: usize| {
        // SAFETY: numbers and pointers.
        let mut told: [hamdex_description; 2] = unsafe { std::mem::zeroed() };
        told[0].size = size;
        // SAFETY: there is room for as much as it says.
        call(|error| unsafe { hamdex_set_describe(set.0, told.as_mut_ptr(), error) }).map(|()| told)
    };
    let own = size_of::<hamdex_description>();
    for size in [0, 1, own - 1, 1 << 20, usize::MAX] {
        assert_eq!(describe(size).err().unwrap().status, HAMDEX_USAGE);
    }
    // A later version of the structure: the library says how much of it it knows.
    let told = describe(own + 8).unwrap();
    assert_eq!((told[0].size, told[1].size), (own, 0));

    #[repr(C)]
    struct Later {
        work: hamdex_work,
        more: u64,
    }
    let verify = |more: u64| {
        let work = hamdex_work { size: size_of::<Later>(), ..sized() };
        let later = Later { work, more };
        // SAFETY: the structure is as long as it says.
        call(|error| unsafe { hamdex_set_verify(set.0, (&raw const later).cast(), error) })
    };
    verify(0).unwrap();
    assert_eq!(verify(1).unwrap_err().status, HAMDEX_USAGE);
    let odd = hamdex_work { reserved: 1, ..sized() };
    // SAFETY: as above.
    let failed = call(|error| unsafe { hamdex_set_verify(set.0, &raw const odd, error) });
    assert_eq!(failed.unwrap_err().status, HAMDEX_USAGE);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn structures_of_the_first_version_are_taken() {
    let directory = tempfile::tempdir().unwrap();
    let (file, store) = (directory.path().join("a.hamdex"), directory.path().join("store"));
    let records = Given::new(&[1_u64]);
    // Nothing lies behind the fields that they had.
    let (of_build, of_create) = ([48_u64, 0, 0, 0, 0, 0], [56_u64, 0, 0, 0, 0, 0, 0]);
    // SAFETY: the structures are as long as they say.
    unsafe {
        let (path, length) = path_of(&file);
        let options = of_build.as_ptr().cast();
        call(|error| hamdex_build(path, length, &records.records(), options, ptr::null(), error)).unwrap();
        let ((path, length), mut opened) = (path_of(&store), ptr::null_mut());
        let options = of_create.as_ptr().cast();
        call(|error| hamdex_store_create(path, length, options, ptr::null(), &raw mut opened, error))
            .unwrap();
        call(|error| hamdex_store_close(opened, error)).unwrap();
    }
}

#[test]
fn records_that_contradict_themselves_are_refused() {
    let (directory, set) = built();
    let path = directory.path().join("b.hamdex");
    let given = Given::new(&[1_u64, 2]).names(&["a", "b"]);
    let refused = |change: &dyn Fn(&mut hamdex_records)| -> hamdex_status {
        let mut records = given.records();
        change(&mut records);
        let (path, length) = path_of(&path);
        // SAFETY: what is wrong is seen before memory is read that is not there.
        let built = call(|error| unsafe {
            hamdex_build(path, length, &raw const records, ptr::null(), ptr::null(), error)
        });
        built.unwrap_err().status
    };
    assert_eq!(refused(&|records| records.fingerprint_bytes = 7), HAMDEX_INPUT);
    assert_eq!(refused(&|records| records.fingerprint_bytes = 32), HAMDEX_INPUT);
    assert_eq!(refused(&|records| records.count = u64::MAX), HAMDEX_MISUSE);
    assert_eq!(refused(&|records| records.count = u64::MAX / 8), HAMDEX_MISUSE);
    assert_eq!(refused(&|records| records.names = ptr::null()), HAMDEX_MISUSE);
    assert_eq!(refused(&|records| records.name_starts = ptr::null()), HAMDEX_USAGE, "names would be lost");
    assert_eq!(refused(&|records| records.ids = [1, 2].as_ptr()), HAMDEX_USAGE);
    for starts in [[1_u64, 1, 2], [0, 2, 1], [0, u64::MAX, 2]] {
        assert_eq!(refused(&|records| records.name_starts = starts.as_ptr()), HAMDEX_USAGE);
    }
    let endless = [0, 1, u64::MAX];
    assert_eq!(refused(&|records| records.name_starts = endless.as_ptr()), HAMDEX_MISUSE);
    assert!(!path.exists());
    // SAFETY: the count is seen before memory is read.
    let failed = call(|error| unsafe {
        let place = &mut ptr::null();
        hamdex_set_batch(set.0, [0_u8; 8].as_ptr(), 8, u64::MAX / 4, 3, 0, 0, ptr::null(), place, error)
    });
    assert_eq!(failed.unwrap_err().status, HAMDEX_MISUSE);
}

#[test]
fn texts_that_are_none_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = [0xff_u8, 0xfe];
    let (path, length) = path_of(directory.path());
    let options = hamdex_build_options { design: bytes.as_ptr().cast(), design_length: 2, ..sized() };
    let given = Given::new(&[1_u64]);
    // SAFETY: everything lives on.
    unsafe {
        let records = given.records();
        let built = call(|error| {
            hamdex_build(path, length, &raw const records, &raw const options, ptr::null(), error)
        });
        assert_eq!(built.unwrap_err().status, HAMDEX_USAGE);
        // A zero byte in a path: the system takes none.
        let opened = call(|error| hamdex_open(c"a".as_ptr(), 2, 0, &mut ptr::null_mut(), error));
        assert!(!opened.unwrap_err().message.contains('\0'));
        let opened = call(|error| hamdex_open(path, length, 1 << 31, &mut ptr::null_mut(), error));
        assert_eq!(opened.unwrap_err().status, HAMDEX_USAGE);
    }
}

/// How often the callback below was called.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Uses the searcher that asks.
unsafe extern "C" fn ask_again(context: *mut c_void, _: u64, _: u64) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let mut matches = ptr::dangling();
    // SAFETY: the context is the searcher.
    let status = unsafe {
        assert_eq!(hamdex_searcher_close(context.cast()), HAMDEX_MISUSE, "it would wait for this call");
        let query = [0_u8; 8];
        hamdex_searcher_query(context.cast(), query.as_ptr(), 8, 3, 0, 0, &raw mut matches, ptr::null_mut())
    };
    assert!(matches.is_null());
    c_int::from(status != HAMDEX_MISUSE)
}

#[test]
fn a_searcher_that_is_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.hamdex");
    // Many blocks, more than are read without a report.
    let fingerprints: Vec<u64> =
        (0..200_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    build(&path, &Given::new(&fingerprints), &sized()).unwrap();
    let set = Set::open(&path).unwrap();
    let searcher = set.searcher();
    // SAFETY: everything lives on.
    call(|error| unsafe {
        hamdex_searcher_set_progress(searcher.0, Some(ask_again), searcher.0.cast(), error)
    })
    .unwrap();
    assert_eq!(searcher.query(0_u64, 64, 0, 0).unwrap().len(), 200_000);
    assert!(CALLS.load(Ordering::Relaxed) > 0, "it was never asked again");
}

#[test]
fn any_number_of_threads_uses_a_set_while_it_is_closed() {
    let (directory, _) = built();
    for _ in 0..20 {
        let mut set = ptr::null_mut();
        let path = directory.path().join("a.hamdex");
        let (path, length) = path_of(&path);
        // SAFETY: everything lives on.
        call(|error| unsafe { hamdex_open(path, length, 0, &raw mut set, error) }).unwrap();
        let handle = set.expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let set = ptr::with_exposed_provenance::<hamdex_set>(handle);
                    loop {
                        let mut searcher = ptr::null_mut();
                        // SAFETY: the library knows whether it is closed.
                        let status = unsafe { hamdex_searcher_open(set, &raw mut searcher, ptr::null_mut()) };
                        if status != HAMDEX_OK {
                            assert_eq!(status, HAMDEX_MISUSE);
                            return;
                        }
                        // SAFETY: closed once.
                        assert_eq!(unsafe { hamdex_searcher_close(searcher) }, HAMDEX_OK);
                    }
                });
            }
            // SAFETY: closed once.
            assert_eq!(unsafe { hamdex_set_close(set) }, HAMDEX_OK);
        });
    }
}
