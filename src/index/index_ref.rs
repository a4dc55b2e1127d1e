//! What a searcher holds on to.

use std::ops::Deref;

use crate::index::handle::Index;
use hamdex_fingerprint::Fingerprint;

/// Whatever leads to an index: `&Index`, `Arc<Index>`, `Box<Index>`, or a type of yours with a
/// [`Deref`] that always leads to the same index.
///
/// A [`Searcher`](crate::Searcher) of an `Arc` borrows nothing, so a service can keep searchers beside the index.
pub trait IndexRef: Deref<Target = Index<Self::Fingerprint>> {
    /// The type of the fingerprints.
    type Fingerprint: Fingerprint;
}

impl<F: Fingerprint, R: Deref<Target = Index<F>>> IndexRef for R {
    type Fingerprint = F;
}
