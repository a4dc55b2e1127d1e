//! An index of whichever width a file has.
//!
//! - [`index`]: the index
//! - [`searcher`]: one query at a time

mod index;
mod searcher;

pub use index::AnyIndex;
pub use searcher::AnySearcher;

use crate::error::{ReadError, ReadErrorKind};
use crate::index::handle::Index;
use crate::index::matches::Match;
use hamdex_fingerprint::Fingerprint;

/// A query for an index of fewer bits, if it has no more than these.
fn narrow<F: Fingerprint>(index: &Index<F>, query: u128) -> Result<F, ReadError> {
    let narrow = F::truncate(query);
    if narrow.to_u128() == query {
        Ok(narrow)
    } else {
        Err(index.error(ReadErrorKind::QueryTooWide { query, width: F::BITS }.into()))
    }
}

/// A match with the fingerprint as a number of 128 bits.
fn widen<F: Fingerprint>(found: &Match<F>) -> Match<u128> {
    let Match { distance, fingerprint, entry } = *found;
    Match { distance, fingerprint: fingerprint.to_u128(), entry }
}
