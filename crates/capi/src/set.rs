//! Open sets.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use hamdex::OpenOptions;
use hamdex_any::{AnySet, Kind as Container};

use crate::edge::{Caller, Shell, Versioned, hamdex_error, kind};
use crate::options::{
    HAMDEX_IN_MEMORY, HAMDEX_LARGER_THAN_MEMORY, HAMDEX_MAP_KEYS, Work, check_flags, hamdex_work,
};
use crate::status::{Failure, hamdex_status};

/// An open set: an index file, a set of shards, or a store as it was at one moment. Any number of threads may use it at
/// once. It never changes.
#[derive(Default)]
pub struct hamdex_set {
    _opaque: u64,
}

/// The set is an index file.
pub const HAMDEX_FILE: u32 = 1;
/// The set is the directory of a store, as it was at one moment.
pub const HAMDEX_STORE: u32 = 2;
/// The set is the directory of a set of shards.
pub const HAMDEX_SHARDS: u32 = 3;

/// The properties of a set. Its texts are those of the set, and gone when that is closed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hamdex_description {
    /// `sizeof(hamdex_description)`, set by the caller.
    pub size: usize,
    /// `HAMDEX_FILE`, `HAMDEX_STORE`, `HAMDEX_SHARDS`, or another number in later versions.
    pub kind: u32,
    /// The width of the fingerprints, in bits: eight times their bytes.
    pub width: u32,
    /// The greatest distance, in bits, for which the set is made. Queries beyond it are as exact, and take longer.
    pub distance: u32,
    /// Whether `fingerprints` is exact. It is not if a fingerprint may be in several files.
    pub is_counted: bool,
    /// Whether fingerprints have ids.
    pub has_ids: bool,
    /// Whether ids have names.
    pub has_names: bool,
    /// Zero.
    pub reserved: u8,
    /// The number of fingerprints; at most, unless `is_counted`.
    pub fingerprints: u64,
    /// The name of the design, in UTF-8; null if parts of the set may differ in it.
    pub design: *const c_char,
    /// Its length, in bytes.
    pub design_length: u64,
    /// The name of the codec, in UTF-8; null if parts of the set may differ in it.
    pub codec: *const c_char,
    /// Its length, in bytes.
    pub codec_length: u64,
}

// SAFETY: numbers and pointers, all of which may be zero.
unsafe impl Versioned for hamdex_description {
    const LEAST_SIZE: usize = size_of::<Self>();
}

kind!(Arc<AnySet>, hamdex_set, "set", b"hamdex S");

/// The set behind a handle, for one call.
///
/// # Errors
/// If it is not a set, or closed.
pub(crate) fn get(caller: &Caller, set: *const hamdex_set) -> Result<Arc<AnySet>, Failure> {
    let shell = caller.shell::<Arc<AnySet>>(set)?;
    shell.content().clone().ok_or_else(Shell::<Arc<AnySet>>::closed)
}

/// Gives a set to the caller.
pub(crate) fn give(set: AnySet) -> *mut hamdex_set {
    Shell::new(Arc::new(set)).as_c()
}

/// The text that C reads; null for none.
fn text_of(text: Option<&str>) -> (*const c_char, u64) {
    text.map_or((ptr::null(), 0), |text| (text.as_ptr().cast(), text.len() as u64))
}

fn describe(set: &AnySet) -> hamdex_description {
    let description = set.description();
    let (design, design_length) = text_of(description.design.as_deref());
    let (codec, codec_length) = text_of(description.codec.map(hamdex::Codec::name));
    hamdex_description {
        size: size_of::<hamdex_description>(),
        kind: match set.kind() {
            Container::File => HAMDEX_FILE,
            Container::Store => HAMDEX_STORE,
            Container::Shards => HAMDEX_SHARDS,
            _ => u32::MAX,
        },
        width: description.width,
        distance: description.distance,
        is_counted: description.is_counted,
        has_ids: description.has_ids,
        has_names: description.has_names,
        reserved: 0,
        fingerprints: description.fingerprints,
        design,
        design_length,
        codec,
        codec_length,
    }
}

/// Opens whatever a path names: an index file, a set of shards, or a store as it is now, of fingerprints of any width.
/// `flags` are 0, or of `HAMDEX_IN_MEMORY`, `HAMDEX_LARGER_THAN_MEMORY` and `HAMDEX_MAP_KEYS`.
///
/// Files are mapped: they must not be changed in place while the set is open. hamdex never does that.
///
/// Ownership: `*set` is the caller's, who closes it with `hamdex_set_close`; it is null after a failure.
///
/// Threads: any.
///
/// Errors: `HAMDEX_SYSTEM` if there is no such file, `HAMDEX_FORMAT` if it is not a file of hamdex, `HAMDEX_DAMAGED`,
/// `HAMDEX_USAGE` for unknown flags, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_open(
    path: *const c_char,
    path_length: usize,
    flags: u32,
    set: *mut *mut hamdex_set,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let mut place = caller.out("the place for the set", set)?;
        place.write(ptr::null_mut());
        check_flags(flags, HAMDEX_IN_MEMORY | HAMDEX_LARGER_THAN_MEMORY | HAMDEX_MAP_KEYS)?;
        let options = OpenOptions::new()
            .in_memory(flags & HAMDEX_IN_MEMORY != 0)
            .larger_than_memory(flags & HAMDEX_LARGER_THAN_MEMORY != 0)
            .map_keys(flags & HAMDEX_MAP_KEYS != 0);
        place.write(give(hamdex_any::open_with(caller.path(path, path_length)?, &options)?));
        Ok(())
    })
}

/// Closes a set. Null is allowed. Searchers of the set stay open, and keep its files.
///
/// Threads: any. Calls of other threads that use the set meanwhile end normally.
///
/// Errors: `HAMDEX_MISUSE` if it is not a set, or was closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_close(set: *mut hamdex_set) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(ptr::null_mut()) }.run(|caller| caller.close::<Arc<AnySet>>(set).map(drop))
}

/// Fills in the properties of a set. The caller sets `description->size` before.
///
/// Ownership: the texts are those of the set, until it is closed.
///
/// Threads: any.
///
/// Errors: `HAMDEX_USAGE` for a wrong size, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_describe(
    set: *const hamdex_set,
    description: *mut hamdex_description,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }
        .run(|caller| caller.fill("the description", description, &describe(&*get(caller, set)?)))
}

/// Finds a value in the metadata of a set, such as "hamdex.recipe", which says how fingerprints were made of texts.
/// `*value` is null if no entry has that name.
///
/// Ownership: the value is that of the set, until it is closed.
///
/// Threads: any.
///
/// Errors: `HAMDEX_USAGE` if the name is not UTF-8, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_metadata(
    set: *const hamdex_set,
    name: *const c_char,
    name_length: usize,
    value: *mut *const u8,
    value_length: *mut u64,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let set = get(caller, set)?;
        let mut place = caller.out("the place for the value", value)?;
        let mut length = caller.out("the place for its length", value_length)?;
        let found = set.description().metadata.get(caller.text("the name", name, name_length)?);
        place.write(found.map_or(ptr::null(), Vec::as_ptr));
        length.write(found.map_or(0, |value| value.len() as u64));
        Ok(())
    })
}

/// Reads a whole set and checks everything. `work` may be null.
///
/// Threads: any; it uses several.
///
/// Errors: `HAMDEX_DAMAGED` with the first damage, `HAMDEX_STOPPED`, `HAMDEX_SYSTEM`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_verify(
    set: *const hamdex_set,
    work: *const hamdex_work,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let set = get(caller, set)?;
        set.verify(&Work::of(caller, work)?.verify())?;
        Ok(())
    })
}
