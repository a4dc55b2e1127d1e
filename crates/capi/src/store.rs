//! Stores that are open for writing.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use ::hamdex_store::for_any_store;
use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr;
use std::sync::Arc;

use ::hamdex_store::inspect::StoreStats;
use ::hamdex_store::{AnyStore, CreateOptions, StoreOptions};
use hamdex::FingerprintSet;
use hamdex::set::Description;
use hamdex_any::{AnySet, Kind as Container};

use crate::build::{codec_of, distance_of, filter_of};
use crate::edge::{Caller, Shell, Versioned, hamdex_error, kind};
use crate::options::{HAMDEX_IN_MEMORY, Work, check_flags, check_zero, hamdex_work};
use crate::set::{self, hamdex_set};
use crate::status::{Failure, hamdex_status};

/// A store that is open for writing: a durable set that grows and shrinks. Any number of threads may use it at once;
/// one process at a time has it open. After a fork, the child must open it again.
#[derive(Default)]
pub struct hamdex_store {
    _opaque: u64,
}

/// Do not merge files in the background: for `hamdex_store_options`, as well as `HAMDEX_IN_MEMORY`.
pub const HAMDEX_NO_MERGES: u32 = 2;

/// Fingerprints have ids, which the caller gives: for `hamdex_create_options`.
pub const HAMDEX_WITH_IDS: u32 = 1;
/// Fingerprints have names; the store gives each an id: for `hamdex_create_options`.
pub const HAMDEX_WITH_NAMES: u32 = 2;
/// Ids, and names, lead to their fingerprints without a pass over the store, so that records can be replaced: for
/// `hamdex_create_options`, with `HAMDEX_WITH_IDS` or `HAMDEX_WITH_NAMES`.
pub const HAMDEX_WITH_LOOKUPS: u32 = 4;

/// Options of an open store. All zero but `size` are the defaults, as is a null pointer to them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hamdex_store_options {
    /// `sizeof(hamdex_store_options)`.
    pub size: usize,
    /// The memory for recent writes, in bytes: at most 8 GiB, and more counts as that; 0 for the default.
    pub memory: u64,
    /// The most threads of a flush or merge; 0 for one per processor.
    pub threads: u32,
    /// `HAMDEX_IN_MEMORY`, `HAMDEX_NO_MERGES`, both, or 0.
    pub flags: u32,
    /// When a write is durable: "sync", when it returns, which is the default; "interval=100ms", at the latest after
    /// that time; "none", when it is flushed. Null for the default.
    pub durability: *const c_char,
    /// Its length, in bytes.
    pub durability_length: usize,
}

// SAFETY: numbers and pointers, all of which may be zero.
unsafe impl Versioned for hamdex_store_options {
    const LEAST_SIZE: usize = size_of::<Self>();
}

/// Options of a new store, which are fixed from then on. All zero but `size` are the defaults, as is a null pointer to
/// them: 64 bits, no ids.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hamdex_create_options {
    /// `sizeof(hamdex_create_options)`.
    pub size: usize,
    /// The width of fingerprints, in bits: 64 or 128; 0 for 64.
    pub width: u32,
    /// The distance of most queries, in bits; 0 for the default, 3. Any other is answered exactly, too.
    pub distance: u32,
    /// `HAMDEX_WITH_IDS` or `HAMDEX_WITH_NAMES`, either with `HAMDEX_WITH_LOOKUPS`; or 0.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// The name of a design; null for the default.
    pub design: *const c_char,
    /// Its length, in bytes.
    pub design_length: usize,
    /// The name of a codec: "huffman" or "elias-fano"; null for the default.
    pub codec: *const c_char,
    /// Its length, in bytes.
    pub codec_length: usize,
    /// The filters, which spare queries blocks: "auto", where they pay; "none"; or the most bits per fingerprint, "1"
    /// to "64"; null for the default, "auto".
    pub filter: *const c_char,
    /// Its length, in bytes.
    pub filter_length: usize,
    /// How the shingles of documents are made, in words of the caller's own; null for a store without shingles. With
    /// shingles there are names, whether or not `HAMDEX_WITH_NAMES` is set. Sets are compared only if they say the same;
    /// it is the metadata "hamdex.shingles".
    pub shingles: *const c_char,
    /// Its length, in bytes.
    pub shingles_length: usize,
}

// SAFETY: numbers and pointers, all of which may be zero.
unsafe impl Versioned for hamdex_create_options {
    const LEAST_SIZE: usize = offset_of!(Self, filter);
}

/// Counts and costs of a store.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hamdex_store_stats {
    /// `sizeof(hamdex_store_stats)`, set by the caller.
    pub size: usize,
    /// Fingerprints: an upper bound, exact if `is_exact`.
    pub fingerprints: u64,
    /// Pairs of fingerprint and id: an upper bound, exact if `is_exact`. 0 in a store without ids.
    pub ids: u64,
    /// Files of the store with fingerprints.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pairs in memory, which the log holds as well.
    pub recent: u64,
    /// Their bytes.
    pub recent_bytes: u64,
    /// Removed pairs that files still hold.
    pub removed: u64,
    /// The number of the last batch of writes.
    pub sequence: u64,
    /// Bytes written per byte that was added; 0 before the first flush.
    pub write_amplification: f64,
    /// Whether `fingerprints` and `ids` are exact.
    pub is_exact: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

// SAFETY: numbers, all of which may be zero.
unsafe impl Versioned for hamdex_store_stats {
    const LEAST_SIZE: usize = size_of::<Self>();
}

/// A store, and its properties as it was opened: a snapshot of that time would keep files that have been merged.
pub(crate) struct Open {
    pub(crate) store: AnyStore,
    pub(crate) description: Description,
}

kind!(Arc<Open>, hamdex_store, "store", b"hamdex W");

/// The store behind a handle, for one call.
///
/// # Errors
/// If it is not a store, or closed.
pub(crate) fn get(caller: &Caller, store: *const hamdex_store) -> Result<Arc<Open>, Failure> {
    let shell = caller.shell::<Arc<Open>>(store)?;
    shell.content().clone().ok_or_else(Shell::<Arc<Open>>::closed)
}

fn give(store: AnyStore) -> *mut hamdex_store {
    let description = for_any_store!(&store, store => store.snapshot().describe());
    Shell::new(Arc::new(Open { store, description })).as_c()
}

/// The most threads that a build takes, and so a flush or merge.
const MAX_THREADS: u32 = 1024;

fn options_of(caller: &Caller, given: *const hamdex_store_options) -> Result<StoreOptions, Failure> {
    let given = caller.options("the structure of options of the store", given)?;
    check_flags(given.flags, HAMDEX_IN_MEMORY | HAMDEX_NO_MERGES)?;
    if given.threads > MAX_THREADS {
        // The store would refuse it when it first flushes.
        let threads = given.threads;
        return Err(Failure::usage(format!(
            "the number of threads cannot be {threads}: at most {MAX_THREADS}"
        )));
    }
    let mut options = StoreOptions::new()
        .threads(given.threads as usize)
        .in_memory(given.flags & HAMDEX_IN_MEMORY != 0)
        .merges(given.flags & HAMDEX_NO_MERGES == 0);
    if given.memory > 0 {
        options = options.memory(given.memory);
    }
    if let Some(text) = caller.text_if("the durability", given.durability, given.durability_length)? {
        let refuse = |error: hamdex::ParseOptionError| Failure::usage(error.to_string());
        options = options.durability(text.parse().map_err(refuse)?);
    }
    Ok(options)
}

fn create(
    caller: &Caller,
    path: &std::path::Path,
    given: *const hamdex_create_options,
    options: StoreOptions,
) -> Result<AnyStore, Failure> {
    let given = caller.options("the structure of options of the new store", given)?;
    check_flags(given.flags, HAMDEX_WITH_IDS | HAMDEX_WITH_NAMES | HAMDEX_WITH_LOOKUPS)?;
    check_zero("reserved", given.reserved)?;
    let shingles = caller.text_if("the definition of shingles", given.shingles, given.shingles_length)?;
    if given.flags == HAMDEX_WITH_LOOKUPS && shingles.is_none() {
        return Err(Failure::usage("look-ups need HAMDEX_WITH_IDS or HAMDEX_WITH_NAMES"));
    }
    let mut create = CreateOptions::new()
        .distance(distance_of(given.distance))
        .ids(given.flags & HAMDEX_WITH_IDS != 0)
        .names(given.flags & HAMDEX_WITH_NAMES != 0)
        .lookups(given.flags & HAMDEX_WITH_LOOKUPS != 0);
    // Names imply ids, even if HAMDEX_WITH_IDS is not set; and shingles imply names.
    if let Some(definition) = shingles {
        create = create.shingles(definition);
    }
    if let Some(name) = caller.text_if("the design", given.design, given.design_length)? {
        create = create.design(name);
    }
    if let Some(codec) = codec_of(caller, given.codec, given.codec_length)? {
        create = create.codec(codec);
    }
    if let Some(filter) = filter_of(caller, given.filter, given.filter_length)? {
        create = create.filter(filter);
    }
    let width = if given.width == 0 { 64 } else { given.width };
    Ok(AnyStore::create(path, width, &create, options)?)
}

/// Creates a store in a directory that does not exist yet or is empty. `create_options` and `options` may be null.
///
/// Ownership: `*store` is the caller's, who closes it with `hamdex_store_close`; it is null after a failure.
///
/// Threads: any. The store starts threads of its own.
///
/// Errors: `HAMDEX_EXISTS` if it is not empty, or no directory, `HAMDEX_UNAVAILABLE` if it is a store in use,
/// `HAMDEX_USAGE`, `HAMDEX_INPUT` for another width, `HAMDEX_SYSTEM`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_create(
    path: *const c_char,
    path_length: usize,
    create_options: *const hamdex_create_options,
    options: *const hamdex_store_options,
    store: *mut *mut hamdex_store,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the store", store)?;
        place.write(ptr::null_mut());
        let path = caller.path(path, path_length)?;
        place.write(give(create(caller, path, create_options, options_of(caller, options)?)?));
        Ok(())
    })
}

/// Opens a store for writing, of fingerprints of any width. After a crash, it has every write that was acknowledged as
/// durable. `options` may be null. To read a store that another process has open, use `hamdex_open`.
///
/// Ownership: `*store` is the caller's, who closes it with `hamdex_store_close`; it is null after a failure.
///
/// Threads: any. The store starts threads of its own.
///
/// Errors: `HAMDEX_SYSTEM` if there is no such directory, `HAMDEX_FORMAT` if it is not a store, `HAMDEX_UNAVAILABLE` if it
/// is in use, `HAMDEX_DAMAGED`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_open(
    path: *const c_char,
    path_length: usize,
    options: *const hamdex_store_options,
    store: *mut *mut hamdex_store,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the store", store)?;
        place.write(ptr::null_mut());
        let path = caller.path(path, path_length)?;
        let options = options_of(caller, options)?;
        // A missing store is not a directory of another kind.
        path.metadata().map_err(|error| Failure::system(path, &error))?;
        place.write(give(AnyStore::open(path, options)?));
        Ok(())
    })
}

/// Makes all writes durable, and closes a store, even if that fails. Null is allowed. Running flushes and merges are
/// cancelled, since the log has everything. Sets of `hamdex_store_snapshot` stay open.
///
/// Threads: any. Writes of other threads that have begun are completed; later ones fail with `HAMDEX_UNAVAILABLE` or
/// `HAMDEX_MISUSE`.
///
/// Errors: `HAMDEX_SYSTEM` if the disk refuses something; `HAMDEX_UNAVAILABLE` after a fork; `HAMDEX_MISUSE` for what
/// is not a store, or is closed already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_close(
    store: *mut hamdex_store,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| match caller.close::<Arc<Open>>(store)? {
        None => Ok(()),
        Some(open) => Ok(for_any_store!(&open.store, store => store.shutdown())?),
    })
}

/// Opens the set as it is now: its queries see no later writes. It costs next to nothing; files that have been merged
/// meanwhile are kept until it is closed.
///
/// Ownership: `*set` is the caller's, who closes it with `hamdex_set_close`, before or after the store.
///
/// Threads: any.
///
/// Errors: `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_snapshot(
    store: *const hamdex_store,
    set: *mut *mut hamdex_set,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the set", set)?;
        place.write(ptr::null_mut());
        let open = get(caller, store)?;
        let snapshot =
            for_any_store!(&open.store, store => AnySet::new(Container::Store, Arc::new(store.snapshot())));
        place.write(set::give(snapshot));
        Ok(())
    })
}

/// Makes all writes durable that have returned, whatever the durability of the store is.
///
/// Threads: any.
///
/// Errors: `HAMDEX_SYSTEM` if the disk refuses it, `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_sync(
    store: *const hamdex_store,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }
        .run(|caller| Ok(for_any_store!(&get(caller, store)?.store, store => store.sync())?))
}

/// Writes everything in memory to a file. Nothing is lost if it fails.
///
/// Threads: any.
///
/// Errors: `HAMDEX_SYSTEM` if the disk refuses it, `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_flush(
    store: *const hamdex_store,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }
        .run(|caller| Ok(for_any_store!(&get(caller, store)?.store, store => store.flush())?))
}

/// Merges everything that was written before this call into one file, without removed pairs. Of `work`, which may be
/// null, it knows the callback only: memory and threads are those of the store.
///
/// Threads: any. Queries and writes go on meanwhile.
///
/// Errors: `HAMDEX_STOPPED`, after which merges that have ended stay; `HAMDEX_SYSTEM`, `HAMDEX_DAMAGED`,
/// `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_compact(
    store: *const hamdex_store,
    work: *const hamdex_work,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let open = get(caller, store)?;
        let report = Work::of(caller, work)?.report();
        Ok(for_any_store!(&open.store, store => store.compact_with(&report))?)
    })
}

fn stats_of(stats: &StoreStats) -> hamdex_store_stats {
    hamdex_store_stats {
        size: size_of::<hamdex_store_stats>(),
        fingerprints: stats.fingerprints,
        ids: stats.ids,
        segments: stats.segments.len() as u64,
        bytes: stats.bytes,
        recent: stats.recent,
        recent_bytes: stats.recent_bytes,
        removed: stats.removed,
        sequence: stats.sequence,
        write_amplification: stats.write_amplification,
        is_exact: stats.is_exact,
        reserved: [0; 7],
    }
}

/// Fills in counts and costs of a store. The caller sets `stats->size` before. It reads no file and waits for no lock.
///
/// Threads: any.
///
/// Errors: `HAMDEX_USAGE` for a wrong size, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_store_get_stats(
    store: *const hamdex_store,
    stats: *mut hamdex_store_stats,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let of_store = for_any_store!(&get(caller, store)?.store, store => store.stats());
        caller.fill("the structure of statistics", stats, &stats_of(&of_store))
    })
}
