//! References to an index, for searchers.

use std::ops::Deref;

use crate::index::handle::Index;
use hamdex_fingerprint::Fingerprint;

/// A reference to an index: `&Index`, `Arc<Index>`, `Box<Index>`, or a type of yours with a [`Deref`] that
/// always returns the same index.
///
/// A [`Searcher`](crate::Searcher) of an `Arc` borrows nothing, so a service can keep searchers next to the index.
pub trait IndexRef: Deref<Target = Index<Self::Fingerprint>> {
    /// The type of the fingerprints.
    type Fingerprint: Fingerprint;
}

impl<F: Fingerprint, R: Deref<Target = Index<F>>> IndexRef for R {
    type Fingerprint = F;
}
