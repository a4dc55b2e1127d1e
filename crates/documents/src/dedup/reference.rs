//! Known fingerprints, whose near-duplicates are left out.

use hamdex::{Fingerprint, Index, Match};
use rayon::prelude::*;

use crate::error::Error;

/// Known fingerprints, for [`Dedup::against`](crate::Dedup::against).
pub trait Reference<F>: Sync {
    /// Returns for each query the nearest stored fingerprint within `distance`; `None` if there is none, or the query
    /// is `None`.
    ///
    /// # Errors
    /// When the stored fingerprints cannot be read.
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error>;
}

impl<F: Fingerprint> Reference<F> for Index<F> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let nearest = fingerprints.par_iter().map_init(
            || self.searcher(),
            |searcher, fingerprint| match fingerprint {
                Some(fingerprint) => Ok(searcher.nearest_within(*fingerprint, 1, distance)?.first().copied()),
                None => Ok(None),
            },
        );
        nearest.collect()
    }
}

/// A document near a fingerprint of the [`Reference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// The document.
    pub document: u32,
    /// The nearest stored fingerprint.
    pub fingerprint: u128,
    /// The distance of the two, in bits.
    pub distance: u32,
}
