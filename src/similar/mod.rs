//! Documents that are similar as texts: the stored sets of shingles that are like another set.
//!
//! The sets are kept by shingle: each shingle has a list of the documents that have it. A document that is similar to a
//! set of n shingles shares at least s of them, so it is in one of *any* n − s + 1 of the n lists. The shortest are read,
//! in the others each document found is looked up: a phrase that a million documents have costs what a rare one does.
//! (Set-similarity search by prefixes: Bayardo, Ma, Srikant, WWW 2007; Xiao et al., WWW 2008. Here all shingles are
//! indexed, so the prefix is chosen by the query.)
//!
//! - `condition`: how alike two documents have to be
//! - `search`: from lists to the documents that meet a condition
//! - `memory`: lists in memory
//! - `table`: lists on disk: one more sorted table in blocks, of pairs of shingle and document

mod condition;
mod memory;
mod search;
pub(crate) mod table;

pub use condition::{Condition, Measure};
pub use memory::{GrowingLists, LaterLists, MemoryLists};
pub use search::{Alike, Search};
pub(crate) use search::{List, Lists};
pub(crate) use table::{PairTable, ShingleTable};

use crate::ids::StoredId;

/// A stored document that is similar to a set of shingles.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SimilarDocument {
    /// The id of the document.
    pub id: StoredId,
    /// How similar it is, by the measure of the condition: above 0, at most 1.
    pub similarity: f64,
}

impl SimilarDocument {
    /// Creates one, for sets of other crates.
    #[must_use]
    pub fn new(id: StoredId, similarity: f64) -> Self {
        Self { id, similarity }
    }

    /// Sorts documents, the most similar first, then by id, then by part, and keeps the first `limit`.
    pub fn keep_nearest(documents: &mut Vec<Self>, limit: usize) {
        let order = |one: &Self, other: &Self| {
            let by_id = || (one.id.id, one.id.part).cmp(&(other.id.id, other.id.part));
            other.similarity.total_cmp(&one.similarity).then_with(by_id)
        };
        if limit < documents.len() / 2 {
            documents.select_nth_unstable_by(limit, order);
            documents.truncate(limit);
        }
        documents.sort_unstable_by(order);
        documents.truncate(limit);
    }
}
