//! Queries, one at a time, and look-ups from ids and names of a store to fingerprints.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use ::hamdex_store::for_any_store;
use hamdex::similar::Condition;
use hamdex::{Fingerprint, Report};
use hamdex_any::{AnyFingerprint, AnyMatch, AnySearcher, AnySet};
use self_cell::self_cell;

use crate::edge::{Caller, Reporter, Shell, hamdex_error, hamdex_progress, kind};
use crate::matches::{Columns, Held, Wanted, give, hamdex_matches};
use crate::options::{HAMDEX_NAMES, check_flags, ids_limit as id_limit, limit as match_limit};
use crate::records::{any_from_bytes, names as names_of};
use crate::set::{get, hamdex_set};
use crate::similar::{Documents, condition_of, hamdex_similar, shingles_of};
use crate::status::{Failure, hamdex_status};
use crate::store::{self, Open, hamdex_store};

/// A searcher of a set, with memory that its queries use again and again: one per thread. Its matches are its own, and
/// those of its last query only.
#[derive(Default)]
pub struct hamdex_searcher {
    _opaque: u64,
}

self_cell! {
    /// A searcher beside the set that it borrows.
    struct Owned {
        owner: AnySet,
        #[not_covariant]
        dependent: AnySearcher,
    }
}

/// A searcher and its last results.
pub(crate) struct Searching {
    searcher: Owned,
    fingerprint_bytes: usize,
    width: u32,
    ids_limit: usize,
    reporter: Option<Reporter>,
    columns: Columns,
    matches: &'static Shell<Held<Columns>>,
    documents: Documents,
    similar: &'static Shell<Held<Documents>>,
}

/// The matches that a query asks for.
enum Question {
    /// The nearest, however far without a distance.
    Nearest {
        count: usize,
        distance: Option<u32>,
    },
    First {
        distance: u32,
    },
}

impl Searching {
    fn new(set: &AnySet) -> Self {
        let width = set.description().width;
        let fingerprint_bytes = width as usize / 8;
        Self {
            searcher: Owned::new(set.clone(), AnySet::searcher),
            fingerprint_bytes,
            width,
            ids_limit: id_limit(0),
            reporter: None,
            columns: Columns::new(fingerprint_bytes, Wanted::Matches),
            matches: Shell::new(Held::BySearcher),
            documents: Documents::new(false),
            similar: Shell::new(Held::BySearcher),
        }
    }

    fn answer(&mut self, query: &[u8], question: &Question, wanted: Wanted) -> Result<(), Failure> {
        let query = any_from_bytes(query, self.fingerprint_bytes)?;
        let (columns, width, ids_limit) = (&mut self.columns, self.width, self.ids_limit);
        columns.clear(wanted);
        let reporter = self.reporter;
        self.searcher.with_dependent_mut(|set, searcher| {
            begin(searcher, reporter);
            match *question {
                Question::Nearest { count, distance } => {
                    let distance = distance.unwrap_or(width);
                    columns.extend(searcher.nearest_within(query, count, distance)?.iter().copied())?;
                }
                Question::First { distance } => {
                    let found = searcher.first(query, distance)?;
                    columns.extend(found.as_slice().iter().copied())?;
                }
            }
            columns.end_query()?;
            if wanted != Wanted::Matches {
                searcher.ids(ids_limit)?.into_iter().try_for_each(|ids| columns.push_ids(set, ids))?;
            }
            Ok(())
        })
    }

    fn answer_similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
        wants_names: bool,
    ) -> Result<(), Failure> {
        self.documents = Documents::new(wants_names);
        let (documents, reporter) = (&mut self.documents, self.reporter);
        self.searcher.with_dependent_mut(|set, searcher| {
            begin(searcher, reporter);
            for found in searcher.similar(shingles, condition, limit)? {
                let name = if wants_names { set.name_of(found.id)? } else { None };
                documents.push(found.id, found.similarity, &name.unwrap_or_default())?;
            }
            documents.end_query()
        })
    }
}

/// Prepares a searcher for a query, which its callback may cancel, whether or not it has cancelled the one before.
fn begin(searcher: &mut AnySearcher<'_>, reporter: Option<Reporter>) {
    if let Some(reporter) = reporter {
        searcher.report_to(reporter.report());
    }
}

impl Drop for Searching {
    fn drop(&mut self) {
        // Nothing but this closes them.
        let _ = self.matches.close(|_| Ok(()));
        let _ = self.similar.close(|_| Ok(()));
    }
}

kind!(Searching, hamdex_searcher, "searcher", b"hamdex Q");

/// Answers a question with a searcher.
fn ask(
    caller: &Caller,
    searcher: *mut hamdex_searcher,
    query: (*const u8, usize),
    question: &Question,
    flags: u32,
    matches: *mut *const hamdex_matches,
) -> Result<(), Failure> {
    let mut place = caller.out("the place for the matches", matches)?;
    place.write(ptr::null());
    let mut searcher = caller.shell::<Searching>(searcher)?.exclusive()?;
    let query = caller.array("the query", query.0, query.1 as u64)?;
    let searching = searcher.object();
    searching.answer(query, question, Wanted::of_flags(flags)?)?;
    searching.matches.publish(searching.columns.public());
    place.write(searching.matches.as_c());
    Ok(())
}

/// Opens a searcher of a set.
///
/// Ownership: `*searcher` is the caller's, who closes it with `hamdex_searcher_close`. It keeps the set open even if
/// that is closed.
///
/// Threads: any.
///
/// Errors: `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_open(
    set: *const hamdex_set,
    searcher: *mut *mut hamdex_searcher,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the searcher", searcher)?;
        place.write(ptr::null_mut());
        let set: Arc<AnySet> = get(caller, set)?;
        place.write(Shell::new(Searching::new(&set)).as_c());
        Ok(())
    })
}

/// Closes a searcher and frees its matches. Null is allowed.
///
/// Threads: any. No other call may use the searcher or its matches meanwhile.
///
/// Errors: `HAMDEX_MISUSE` if it is not a searcher, is closed already, or answers a query now, as in the callback of
/// one: it then stays open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_close(searcher: *mut hamdex_searcher) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(ptr::null_mut()) }.run(|caller| {
        if !searcher.is_null() {
            drop(caller.shell::<Searching>(searcher)?.close_unused()?);
        }
        Ok(())
    })
}

/// Finds the fingerprints within `distance` bits of a query: the `limit` nearest, or all if `limit` is 0. `query` has
/// as many bytes as the fingerprints of the set. `flags` are 0, or of `HAMDEX_IDS` and `HAMDEX_NAMES`.
///
/// Ownership: `*matches` belong to the searcher, until its next call; they are not freed.
///
/// Threads: any, one at a time with a searcher.
///
/// Errors: `HAMDEX_INPUT` for a query of another width, `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`,
/// `HAMDEX_SYSTEM`, `HAMDEX_USAGE` for a distance of more bits than fingerprints have, `HAMDEX_MISUSE`; `*matches` is
/// null then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_query(
    searcher: *mut hamdex_searcher,
    query: *const u8,
    query_bytes: usize,
    distance: u32,
    limit: u64,
    flags: u32,
    matches: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let question = Question::Nearest { count: match_limit(limit), distance: Some(distance) };
        ask(caller, searcher, (query, query_bytes), &question, flags, matches)
    })
}

/// Finds the `count` nearest fingerprints, however far they are.
///
/// Ownership, threads and errors: as for `hamdex_searcher_query`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_nearest(
    searcher: *mut hamdex_searcher,
    query: *const u8,
    query_bytes: usize,
    count: u64,
    flags: u32,
    matches: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let question =
            Question::Nearest { count: usize::try_from(count).unwrap_or(usize::MAX), distance: None };
        ask(caller, searcher, (query, query_bytes), &question, flags, matches)
    })
}

/// Finds any fingerprint within `distance` bits of a query, not always the nearest: one match, or none. This is the
/// fastest way to ask whether there is one.
///
/// Ownership, threads and errors: as for `hamdex_searcher_query`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_first(
    searcher: *mut hamdex_searcher,
    query: *const u8,
    query_bytes: usize,
    distance: u32,
    flags: u32,
    matches: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        ask(caller, searcher, (query, query_bytes), &Question::First { distance }, flags, matches)
    })
}

/// Finds the documents that are similar to a set of `count` shingles, the most similar first, then by id: the `limit`
/// first, or all if `limit` is 0. None is missed. They are the ones of which the similarity, by a measure that is
/// `HAMDEX_RESEMBLANCE`, `HAMDEX_CONTAINING` or `HAMDEX_CONTAINED`, is at least `least`: above 0, at most 1. Shingles are
/// hashes of 48 bits, ascending, each once, made as the metadata "hamdex.shingles" of the set says. Nothing is similar to
/// none. `flags` are 0, or `HAMDEX_NAMES`.
///
/// Ownership: `*similar` belong to the searcher, until its next call; they are not freed.
///
/// Threads: any, one at a time with a searcher.
///
/// Errors: `HAMDEX_INPUT` for a set without shingles and for shingles that do not ascend or have more bits,
/// `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`, `HAMDEX_SYSTEM`, `HAMDEX_USAGE` for another measure or share,
/// `HAMDEX_MISUSE`; `*similar` is null then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_similar(
    searcher: *mut hamdex_searcher,
    shingles: *const u64,
    count: u64,
    measure: u32,
    least: f64,
    limit: u64,
    flags: u32,
    similar: *mut *const hamdex_similar,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the similar documents", similar)?;
        place.write(ptr::null());
        let mut searcher = caller.shell::<Searching>(searcher)?.exclusive()?;
        let shingles = shingles_of(caller, shingles, count)?;
        let condition = condition_of(measure, least)?;
        check_flags(flags, HAMDEX_NAMES)?;
        let searching = searcher.object();
        searching.answer_similar(shingles, &condition, match_limit(limit), flags != 0)?;
        searching.similar.publish(searching.documents.public());
        place.write(searching.similar.as_c());
        Ok(())
    })
}

/// Sets the most ids that each match has from now on; 0 for 10, `HAMDEX_ALL_IDS` for all. `id_counts` of the matches has
/// the numbers of all. A fingerprint may have very many ids, and each answer takes memory for each of its ids.
///
/// Threads: any, one at a time with a searcher.
///
/// Errors: `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_set_ids_limit(
    searcher: *mut hamdex_searcher,
    ids_limit: u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        caller.shell::<Searching>(searcher)?.exclusive()?.object().ids_limit = id_limit(ids_limit);
        Ok(())
    })
}

/// Sets a callback for queries that read many blocks, such as those at a great distance, which may stop them. Null
/// removes it.
///
/// Threads: any, one at a time with a searcher. The callback is called by the thread that queries.
///
/// Errors: `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_searcher_set_progress(
    searcher: *mut hamdex_searcher,
    progress: hamdex_progress,
    context: *mut c_void,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut searcher = caller.shell::<Searching>(searcher)?.exclusive()?;
        let searching = searcher.object();
        searching.reporter = caller.reporter(progress, context);
        searching.searcher.with_dependent_mut(|_, searcher| searcher.report_to(Report::new()));
        Ok(())
    })
}

/// Writes the fingerprints that `find` returns for a store to `found`.
fn answer(
    caller: &Caller,
    store: *const hamdex_store,
    found: *mut *const hamdex_matches,
    find: impl FnOnce(&Open) -> Result<Columns, Failure>,
) -> Result<(), Failure> {
    let mut place = caller.out("the place for the fingerprints", found)?;
    place.write(ptr::null());
    let open = store::get(caller, store)?;
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
    unsafe { Caller::new(error) }.run(|caller| {
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
    unsafe { Caller::new(error) }.run(|caller| {
        answer(caller, store, found, |open| {
            if !open.description.has_names {
                return Err(Failure::input("the store has no names"));
            }
            let names = names_of(caller, names, name_starts, count)?;
            for_any_store!(&open.store, store => columns_of(&store.snapshot().fingerprints_of_names(&names)?))
        })
    })
}
