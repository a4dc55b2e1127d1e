//! Fingerprints with ids or names, and shingles, as C gives them.

use std::ffi::c_char;
use std::mem::offset_of;

use crate::edge::{Caller, Versioned};
use crate::options::check_zero;
use crate::status::Failure;
use hamdex::Fingerprint;
use hamdex_any::AnyFingerprint;

/// Fingerprints, an id or a name of each, and perhaps its shingles. The arrays are the caller's, and are read during the call only.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hamdex_records {
    /// `sizeof(hamdex_records)`.
    pub size: usize,
    /// The number of fingerprints.
    pub count: u64,
    /// The fingerprints, one behind the other, of `fingerprint_bytes` bytes each, the most significant first.
    pub fingerprints: *const u8,
    /// The bytes of a fingerprint: 8 or 16.
    pub fingerprint_bytes: u32,
    /// Zero.
    pub reserved: u32,
    /// An id of each fingerprint; null if they have none, or have names.
    pub ids: *const u64,
    /// The names, one behind the other; null if there are none.
    pub names: *const c_char,
    /// Where each name begins in `names`, followed by the end of the last one: `count` + 1 numbers that begin with 0;
    /// null if there are no names.
    pub name_starts: *const u64,
    /// The shingles of the documents, one set behind the other; null if there are none. Those of a document are hashes of
    /// 48 bits, ascending, each once.
    pub shingles: *const u64,
    /// Where the shingles of each document begin in `shingles`, followed by the end of the last ones: `count` + 1 numbers
    /// that begin with 0; null if the documents have no shingles. For a set that keeps shingles.
    pub shingle_starts: *const u64,
}

// SAFETY: numbers and pointers, all of which may be zero.
#[expect(unsafe_code, reason = "a promise about the structure")]
unsafe impl Versioned for hamdex_records {
    const LEAST_SIZE: usize = offset_of!(Self, shingles);
}

/// The labels of fingerprints.
pub(crate) enum Labels<'c> {
    None,
    Ids(&'c [u64]),
    Names(Vec<&'c [u8]>),
}

/// Records, checked.
pub(crate) struct Records<'c> {
    fingerprints: &'c [u8],
    pub(crate) fingerprint_bytes: usize,
    pub(crate) labels: Labels<'c>,
    pub(crate) shingles: Option<Vec<&'c [u64]>>,
}

impl<'c> Records<'c> {
    pub(crate) fn of(caller: &'c Caller, given: *const hamdex_records) -> Result<Self, Failure> {
        let given: hamdex_records = caller.structure("the structure of records", given)?;
        check_zero("reserved", given.reserved)?;
        let fingerprint_bytes = given.fingerprint_bytes as usize;
        if !matches!(fingerprint_bytes, 8 | 16) {
            return Err(Failure::input(format!("fingerprints have 8 or 16 bytes, not {fingerprint_bytes}")));
        }
        if given.name_starts.is_null() && !given.names.is_null() {
            return Err(Failure::usage("the records have names, and not where these begin"));
        }
        if given.shingle_starts.is_null() && !given.shingles.is_null() {
            return Err(Failure::usage("the records have shingles, and not where these begin"));
        }
        let labels = match (given.ids.is_null(), given.name_starts.is_null()) {
            (false, false) => return Err(Failure::usage("records have ids or names, not both")),
            (false, true) => Labels::Ids(caller.array("the array of ids", given.ids, given.count)?),
            (true, false) => Labels::Names(names(caller, given.names, given.name_starts, given.count)?),
            (true, true) => Labels::None,
        };
        let fingerprints = fingerprints(caller, given.fingerprints, given.count, fingerprint_bytes)?;
        let with_shingles = !given.shingle_starts.is_null();
        let shingles = with_shingles
            .then(|| sets(caller, given.shingles, given.shingle_starts, given.count))
            .transpose()?;
        Ok(Self { fingerprints, fingerprint_bytes, labels, shingles })
    }

    /// The fingerprints.
    ///
    /// # Errors
    /// If they have another width.
    pub(crate) fn fingerprints<F: Fingerprint>(&self) -> Result<Vec<F>, Failure> {
        check_length(self.fingerprint_bytes, F::BYTES)?;
        numbers(self.fingerprints)
    }
}

/// The bytes of fingerprints.
pub(crate) fn fingerprints(
    caller: &Caller,
    pointer: *const u8,
    count: u64,
    fingerprint_bytes: usize,
) -> Result<&[u8], Failure> {
    let bytes = count.checked_mul(fingerprint_bytes as u64);
    let bytes = bytes.ok_or_else(|| Failure::misuse("the fingerprints: no array is that long"))?;
    caller.array("the array of fingerprints", pointer, bytes)
}

/// Fingerprints of their bytes.
pub(crate) fn numbers<F: Fingerprint>(bytes: &[u8]) -> Result<Vec<F>, Failure> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(bytes.len() / F::BYTES)?;
    for one in bytes.chunks_exact(F::BYTES) {
        numbers.push(from_bytes(one)?);
    }
    Ok(numbers)
}

/// Names, from where they begin.
pub(crate) fn names(
    caller: &Caller,
    names: *const c_char,
    starts: *const u64,
    count: u64,
) -> Result<Vec<&[u8]>, Failure> {
    pieces(caller, ("names", "the text of the names"), names.cast(), starts, count)
}

/// Sets of shingles, from where they begin.
fn sets(
    caller: &Caller,
    shingles: *const u64,
    starts: *const u64,
    count: u64,
) -> Result<Vec<&[u64]>, Failure> {
    pieces(caller, ("shingles", "the array of shingles"), shingles, starts, count)
}

/// `count` pieces of an array, from where they begin.
fn pieces<'c, T: Copy>(
    caller: &'c Caller,
    (what, array): (&str, &str),
    pointer: *const T,
    starts: *const u64,
    count: u64,
) -> Result<Vec<&'c [T]>, Failure> {
    let starts =
        caller.array(&format!("the array of where {what} begin"), starts, count.saturating_add(1))?;
    if starts[0] != 0 || !starts.is_sorted() {
        return Err(Failure::usage(format!("where {what} begin: the numbers do not ascend from 0")));
    }
    let all = caller.array(array, pointer, starts[starts.len() - 1])?;
    // They fit: the last is the length of the array.
    Ok(starts.windows(2).map(|ends| &all[ends[0] as usize..ends[1] as usize]).collect())
}

/// The most bytes that a fingerprint of any width has.
pub(crate) const MAX_BYTES: usize = 32;

/// The fingerprint that these bytes say.
///
/// # Errors
/// If they are not as many as fingerprints of the set have.
pub(crate) fn from_bytes<F: Fingerprint>(bytes: &[u8]) -> Result<F, Failure> {
    check_length(bytes.len(), F::BYTES)?;
    Ok(bytes.iter().fold(F::ZERO, |value, &byte| value << 8 | F::truncate(byte.into())))
}

/// As [`from_bytes`], of whichever width.
pub(crate) fn any_from_bytes(bytes: &[u8], expected: usize) -> Result<AnyFingerprint, Failure> {
    check_length(bytes.len(), expected)?;
    Ok(match bytes.try_into() {
        Ok(bytes) => AnyFingerprint::from(u64::from_be_bytes(bytes)),
        Err(_) => AnyFingerprint::of(from_bytes::<u128>(bytes)?),
    })
}

/// The bytes of a fingerprint of any width: the last of these, as many as the width has.
pub(crate) fn to_bytes(fingerprint: AnyFingerprint) -> [u8; MAX_BYTES] {
    let mut bytes = [0; MAX_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(fingerprint.words()) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// Refuses fingerprints of another width.
pub(crate) fn check_length(given: usize, expected: usize) -> Result<(), Failure> {
    if given == expected {
        return Ok(());
    }
    Err(Failure::input(format!(
        "fingerprints of {given} bytes were given, and those of the set have {expected}"
    )))
}
