//! The habits of a careful program in C: every call with an error, and everything closed.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::{ptr, slice};

use hamdex::Fingerprint;

use crate::batch::{hamdex_set_batch, hamdex_set_pairs};
use crate::build::{hamdex_build, hamdex_build_options};
use crate::edge::{Versioned, hamdex_error};
use crate::hamdex_error_free;
use crate::matches::{hamdex_matches, hamdex_matches_free};
use crate::records::hamdex_records;
use crate::search::{
    hamdex_searcher, hamdex_searcher_close, hamdex_searcher_first, hamdex_searcher_nearest,
    hamdex_searcher_open, hamdex_searcher_query,
};
use crate::set::{hamdex_open, hamdex_set, hamdex_set_close};
use crate::status::{HAMDEX_OK, hamdex_status};

/// The failure of a call: its status, message and number of the operating system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failed {
    pub(super) status: hamdex_status,
    pub(super) message: String,
    pub(super) os_code: i32,
}

/// Makes a call with an error, and takes what it says.
pub(super) fn call(call: impl FnOnce(*mut *mut hamdex_error) -> hamdex_status) -> Result<(), Failed> {
    let mut error: *mut hamdex_error = ptr::without_provenance_mut(8);
    let status = call(&raw mut error);
    if status == HAMDEX_OK {
        assert!(error.is_null(), "a success writes null");
        return Ok(());
    }
    // SAFETY: the library has written it.
    let told = unsafe { &*error };
    assert_eq!(told.status, status);
    // SAFETY: as above, and a zero byte stands behind the message.
    let message =
        unsafe { slice::from_raw_parts(told.message.cast::<u8>(), told.message_length as usize + 1) };
    assert_eq!(message.last(), Some(&0));
    let message = std::str::from_utf8(&message[..message.len() - 1]).unwrap().to_owned();
    let failed = Failed { status, message, os_code: told.os_code };
    // SAFETY: it is freed once.
    assert_eq!(unsafe { hamdex_error_free(error) }, HAMDEX_OK);
    Err(failed)
}

/// A structure that says its size, and is zero otherwise.
pub(super) fn sized<T: Versioned>() -> T {
    let mut structure = MaybeUninit::<T>::zeroed();
    // SAFETY: it begins with its size, and may be zero.
    unsafe {
        structure.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        structure.assume_init()
    }
}

/// A path as C gives it.
pub(super) fn path_of(path: &Path) -> (*const c_char, usize) {
    let text = path.to_str().unwrap();
    (text.as_ptr().cast(), text.len())
}

/// Fingerprints as bytes.
pub(super) fn bytes_of<F: Fingerprint>(fingerprints: &[F]) -> Vec<u8> {
    fingerprints
        .iter()
        .flat_map(|fingerprint| fingerprint.to_u128().to_be_bytes()[16 - F::BYTES..].to_vec())
        .collect()
}

/// Fingerprints of bytes.
pub(super) fn numbers_of<F: Fingerprint>(bytes: &[u8]) -> Vec<F> {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
    bytes.chunks_exact(F::BYTES).map(|bytes| F::truncate(number(bytes))).collect()
}

/// Records, and the memory that they are in.
pub(super) struct Given {
    fingerprints: Vec<u8>,
    fingerprint_bytes: u32,
    ids: Option<Vec<u64>>,
    names: Option<(Vec<u8>, Vec<u64>)>,
    shingles: Option<(Vec<u64>, Vec<u64>)>,
}

impl Given {
    pub(super) fn new<F: Fingerprint>(fingerprints: &[F]) -> Self {
        let fingerprint_bytes = F::BYTES as u32;
        let fingerprints = bytes_of(fingerprints);
        Self { fingerprints, fingerprint_bytes, ids: None, names: None, shingles: None }
    }

    pub(super) fn ids(self, ids: &[u64]) -> Self {
        Self { ids: Some(ids.to_vec()), ..self }
    }

    pub(super) fn names(self, names: &[&str]) -> Self {
        let mut starts = vec![0];
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend_from_slice(name.as_bytes());
            starts.push(bytes.len() as u64);
        }
        Self { names: Some((bytes, starts)), ..self }
    }

    pub(super) fn shingles(self, sets: &[Vec<u64>]) -> Self {
        let starts = (0..=sets.len()).map(|end| sets[..end].iter().map(Vec::len).sum::<usize>() as u64);
        Self { shingles: Some((sets.concat(), starts.collect())), ..self }
    }

    pub(super) fn records(&self) -> hamdex_records {
        hamdex_records {
            count: (self.fingerprints.len() / self.fingerprint_bytes as usize) as u64,
            fingerprints: self.fingerprints.as_ptr(),
            fingerprint_bytes: self.fingerprint_bytes,
            ids: self.ids.as_ref().map_or(ptr::null(), Vec::as_ptr),
            names: self.names.as_ref().map_or(ptr::null(), |names| names.0.as_ptr().cast()),
            name_starts: self.names.as_ref().map_or(ptr::null(), |names| names.1.as_ptr()),
            shingles: self.shingles.as_ref().map_or(ptr::null(), |sets| sets.0.as_ptr()),
            shingle_starts: self.shingles.as_ref().map_or(ptr::null(), |sets| sets.1.as_ptr()),
            ..sized()
        }
    }
}

/// A match, its ids and their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<F> {
    pub(super) fingerprint: F,
    pub(super) distance: u32,
    pub(super) ids: Vec<u64>,
    pub(super) names: Vec<String>,
}

/// An array of the library.
///
/// # Safety
/// It is null, or has as many elements and lives on.
pub(super) unsafe fn array<'a, T>(pointer: *const T, count: u64) -> &'a [T] {
    // SAFETY: as above.
    if pointer.is_null() { &[] } else { unsafe { slice::from_raw_parts(pointer, count as usize) } }
}

/// The number of all ids of each match.
///
/// # Safety
/// The matches are those of the library, and are not freed yet.
pub(super) unsafe fn id_counts(matches: &hamdex_matches) -> &[u64] {
    // SAFETY: as above.
    unsafe { array(matches.id_counts, matches.count) }
}

/// Reads matches: a list for each query.
pub(super) fn read<F: Fingerprint>(matches: *const hamdex_matches) -> Vec<Vec<Found<F>>> {
    // SAFETY: they are not freed yet, and their arrays are as long as the header says.
    unsafe {
        let matches = &*matches;
        assert_eq!(matches.fingerprint_bytes as usize, F::BYTES);
        let fingerprints = numbers_of::<F>(array(matches.fingerprints, matches.count * F::BYTES as u64));
        let distances = array(matches.distances, matches.count);
        let id_starts = array(matches.id_starts, matches.count + 1);
        let ids = array(matches.ids, matches.ids_count);
        let listed = id_starts.windows(2).map(|ends| ends[1] - ends[0]);
        assert!(listed.zip(id_counts(matches)).all(|(listed, &all)| listed <= all));
        assert_eq!(array(matches.parts, matches.ids_count).len(), ids.len());
        let name_starts = array(matches.name_starts, matches.ids_count + 1);
        let names = array(matches.names.cast::<u8>(), name_starts.last().copied().unwrap_or(0));
        let ids_of = |place: usize| match id_starts {
            [] => 0..0,
            starts => starts[place] as usize..starts[place + 1] as usize,
        };
        let name = |id: usize| {
            let bytes = &names[name_starts[id] as usize..name_starts[id + 1] as usize];
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        let found = |place: usize| Found {
            fingerprint: fingerprints[place],
            distance: distances[place],
            ids: ids[ids_of(place)].to_vec(),
            names: if name_starts.is_empty() { Vec::new() } else { ids_of(place).map(name).collect() },
        };
        let starts = array(matches.query_starts, matches.queries + 1);
        starts.windows(2).map(|ends| (ends[0] as usize..ends[1] as usize).map(found).collect()).collect()
    }
}

pub(super) fn build(path: &Path, given: &Given, options: &hamdex_build_options) -> Result<(), Failed> {
    let (path, length) = path_of(path);
    // SAFETY: all pointers are to what lives on.
    call(|error| unsafe { hamdex_build(path, length, &given.records(), options, ptr::null(), error) })
}

/// An open set.
pub(super) struct Set(pub(super) *mut hamdex_set);

impl Set {
    pub(super) fn open(path: &Path) -> Result<Self, Failed> {
        Self::open_with(path, 0)
    }

    pub(super) fn open_with(path: &Path, flags: u32) -> Result<Self, Failed> {
        let mut set = ptr::null_mut();
        let (path, length) = path_of(path);
        // SAFETY: all pointers are to what lives on.
        call(|error| unsafe { hamdex_open(path, length, flags, &raw mut set, error) }).map(|()| Self(set))
    }

    pub(super) fn searcher(&self) -> Searcher {
        let mut searcher = ptr::null_mut();
        // SAFETY: the set is open.
        call(|error| unsafe { hamdex_searcher_open(self.0, &raw mut searcher, error) }).unwrap();
        Searcher(searcher)
    }

    pub(super) fn batch<F: Fingerprint>(
        &self,
        queries: &[F],
        distance: u32,
        limit: u64,
        flags: u32,
    ) -> Result<Vec<Vec<Found<F>>>, Failed> {
        let (bytes, count, mut matches) = (bytes_of(queries), queries.len() as u64, ptr::null());
        // SAFETY: the set is open, and the queries live on.
        call(|error| unsafe {
            let work = ptr::null();
            let (queries, place) = (bytes.as_ptr(), &raw mut matches);
            hamdex_set_batch(self.0, queries, F::BYTES, count, distance, limit, flags, work, place, error)
        })?;
        let found = read(matches);
        // SAFETY: they are freed once.
        assert_eq!(unsafe { hamdex_matches_free(matches) }, HAMDEX_OK);
        Ok(found)
    }

    pub(super) fn pairs<F: Fingerprint>(&self, distance: u32) -> Result<Vec<(F, F, u32)>, Failed> {
        unsafe extern "C" fn collect<F: Fingerprint>(
            context: *mut c_void,
            left: *const u8,
            right: *const u8,
            distances: *const u32,
            count: u64,
        ) -> c_int {
            // SAFETY: the context is the vector below, and the arrays are as long as the header says.
            let (pairs, left, right, distances) = unsafe {
                let bytes = count * F::BYTES as u64;
                let pairs = &mut *context.cast::<Vec<(F, F, u32)>>();
                (pairs, array(left, bytes), array(right, bytes), array(distances, count))
            };
            let both = numbers_of::<F>(left).into_iter().zip(numbers_of::<F>(right));
            pairs.extend(both.zip(distances).map(|((left, right), &distance)| (left, right, distance)));
            0
        }
        let mut pairs: Vec<(F, F, u32)> = Vec::new();
        let context = (&raw mut pairs).cast();
        // SAFETY: the set is open, and the context is what the callback expects.
        call(|error| unsafe {
            hamdex_set_pairs(self.0, distance, ptr::null(), Some(collect::<F>), context, error)
        })?;
        Ok(pairs)
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: it is closed once.
        assert_eq!(unsafe { hamdex_set_close(self.0) }, HAMDEX_OK);
    }
}

/// An open searcher.
pub(super) struct Searcher(pub(super) *mut hamdex_searcher);

impl Searcher {
    pub(super) fn query<F: Fingerprint>(
        &self,
        query: F,
        distance: u32,
        limit: u64,
        flags: u32,
    ) -> Result<Vec<Found<F>>, Failed> {
        let (query, mut matches) = (bytes_of(&[query]), ptr::null());
        // SAFETY: the searcher is open, and the query lives on.
        call(|error| unsafe {
            let (length, place) = (query.len(), &raw mut matches);
            hamdex_searcher_query(self.0, query.as_ptr(), length, distance, limit, flags, place, error)
        })?;
        Ok(read(matches).remove(0))
    }

    pub(super) fn nearest<F: Fingerprint>(&self, query: F, count: u64) -> Vec<Found<F>> {
        let (query, mut matches) = (bytes_of(&[query]), ptr::null());
        // SAFETY: as above.
        call(|error| unsafe {
            let (length, place) = (query.len(), &raw mut matches);
            hamdex_searcher_nearest(self.0, query.as_ptr(), length, count, 0, place, error)
        })
        .unwrap();
        read(matches).remove(0)
    }

    pub(super) fn first<F: Fingerprint>(&self, query: F, distance: u32) -> Result<Option<Found<F>>, Failed> {
        let (query, mut matches) = (bytes_of(&[query]), ptr::null());
        // SAFETY: as above.
        call(|error| unsafe {
            let (length, place) = (query.len(), &raw mut matches);
            hamdex_searcher_first(self.0, query.as_ptr(), length, distance, 0, place, error)
        })?;
        Ok(read(matches).remove(0).pop())
    }
}

impl Drop for Searcher {
    fn drop(&mut self) {
        // SAFETY: it is closed once.
        assert_eq!(unsafe { hamdex_searcher_close(self.0) }, HAMDEX_OK);
    }
}
