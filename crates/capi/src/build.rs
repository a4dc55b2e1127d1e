//! Index files from arrays.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_char;
use std::mem::offset_of;
use std::path::Path;

use hamdex::{BuildOptions, Builder, Codec, Design, FilterChoice, Fingerprint, shingles};
use hamdex_any::for_width;

use crate::edge::{Caller, Versioned, hamdex_error};
use crate::options::{Work, check_flags, hamdex_work};
use crate::records::{Labels, Records, hamdex_records};
use crate::status::{Failure, hamdex_status};

/// Replace an existing file: for `hamdex_build`.
pub const HAMDEX_OVERWRITE: u32 = 1;

/// Options of an index file. All zero but `size` are the defaults, as is a null pointer to them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hamdex_build_options {
    /// `sizeof(hamdex_build_options)`.
    pub size: usize,
    /// The distance of most queries, in bits; 0 for the default, 3. Any other is answered exactly, too.
    pub distance: u32,
    /// `HAMDEX_OVERWRITE`, or 0.
    pub flags: u32,
    /// The name of a design, such as "halves"; null for the one that suits the number of fingerprints.
    pub design: *const c_char,
    /// Its length, in bytes.
    pub design_length: usize,
    /// The name of a codec: "huffman" for size, "elias-fano" for speed; null for the default.
    pub codec: *const c_char,
    /// Its length, in bytes.
    pub codec_length: usize,
    /// The filters, which spare queries blocks: "auto", where they pay; "none"; or the most bits per fingerprint, "1"
    /// to "64"; null for the default, "auto".
    pub filter: *const c_char,
    /// Its length, in bytes.
    pub filter_length: usize,
    /// How the shingles of the records are made, in words of the caller's own; null for records without shingles. Sets are
    /// compared only if they say the same; it is the metadata "hamdex.shingles".
    pub shingles: *const c_char,
    /// Its length, in bytes.
    pub shingles_length: usize,
}

// SAFETY: numbers and pointers, all of which may be zero.
unsafe impl Versioned for hamdex_build_options {
    const LEAST_SIZE: usize = offset_of!(Self, filter);
}

/// The distance of a set unless another is given.
pub(crate) const DEFAULT_DISTANCE: u32 = 3;

/// A distance of options, where 0 is the default.
pub(crate) fn distance_of(given: u32) -> u32 {
    if given == 0 { DEFAULT_DISTANCE } else { given }
}

/// The codec of this name, if there is a name.
pub(crate) fn codec_of(
    caller: &Caller,
    name: *const c_char,
    length: usize,
) -> Result<Option<Codec>, Failure> {
    let refuse = |name| {
        let names: Vec<&str> = Codec::ALL.iter().map(|codec| codec.name()).collect();
        Failure::usage(format!("there is no codec {name:?}; there are: {}", names.join(", ")))
    };
    let name = caller.text_if("the codec", name, length)?;
    name.map(|name| name.parse().map_err(|_| refuse(name))).transpose()
}

/// The filters of this name, if there is a name.
pub(crate) fn filter_of(
    caller: &Caller,
    name: *const c_char,
    length: usize,
) -> Result<Option<FilterChoice>, Failure> {
    let refuse = |name| Failure::usage(format!("the filter cannot be {name:?}: auto, none, or 1 to 64 bits"));
    let name = caller.text_if("the filter", name, length)?;
    name.map(|name| name.parse().map_err(|_| refuse(name))).transpose()
}

/// The choices of options that have names.
struct Named<'c> {
    design: Option<&'c str>,
    codec: Option<Codec>,
    filter: Option<FilterChoice>,
    shingles: Option<&'c str>,
}

/// The shingles of records, and how they are made.
#[derive(Clone, Copy)]
struct Documents<'r> {
    sets: &'r [&'r [u64]],
    definition: &'r str,
}

/// The shingles of records and their definition: both, or neither.
fn documents_of<'r>(
    records: &'r Records<'_>,
    definition: Option<&'r str>,
) -> Result<Option<Documents<'r>>, Failure> {
    match (&records.shingles, definition) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) if matches!(records.labels, Labels::None) => {
            Err(Failure::usage("the records have shingles, and neither ids nor names"))
        }
        (Some(sets), Some(definition)) => Ok(Some(Documents { sets, definition })),
        (Some(_), None) => {
            Err(Failure::usage("the records have shingles, and the options do not say how they are made"))
        }
        (None, Some(_)) => Err(Failure::usage("the options define shingles, and the records have none")),
    }
}

/// Adds the shingles of records, the documents with these ids.
fn push_shingles<F: Fingerprint>(
    builder: &mut Builder<F>,
    ids: impl Iterator<Item = u64>,
    sets: &[&[u64]],
) -> Result<(), Failure> {
    let mut by_id: Vec<(u64, &[u64])> = ids.zip(sets.iter().copied()).collect();
    by_id.sort_by_key(|document| document.0);
    Ok(by_id.into_iter().try_for_each(|(id, set)| builder.push_shingles(id, set))?)
}

fn build<F: Fingerprint>(
    path: &Path,
    records: &Records<'_>,
    given: &hamdex_build_options,
    named: &Named<'_>,
    work: &Work,
) -> Result<(), Failure> {
    let fingerprints: Vec<F> = records.fingerprints()?;
    let distance = distance_of(given.distance);
    let mut options = BuildOptions::<F>::new().distance(distance);
    if let Some(name) = named.design {
        options = options.design(Design::named(name, distance)?);
    }
    if let Some(codec) = named.codec {
        options = options.codec(codec);
    }
    if let Some(filter) = named.filter {
        options = options.filter(filter);
    }
    let documents = documents_of(records, named.shingles)?;
    if let Some(Documents { definition, .. }) = documents {
        options = options.metadata(shingles::KEY, definition);
    }
    let options = options
        .overwrite(given.flags & HAMDEX_OVERWRITE != 0)
        .ids(matches!(records.labels, Labels::Ids(_)))
        .names(matches!(records.labels, Labels::Names(_)))
        .shingles(documents.is_some());
    let mut builder = Builder::with_options(path, work.build(options))?;
    match &records.labels {
        Labels::None => fingerprints.into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?,
        Labels::Ids(ids) => {
            let mut pairs = fingerprints.into_iter().zip(*ids);
            pairs.try_for_each(|(fingerprint, &id)| builder.push_with_id(fingerprint, id))?;
            if let Some(Documents { sets, .. }) = documents {
                push_shingles(&mut builder, ids.iter().copied(), sets)?;
            }
        }
        Labels::Names(names) => {
            for (id, (fingerprint, name)) in (0..).zip(fingerprints.into_iter().zip(names)) {
                builder.push_with_id(fingerprint, id)?;
                builder.push_name(id, name)?;
            }
            if let Some(Documents { sets, .. }) = documents {
                push_shingles(&mut builder, 0.., sets)?;
            }
        }
    }
    builder.finish()?;
    Ok(())
}

/// Builds an index file of fingerprints, in any order, with ids, with names, or without; with shingles, if the records
/// have them and the options say how they are made. `options` and `work` may be
/// null. The file appears under its name when it is complete and durable, or not at all.
///
/// Ownership: nothing is kept.
///
/// Threads: any; it uses several.
///
/// Errors: `HAMDEX_EXISTS` if there is a file and `HAMDEX_OVERWRITE` is not set, `HAMDEX_INPUT`, `HAMDEX_SYSTEM` as for
/// a full disk, `HAMDEX_NOT_DURABLE`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_build(
    path: *const c_char,
    path_length: usize,
    records: *const hamdex_records,
    options: *const hamdex_build_options,
    work: *const hamdex_work,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(error) }.run(|caller| {
        let path = caller.path(path, path_length)?;
        let records = Records::of(caller, records)?;
        let given = caller.options("the structure of options", options)?;
        check_flags(given.flags, HAMDEX_OVERWRITE)?;
        let named = Named {
            design: caller.text_if("the design", given.design, given.design_length)?,
            codec: codec_of(caller, given.codec, given.codec_length)?,
            filter: filter_of(caller, given.filter, given.filter_length)?,
            shingles: caller.text_if("the definition of shingles", given.shingles, given.shingles_length)?,
        };
        let work = Work::of(caller, work)?;
        for_width!(records.fingerprint_bytes * 8, F => build::<F>(path, &records, &given, &named, &work))
    })
}
