//! Changes of a store.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use ::hamdex_store::for_any_store;
use std::collections::HashSet;
use std::ffi::c_char;
use std::ptr;

use ::hamdex_store::{Inserted, Operation, Put, Record, Store, When};
use hamdex::Fingerprint;
use hamdex::set::StoredId;
use hamdex_any::{AnyFingerprint, AnyMatch};

use crate::edge::{Caller, hamdex_error};
use crate::matches::{Columns, Wanted, give, hamdex_matches};
use crate::records::{Labels, Records, hamdex_records, names as names_of};
use crate::similar::{Documents, condition_of, give as give_similar, hamdex_similar};
use crate::status::{Failure, hamdex_status};
use crate::store::{get, hamdex_store};

/// Pairs for a store that may have ids.
fn pairs<F: Fingerprint>(records: &Records<'_>, has_ids: bool) -> Result<Vec<(F, u64)>, Failure> {
    let fingerprints = records.fingerprints::<F>()?;
    match (&records.labels, has_ids) {
        (Labels::Ids(ids), true) => Ok(fingerprints.into_iter().zip(ids.iter().copied()).collect()),
        (Labels::None, false) => Ok(fingerprints.into_iter().map(|fingerprint| (fingerprint, 0)).collect()),
        (Labels::Names(_), _) => Err(Failure::input("the store has no names")),
        (Labels::Ids(_), false) => Err(Failure::input("the store has no ids")),
        (Labels::None, true) => Err(Failure::input("the store has ids: give one for each fingerprint")),
    }
}

/// Stores records, which have what the store keeps for each.
fn put<F: Fingerprint>(
    store: &Store<F>,
    description: &hamdex::set::Description,
    records: &Records<'_>,
    when: When,
) -> Result<Put<F>, Failure> {
    if !description.has_names {
        if records.shingles.is_some() {
            return Err(Failure::input("the store keeps no shingles"));
        }
        return Ok(store.put(&pairs::<F>(records, description.has_ids)?, when)?);
    }
    let fingerprints = records.fingerprints::<F>()?;
    let Labels::Names(names) = &records.labels else {
        return Err(Failure::input("the store has names: give one for each fingerprint"));
    };
    let named = fingerprints.into_iter().zip(names.iter().copied());
    Ok(match &records.shingles {
        None => store.put(named, when)?,
        Some(sets) => {
            let documents = named.zip(sets);
            store.put(documents.map(|((value, name), set)| Record::document(value, name, set)), when)?
        }
    })
}

/// Returns the matches near the records that were not stored.
fn near_of<F: Fingerprint>(
    description: &hamdex::set::Description,
    outcomes: &[Inserted<F>],
) -> Result<Columns, Failure> {
    let mut columns = Columns::new(F::BYTES, Wanted::all_of(description));
    for outcome in outcomes {
        if let Some(near) = outcome.near() {
            let fingerprint = AnyFingerprint::of(near.fingerprint);
            columns.extend([AnyMatch { distance: near.distance, fingerprint }].into_iter())?;
            let no_name: &[u8] = &[];
            let names = near.names.iter().map(|name| &**name).chain(std::iter::repeat(no_name));
            for (&id, name) in near.ids.iter().zip(names) {
                columns.push_id(id, 0, name)?;
            }
            columns.end_ids(near.all_ids)?;
        }
        columns.end_query()?;
    }
    Ok(columns)
}

/// Returns the documents similar to the records that were not stored.
fn similar_of<F>(outcomes: &[Inserted<F>]) -> Result<Documents, Failure> {
    let mut documents = Documents::new(true);
    for outcome in outcomes {
        if let Some(similar) = outcome.similar() {
            documents.push(StoredId { part: 0, id: similar.id }, similar.similarity, &similar.name)?;
        }
        documents.end_query()?;
    }
    Ok(documents)
}

fn check_shingles(description: &hamdex::set::Description) -> Result<(), Failure> {
    if description.has_shingles {
        return Ok(());
    }
    Err(Failure::input("the store keeps no shingles: create it with a definition of them"))
}

fn check_lookups(description: &hamdex::set::Description) -> Result<(), Failure> {
    if description.has_lookups {
        return Ok(());
    }
    Err(Failure::input("the store has no look-ups: create it with HAMDEX_WITH_LOOKUPS"))
}

fn remove<F: Fingerprint>(
    store: &Store<F>,
    description: &hamdex::set::Description,
    records: &Records<'_>,
) -> Result<u64, Failure> {
    if records.shingles.is_some() {
        return Err(Failure::usage("records are removed by ids or fingerprints: leave the shingles out"));
    }
    let written = match &records.labels {
        Labels::None => store.remove_fingerprints(records.fingerprints::<F>()?)?,
        Labels::Ids(_) => {
            let pairs = pairs::<F>(records, description.has_ids)?;
            store.write(
                pairs.into_iter().map(|(fingerprint, id)| Operation::Remove(fingerprint, id)).collect(),
            )?
        }
        Labels::Names(_) => {
            return Err(Failure::usage("names are removed by hamdex_store_remove_names"));
        }
    };
    Ok(written.removed)
}

/// Inserts records into a store: all of them, or none. They have ids in a store with ids, names in a store with names,
/// shingles as well in a store with shingles, and neither otherwise. A store with names gives them ids, ascending: the first, or 0 without records, is written to
/// `*first_id`, which may be null.
///
/// Ownership: nothing is kept.
///
/// Threads: any. Writers that wait at the same time share a sync.
///
/// Errors: `HAMDEX_INPUT` for records that do not fit the store, `HAMDEX_UNAVAILABLE`, `HAMDEX_SYSTEM`,
/// `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`; nothing was inserted then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_insert(
    store: *const hamdex_store,
    records: *const hamdex_records,
    first_id: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.maybe_out("the place for the id", first_id)?;
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        let first = for_any_store!(&open.store, store => {
            put(store, &open.description, &records, When::always()).map(|put| put.ids().next())
        })?;
        place.write(first.filter(|_| open.description.has_names).unwrap_or_default());
        Ok(())
    })
}

/// Inserts each record, in order, unless a fingerprint within `distance` bits is stored or was inserted before it. The
/// call is atomic, also between threads. `*inserted` is the number of records that were inserted. Record r was if query
/// r of `*near` has no match; otherwise the match is the nearest stored fingerprint, with its first 10 ids and their
/// names, fewer if these are long, as far as the store has them. `inserted` and `near` may be null.
///
/// Ownership: `*near` are the caller's, who frees them with `hamdex_matches_free`.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; nothing was inserted then, and `*near` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_insert_unless_near(
    store: *const hamdex_store,
    records: *const hamdex_records,
    distance: u32,
    inserted: *mut u64,
    near: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", inserted)?;
        let mut place = caller.maybe_out("the place for the matches", near)?;
        place.write(ptr::null());
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        let (inserted, columns) = for_any_store!(&open.store, store => {
            let put = put(store, &open.description, &records, When::unless_near(distance))?;
            near_of(&open.description, &put.outcomes).map(|columns| (put.inserted, columns))
        })?;
        count.write(inserted);
        if place.is_wanted() {
            place.write(give(columns));
        }
        Ok(())
    })
}

/// Inserts each record, in order, unless a document that is similar to it is stored or was inserted before it: one whose
/// similarity, by the measure, is at least `least`, as for `hamdex_searcher_similar`. The call is atomic, also between
/// threads. The store keeps shingles, and the records have names and shingles. `*inserted` is the number of records that
/// were inserted. Record r was if query r of `*similar` has no document; otherwise it is the most similar one, with its
/// name. `inserted` and `similar` may be null.
///
/// Ownership: `*similar` are the caller's, who frees them with `hamdex_similar_free`.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; `HAMDEX_INPUT` in a store without shingles, and for ones
/// that do not ascend or have more bits; `HAMDEX_USAGE` for another measure or share. Nothing was inserted then, and
/// `*similar` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_insert_unless_similar(
    store: *const hamdex_store,
    records: *const hamdex_records,
    measure: u32,
    least: f64,
    inserted: *mut u64,
    similar: *mut *const hamdex_similar,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", inserted)?;
        let mut place = caller.maybe_out("the place for the similar documents", similar)?;
        place.write(ptr::null());
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        check_shingles(&open.description)?;
        let when = When::unless_similar(condition_of(measure, least)?);
        let (inserted, documents) = for_any_store!(&open.store, store => {
            let put = put(store, &open.description, &records, when)?;
            similar_of(&put.outcomes).map(|documents| (put.inserted, documents))
        })?;
        count.write(inserted);
        if place.is_wanted() {
            place.write(give_similar(documents));
        }
        Ok(())
    })
}

/// Inserts records in place of all pairs with their ids, or in a store with names with their names: all of them, or
/// none. Of several with one id or name, the last counts. In a store with names, each record gets a new id. The store
/// must have look-ups (`HAMDEX_WITH_LOOKUPS`). `*replaced` is the number of pairs that were removed; it may be null.
///
/// Ownership: nothing is kept.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; `HAMDEX_INPUT` in a store without look-ups. Nothing has
/// changed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_replace(
    store: *const hamdex_store,
    records: *const hamdex_records,
    replaced: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", replaced)?;
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        check_lookups(&open.description)?;
        let when = When::always().replacing();
        count.write(for_any_store!(&open.store, store => {
            put(store, &open.description, &records, when).map(|put| put.removed)
        })?);
        Ok(())
    })
}

/// Replaces as `hamdex_store_replace`, each record, in order, unless a fingerprint within `distance` bits has another id
/// or name, stored or inserted before it. A record is not near to the records that it replaces; one that is near to others
/// replaces nothing. The call is atomic, also between threads. `*replaced` is the number of pairs that were removed;
/// `*near` is as for `hamdex_store_insert_unless_near`, without the record's own ids and names. Both may be null.
///
/// Ownership: `*near` are the caller's, who frees them with `hamdex_matches_free`.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_replace`; nothing has changed then, and `*near` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_replace_unless_near(
    store: *const hamdex_store,
    records: *const hamdex_records,
    distance: u32,
    replaced: *mut u64,
    near: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", replaced)?;
        let mut place = caller.maybe_out("the place for the matches", near)?;
        place.write(ptr::null());
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        check_lookups(&open.description)?;
        let when = When::unless_near(distance).replacing();
        let (replaced, columns) = for_any_store!(&open.store, store => {
            let put = put(store, &open.description, &records, when)?;
            near_of(&open.description, &put.outcomes).map(|columns| (put.removed, columns))
        })?;
        count.write(replaced);
        if place.is_wanted() {
            place.write(give(columns));
        }
        Ok(())
    })
}

/// Replaces as `hamdex_store_replace`, each record, in order, unless a document of another name that is similar to it is
/// stored or was inserted before it, as for `hamdex_store_insert_unless_similar`. A record is not similar to the documents
/// that it replaces; one that is similar to others replaces nothing. The call is atomic, also between threads.
/// `*replaced` is the number of pairs that were removed; `*similar` are as for `hamdex_store_insert_unless_similar`. Both
/// may be null.
///
/// Ownership: `*similar` are the caller's, who frees them with `hamdex_similar_free`.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_insert_unless_similar`, and `HAMDEX_INPUT` in a store without look-ups. Nothing has
/// changed then, and `*similar` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_replace_unless_similar(
    store: *const hamdex_store,
    records: *const hamdex_records,
    measure: u32,
    least: f64,
    replaced: *mut u64,
    similar: *mut *const hamdex_similar,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", replaced)?;
        let mut place = caller.maybe_out("the place for the similar documents", similar)?;
        place.write(ptr::null());
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        check_shingles(&open.description)?;
        check_lookups(&open.description)?;
        let when = When::unless_similar(condition_of(measure, least)?).replacing();
        let (replaced, documents) = for_any_store!(&open.store, store => {
            let put = put(store, &open.description, &records, when)?;
            similar_of(&put.outcomes).map(|documents| (put.removed, documents))
        })?;
        count.write(replaced);
        if place.is_wanted() {
            place.write(give_similar(documents));
        }
        Ok(())
    })
}

/// Removes records from a store: with ids these pairs, without ids all pairs of the fingerprints. `*removed` is the
/// number of pairs that were stored; it may be null.
///
/// Ownership: nothing is kept.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; nothing was removed then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_remove(
    store: *const hamdex_store,
    records: *const hamdex_records,
    removed: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut count = caller.maybe_out("the place for the number", removed)?;
        let (open, records) = (get(caller, store)?, Records::of(caller, records)?);
        count.write(for_any_store!(&open.store, store => remove(store, &open.description, &records))?);
        Ok(())
    })
}

/// Removes all pairs with one of these ids. In a store without look-ups it reads the whole store once. `*removed` is their number; it may be null.
///
/// Ownership: nothing is kept.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_remove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_remove_ids(
    store: *const hamdex_store,
    ids: *const u64,
    count: u64,
    removed: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.maybe_out("the place for the number", removed)?;
        let open = get(caller, store)?;
        if !open.description.has_ids {
            return Err(Failure::input("the store has no ids"));
        }
        let ids: HashSet<u64> = caller.array("the array of ids", ids, count)?.iter().copied().collect();
        place.write(for_any_store!(&open.store, store => store.remove_ids(&ids))?);
        Ok(())
    })
}

/// Removes all pairs whose ids have one of `count` names, which are given as in `hamdex_records`. In a store without
/// look-ups it reads all names and the whole store once. `*removed` is the number of pairs; it may be null.
///
/// Ownership: nothing is kept.
///
/// Threads: any.
///
/// Errors: as for `hamdex_store_remove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_remove_names(
    store: *const hamdex_store,
    names: *const c_char,
    name_starts: *const u64,
    count: u64,
    removed: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.maybe_out("the place for the number", removed)?;
        let open = get(caller, store)?;
        let names = names_of(caller, names, name_starts, count)?;
        let names: HashSet<Vec<u8>> = names.into_iter().map(<[u8]>::to_vec).collect();
        place.write(for_any_store!(&open.store, store => store.remove_names(&names))?);
        Ok(())
    })
}
