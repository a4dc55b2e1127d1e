//! From ids and names to fingerprints.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_char;
use std::ptr;

use ::hamdex_store::for_any_store;
use hamdex::Fingerprint;
use hamdex_any::{AnyFingerprint, AnyMatch};

use crate::edge::{Caller, hamdex_error};
use crate::matches::{Columns, Wanted, give, hamdex_matches};
use crate::records::names as names_of;
use crate::status::{Failure, hamdex_status};
use crate::store::{Open, get, hamdex_store};

/// Writes the fingerprints that `find` returns for a store to `found`.
fn answer(
    caller: &Caller,
    store: *const hamdex_store,
    found: *mut *const hamdex_matches,
    find: impl FnOnce(&Open) -> Result<Columns, Failure>,
) -> Result<(), Failure> {
    let mut place = caller.out("the place for the fingerprints", found)?;
    place.write(ptr::null());
    let open = get(caller, store)?;
    place.write(give(find(&open)?));
    Ok(())
}

/// Returns each list of fingerprints as the matches of a query.
fn columns_of<F: Fingerprint>(lists: &[Vec<F>]) -> Result<Columns, Failure> {
    let mut columns = Columns::new(F::BYTES, Wanted::Matches);
    let as_match = |&found: &F| AnyMatch { distance: 0, fingerprint: AnyFingerprint::of(found) };
    for fingerprints in lists {
        columns.extend(fingerprints.iter().map(as_match))?;
        columns.end_query()?;
    }
    Ok(columns)
}

/// Finds the fingerprints of ids: of the id number i, the matches of query i, ascending, all at the distance 0. In a
/// store without look-ups (`HAMDEX_WITH_LOOKUPS`) it reads the whole store once.
///
/// Ownership: `*found` are the caller's, who frees them with `hamdex_matches_free`.
///
/// Threads: any.
///
/// Errors: `HAMDEX_INPUT` in a store without ids, `HAMDEX_DAMAGED`, `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`;
/// `*found` is null then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_find_ids(
    store: *const hamdex_store,
    ids: *const u64,
    count: u64,
    found: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    let caller = unsafe { Caller::new(error) };
    caller.run(|caller| {
        answer(caller, store, found, |open| {
            if !open.description.has_ids {
                return Err(Failure::input("the store has no ids"));
            }
            let ids = caller.array("the array of ids", ids, count)?;
            for_any_store!(&open.store, store => columns_of(&store.snapshot().fingerprints_of_ids(ids)?))
        })
    })
}

/// Finds the fingerprints of `count` names, which are given as in `hamdex_records`: of the name number i, the matches of
/// query i, ascending, all at the distance 0. In a store without look-ups (`HAMDEX_WITH_LOOKUPS`) it reads all names
/// and the whole store once.
///
/// Ownership: `*found` are the caller's, who frees them with `hamdex_matches_free`.
///
/// Threads: any.
///
/// Errors: `HAMDEX_INPUT` in a store without names; otherwise as for `hamdex_store_find_ids`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_find_names(
    store: *const hamdex_store,
    names: *const c_char,
    name_starts: *const u64,
    count: u64,
    found: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    let caller = unsafe { Caller::new(error) };
    caller.run(|caller| {
        answer(caller, store, found, |open| {
            if !open.description.has_names {
                return Err(Failure::input("the store has no names"));
            }
            let names = names_of(caller, names, name_starts, count)?;
            for_any_store!(&open.store, store => columns_of(&store.snapshot().fingerprints_of_names(&names)?))
        })
    })
}
