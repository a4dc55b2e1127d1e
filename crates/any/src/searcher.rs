//! Queries, one at a time.

use std::fmt;

use hamdex::set::MatchIds;
use hamdex::{Category, Fingerprint, Match, ProgressCallback, SetError, SetSearcher};

use crate::fingerprint::AnyFingerprint;

/// A stored fingerprint near a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnyMatch {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: AnyFingerprint,
}

/// A query with more bits than the fingerprints of the set.
#[derive(Debug, thiserror::Error)]
#[error("the query has more than the {width} bits of the stored fingerprints")]
struct TooWide {
    width: u32,
}

/// Queries an [`AnySet`](crate::AnySet), using the same memory again and again.
pub struct AnySearcher<'s> {
    of_width: Box<dyn Searcher + Send + 's>,
    matches: Vec<AnyMatch>,
}

/// The searcher of a set, and the matches of its last query.
struct OfWidth<'s, F> {
    searcher: Box<dyn SetSearcher<F> + Send + 's>,
    matches: Vec<Match<F>>,
}

/// The methods of a searcher that know the width.
trait Searcher {
    fn nearest_within(
        &mut self,
        query: AnyFingerprint,
        count: usize,
        distance: u32,
        matches: &mut Vec<AnyMatch>,
    ) -> Result<(), SetError>;

    fn first(&mut self, query: AnyFingerprint, distance: u32) -> Result<Option<AnyMatch>, SetError>;

    fn ids(&mut self, most: usize) -> Result<Vec<MatchIds<'_>>, SetError>;

    fn set_progress(&mut self, report: ProgressCallback);
}

impl<F: Fingerprint> OfWidth<'_, F> {
    fn narrow(query: AnyFingerprint) -> Result<F, SetError> {
        query.narrow().ok_or_else(|| SetError::new(Category::Input, TooWide { width: F::BITS }))
    }
}

fn widen<F: Fingerprint>(found: &Match<F>) -> AnyMatch {
    AnyMatch { distance: found.distance, fingerprint: AnyFingerprint::of(found.fingerprint) }
}

impl<F: Fingerprint> Searcher for OfWidth<'_, F> {
    fn nearest_within(
        &mut self,
        query: AnyFingerprint,
        count: usize,
        distance: u32,
        matches: &mut Vec<AnyMatch>,
    ) -> Result<(), SetError> {
        self.matches.clear();
        let found = self.searcher.nearest_within(Self::narrow(query)?, count, distance)?;
        self.matches.extend_from_slice(found);
        matches.extend(found.iter().map(widen));
        Ok(())
    }

    fn first(&mut self, query: AnyFingerprint, distance: u32) -> Result<Option<AnyMatch>, SetError> {
        self.matches.clear();
        self.matches.extend(self.searcher.first(Self::narrow(query)?, distance)?);
        Ok(self.matches.first().map(widen))
    }

    fn ids(&mut self, most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        self.searcher.ids_of(&self.matches, most)
    }

    fn set_progress(&mut self, report: ProgressCallback) {
        self.searcher.set_progress(report);
    }
}

impl<'s> AnySearcher<'s> {
    pub(crate) fn new<F: Fingerprint>(searcher: Box<dyn SetSearcher<F> + Send + 's>) -> Self {
        Self { of_width: Box::new(OfWidth { searcher, matches: Vec::new() }), matches: Vec::new() }
    }

    /// The `count` nearest of the stored fingerprints within `distance` of `query`, nearest first, then by fingerprint;
    /// all of these if there are no more.
    ///
    /// # Errors
    /// When a block that is read is damaged, the query has more bits than the fingerprints of the set, or the progress
    /// callback stops it.
    pub fn nearest_within(
        &mut self,
        query: AnyFingerprint,
        count: usize,
        distance: u32,
    ) -> Result<&[AnyMatch], SetError> {
        self.matches.clear();
        self.of_width.nearest_within(query, count, distance, &mut self.matches)?;
        Ok(&self.matches)
    }

    /// Some stored fingerprint within `distance` of `query`, if there is one; not always the nearest.
    ///
    /// # Errors
    /// As for [`AnySearcher::nearest_within`].
    pub fn first(&mut self, query: AnyFingerprint, distance: u32) -> Result<Option<AnyMatch>, SetError> {
        self.of_width.first(query, distance)
    }

    /// The first `most` ids of each match of the last query with the number of all, in the order of the matches: empty
    /// lists if the set has no ids.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids(&mut self, most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        self.of_width.ids(most)
    }

    /// Calls `report` while a query reads many blocks, from now on; it may stop the query.
    pub fn set_progress(&mut self, report: ProgressCallback) {
        self.of_width.set_progress(report);
    }
}

impl fmt::Debug for AnySearcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySearcher").finish_non_exhaustive()
    }
}
