//! The shingles of a set's documents, part by part.

use std::ops::{ControlFlow, Range};

use crate::set::StoredId;

/// A part of the documents of a set, for one thread: returned by
/// [`FingerprintSet::shingle_parts`](crate::FingerprintSet::shingle_parts).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShinglePart {
    /// The number of the file, as the set counts its files.
    pub file: usize,
    /// The places of the documents in that file.
    pub documents: Range<u64>,
}

/// Receives the id and the shingles of a document, until it breaks.
pub type ShingleVisitor<'v> = dyn FnMut(StoredId, &[u64]) -> ControlFlow<()> + 'v;
