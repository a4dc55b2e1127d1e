//! What is known already: fingerprints that documents are held against.

use hamdex::{Fingerprint, Index, Match};
use rayon::prelude::*;

use crate::error::Error;

/// Fingerprints that documents are held against: see [`Dedup::against`](crate::Dedup::against).
pub trait Reference<F>: Sync {
    /// Returns for each fingerprint the nearest stored one within `distance`; `None` where nothing is, or nothing was
    /// asked.
    ///
    /// # Errors
    /// When what is stored cannot be read.
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

/// A document that is near a fingerprint that documents are held against.
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
