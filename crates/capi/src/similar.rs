//! Documents that are similar as texts: the condition, and the results.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_char;
use std::ptr;

use hamdex::set::StoredId;
use hamdex::shingles;
use hamdex::similar::{Condition, Measure};

use crate::edge::{Caller, Shell, kind};
use crate::matches::{Held, free, push};
use crate::status::{Failure, hamdex_status};

/// Compare by resemblance: the similarity is the share of the shingles that two documents have in common, of all of
/// theirs.
pub const HAMDEX_RESEMBLANCE: u32 = 0;
/// Compare by containment: the similarity is the share of the shingles of the query that a stored document has.
pub const HAMDEX_CONTAINING: u32 = 1;
/// Compare by containment: the similarity is the share of the shingles of a stored document that the query has.
pub const HAMDEX_CONTAINED: u32 = 2;

/// The documents that are similar to one query or several, in columns. Everything in it belongs to the library and is
/// read only.
///
/// Those of query q are the ones from `query_starts[q]` up to `query_starts[q + 1]`, the most similar first, then by id.
/// If names were requested, the name of document d is the bytes of `names` from `name_starts[d]` up to
/// `name_starts[d + 1]`.
#[repr(C)]
#[derive(Default)]
pub struct hamdex_similar {
    /// The number of queries.
    pub queries: u64,
    /// The number of documents.
    pub count: u64,
    /// Where the documents of each query begin, and where those of the last end: `queries` + 1 numbers.
    pub query_starts: *const u64,
    /// The ids of the documents.
    pub ids: *const u64,
    /// The number of the part of the set that each document is stored in: of a shard; 0 in a set of one part.
    pub parts: *const u32,
    /// How similar each document is to its query, by the measure of the query: above 0, at most 1.
    pub similarities: *const f64,
    /// Where the name of each document begins, and where the last ends: `count` + 1 numbers; null if no names were
    /// requested. Without names in the set, all are empty.
    pub name_starts: *const u64,
    /// The names.
    pub names: *const c_char,
}

/// Similar documents as they are collected.
pub(crate) struct Documents {
    query_starts: Vec<u64>,
    ids: Vec<u64>,
    parts: Vec<u32>,
    similarities: Vec<f64>,
    /// `None` if no names are wanted.
    name_starts: Option<Vec<u64>>,
    names: Vec<u8>,
}

impl Documents {
    pub(crate) fn new(have_names: bool) -> Self {
        Self {
            query_starts: vec![0],
            ids: Vec::new(),
            parts: Vec::new(),
            similarities: Vec::new(),
            name_starts: have_names.then(|| vec![0]),
            names: Vec::new(),
        }
    }

    /// Adds a document to the present query. The name is left out if none are wanted.
    pub(crate) fn push(&mut self, id: StoredId, similarity: f64, name: &[u8]) -> Result<(), Failure> {
        push(&mut self.ids, id.id)?;
        push(&mut self.parts, u32::try_from(id.part).unwrap_or(u32::MAX))?;
        push(&mut self.similarities, similarity)?;
        if let Some(starts) = &mut self.name_starts {
            self.names.try_reserve(name.len())?;
            self.names.extend_from_slice(name);
            push(starts, self.names.len() as u64)?;
        }
        Ok(())
    }

    /// Ends the present query.
    pub(crate) fn end_query(&mut self) -> Result<(), Failure> {
        push(&mut self.query_starts, self.ids.len() as u64)
    }

    /// The structure that C reads, valid until the columns change.
    pub(crate) fn public(&self) -> hamdex_similar {
        hamdex_similar {
            queries: self.query_starts.len() as u64 - 1,
            count: self.ids.len() as u64,
            query_starts: self.query_starts.as_ptr(),
            ids: self.ids.as_ptr(),
            parts: self.parts.as_ptr(),
            similarities: self.similarities.as_ptr(),
            name_starts: self.name_starts.as_ref().map_or(ptr::null(), Vec::as_ptr),
            names: self.names.as_ptr().cast(),
        }
    }
}

kind!(Held<Documents>, hamdex_similar, "similar documents", b"hamdex D");

/// Gives results to the caller.
pub(crate) fn give(documents: Documents) -> *const hamdex_similar {
    let public = documents.public();
    let shell = Shell::new(Held::ByCaller { _columns: documents });
    shell.publish(public);
    shell.as_c()
}

/// The condition that a measure and a least share are.
pub(crate) fn condition_of(measure: u32, least: f64) -> Result<Condition, Failure> {
    let measure = match measure {
        HAMDEX_RESEMBLANCE => Measure::Resemblance,
        HAMDEX_CONTAINING => Measure::Containing,
        HAMDEX_CONTAINED => Measure::Contained,
        unknown => return Err(Failure::usage(format!("there is no measure {unknown}"))),
    };
    Condition::new(measure, least).ok_or_else(|| {
        Failure::usage(format!("the least similarity cannot be {least}: above 0 and at most 1"))
    })
}

/// Shingles of a query, which have to be a set.
pub(crate) fn shingles_of(caller: &Caller, pointer: *const u64, count: u64) -> Result<&[u64], Failure> {
    let set = caller.array("the array of shingles", pointer, count)?;
    if set.is_sorted_by(|one, next| one < next) && set.last().is_none_or(|last| last >> shingles::BITS == 0) {
        return Ok(set);
    }
    Err(Failure::input(format!("the shingles do not ascend, or exceed {} bits", shingles::BITS)))
}

/// Frees similar documents. Null is allowed. The ones of a searcher are refused: the searcher frees them.
///
/// Threads: any. No other call may use them meanwhile.
///
/// Errors: `HAMDEX_MISUSE` if they are no similar documents, were freed already, or belong to a searcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_similar_free(similar: *const hamdex_similar) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(ptr::null_mut()) }.run(|caller| free::<Documents>(caller, similar))
}
