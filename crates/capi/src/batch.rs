//! Many queries at once, and all pairs within a distance of each other.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_void;
use std::ptr;

use crate::edge::{Caller, PairsReceiver, hamdex_error, hamdex_on_pairs};
use crate::matches::{Columns, Wanted, give, hamdex_matches, widen};
use crate::options::{Work, hamdex_work};
use crate::records::{MAX_BYTES, check_length, fingerprints, numbers, to_bytes};
use crate::set::{get, hamdex_set};
use crate::status::{Failure, hamdex_status};
use hamdex::{Fingerprint, Match, Pair};
use hamdex_any::{AnyFingerprint, AnySet, for_width};

/// The number of matches whose ids are looked up together.
const IDS_AT_ONCE: usize = 4096;

/// Answers queries that are given as bytes.
fn answer<F: hamdex::Fingerprint>(
    any: &AnySet,
    queries: &[u8],
    distance: u32,
    limit: u64,
    wanted: Wanted,
    work: &Work,
) -> Result<Columns, Failure> {
    let set = any.typed::<F>().ok_or_else(|| Failure::input("the set has another width"))?;
    let queries: Vec<F> = numbers(queries)?;
    let mut columns = Columns::new(F::BYTES, wanted);
    let mut found: Vec<Match<F>> = Vec::new();
    set.batch_with(&queries, distance, &work.batch(limit), |_, matches| {
        columns.extend(matches.iter().map(widen))?;
        columns.end_query()?;
        if wanted != Wanted::Matches {
            found.try_reserve(matches.len())?;
            found.extend_from_slice(matches);
        }
        Ok::<_, Failure>(())
    })?;
    let mut searcher = set.open_searcher();
    for found in found.chunks(IDS_AT_ONCE) {
        searcher
            .ids_of(found, work.ids_limit())?
            .into_iter()
            .try_for_each(|ids| columns.push_ids(any, ids))?;
    }
    Ok(columns)
}

/// Answers many queries together, which is several times as fast as one after the other: for each of `count` queries
/// the fingerprints within `distance` bits, the `limit` nearest, or all if `limit` is 0. `queries` has `query_bytes`
/// bytes per query, as many as the fingerprints of the set. `flags` are 0, or of `HAMDEX_IDS` and `HAMDEX_NAMES`.
/// `work` may be null; its `ids_limit` is that of each match.
///
/// Ownership: `*matches` are the caller's, who frees them with `hamdex_matches_free`.
///
/// Threads: any; it uses several.
///
/// Errors: `HAMDEX_INPUT` for queries of another width, `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`,
/// `HAMDEX_SYSTEM`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`; `*matches` is null then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_batch(
    set: *const hamdex_set,
    queries: *const u8,
    query_bytes: usize,
    count: u64,
    distance: u32,
    limit: u64,
    flags: u32,
    work: *const hamdex_work,
    matches: *mut *const hamdex_matches,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the matches", matches)?;
        place.write(ptr::null());
        let set = get(caller, set)?;
        let width = set.description().width;
        check_length(query_bytes, width as usize / 8)?;
        let queries = fingerprints(caller, queries, count, query_bytes)?;
        let (wanted, work) = (Wanted::of_flags(flags)?, Work::of(caller, work)?);
        let columns = for_width!(width, F => answer::<F>(&set, queries, distance, limit, wanted, &work))?;
        place.write(give(columns));
        Ok(())
    })
}

/// Pairs for the callback, in memory that is used again and again.
#[derive(Default)]
struct Portion {
    left: Vec<u8>,
    right: Vec<u8>,
    distances: Vec<u32>,
}

impl Portion {
    fn fill<F: Fingerprint>(&mut self, pairs: &[Pair<F>]) {
        self.left.clear();
        self.right.clear();
        self.distances.clear();
        for pair in pairs {
            for (side, fingerprint) in [(&mut self.left, pair.a), (&mut self.right, pair.b)] {
                side.extend_from_slice(&to_bytes(AnyFingerprint::of(fingerprint))[MAX_BYTES - F::BYTES..]);
            }
            self.distances.push(pair.distance);
        }
    }
}

fn find<F: Fingerprint>(
    any: &AnySet,
    distance: u32,
    work: &Work,
    receiver: &PairsReceiver,
) -> Result<(), Failure> {
    let set = any.typed::<F>().ok_or_else(|| Failure::input("the set has another width"))?;
    let mut portion = Portion::default();
    set.pairs_with(distance, &work.pairs(), |pairs| {
        if pairs.is_empty() {
            return Ok(());
        }
        portion.fill(pairs);
        receiver.receive(&portion.left, &portion.right, &portion.distances)
    })
}

/// Calls `on_pairs` with all pairs of different fingerprints of a set within `distance` bits of each other, each pair
/// once, the lower fingerprint on the left, some thousands at a time. `work` may be null.
///
/// Ownership: the arrays that `on_pairs` gets are the library's, until it returns. Within it, other calls with the set
/// are allowed.
///
/// Threads: any; it uses several. `on_pairs` is called by this thread.
///
/// Errors: `HAMDEX_STOPPED` if a callback stopped it, `HAMDEX_DAMAGED`, `HAMDEX_MEMORY`, `HAMDEX_SYSTEM`,
/// `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_pairs(
    set: *const hamdex_set,
    distance: u32,
    work: *const hamdex_work,
    on_pairs: hamdex_on_pairs,
    context: *mut c_void,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let set = get(caller, set)?;
        let receiver = caller.pairs_receiver(on_pairs, context)?;
        let work = Work::of(caller, work)?;
        for_width!(set.description().width, F => find::<F>(&set, distance, &work, &receiver))
    })
}
