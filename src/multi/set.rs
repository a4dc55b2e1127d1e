//! The indexes, and which of their matches count.

use std::fmt;
use std::sync::Arc;

use crate::error::ReadError;
use crate::index::handle::Index;
use crate::index::matches::Match;
use hamdex_fingerprint::Fingerprint;

/// Returns whether a match in the index of that number counts.
pub(crate) type Filter<F> = Arc<dyn Fn(usize, &Match<F>) -> Result<bool, ReadError> + Send + Sync>;

/// Several indexes queried as one: a fingerprint that several of them store is one match, with the ids of all.
/// They have the same width, and any designs, codecs and distances.
///
/// A query is one plan: the blocks of all indexes are located first, then prefetched from storage together,
/// then scanned. A clone is cheap.
///
/// ```
/// use std::sync::Arc;
/// use hamdex::{BuildOptions, Builder, Index, MultiIndex};
///
/// let build = |pairs: &[(u64, u64)]| -> Result<Vec<u8>, hamdex::BuildError> {
///     let mut builder = Builder::in_memory(BuildOptions::new().ids(true))?;
///     pairs.iter().try_for_each(|&(fingerprint, id)| builder.push_with_id(fingerprint, id))?;
///     Ok(builder.into_inner()?.0)
/// };
/// let monday = Index::<u64>::from_bytes(build(&[(0xff, 1), (0xf0, 2)])?)?;
/// let tuesday = Index::<u64>::from_bytes(build(&[(0xff, 7), (0xfe, 8)])?)?;
///
/// let week = MultiIndex::new([monday, tuesday].map(Arc::new));
/// let mut searcher = week.searcher();
/// let found: Vec<(u64, usize)> =
///     searcher.within(0xff, 1)?.iter().map(|m| (m.fingerprint, m.found_in.len())).collect();
/// assert_eq!(found, [(0xff, 2), (0xfe, 1)]);
/// assert_eq!(searcher.ids(0xff)?, [1, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiIndex<F> {
    indexes: Vec<Arc<Index<F>>>,
    filter: Option<Filter<F>>,
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns a set of these indexes; matches name them by their position.
    #[must_use]
    pub fn new(indexes: impl IntoIterator<Item = Arc<Index<F>>>) -> Self {
        Self { indexes: indexes.into_iter().collect(), filter: None }
    }

    /// Sets a filter of matches, by which a store leaves out removed fingerprints: `counts` is called with the
    /// number of an index and a match in it. A fingerprint is found if it counts in at least one index.
    ///
    /// It is called for matches only, once for each index that one is in, from any thread. Its errors end the query.
    #[must_use]
    pub fn filter(
        mut self,
        counts: impl Fn(usize, &Match<F>) -> Result<bool, ReadError> + Send + Sync + 'static,
    ) -> Self {
        self.filter = Some(Arc::new(counts));
        self
    }

    /// Returns the indexes, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Arc<Index<F>>] {
        &self.indexes
    }

    /// Returns the number of stored fingerprints; one in several indexes is counted in each, and the filter is
    /// ignored.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.indexes.iter().map(|index| index.len()).sum()
    }

    /// Returns the greatest distance for which all of the designs are made; 0 without indexes.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.indexes.iter().map(|index| index.design().distance()).min().unwrap_or(0)
    }

    /// Takes the place of all indexes.
    pub(super) fn replace(&mut self, indexes: impl IntoIterator<Item = Arc<Index<F>>>) {
        self.indexes.clear();
        self.indexes.extend(indexes);
    }

    /// Returns whether there is a filter.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns whether a match counts.
    #[inline]
    pub(crate) fn counts(&self, number: usize, found: &Match<F>) -> Result<bool, ReadError> {
        self.filter.as_ref().map_or(Ok(true), |counts| counts(number, found))
    }
}

impl<F: Fingerprint> Clone for MultiIndex<F> {
    fn clone(&self) -> Self {
        Self { indexes: self.indexes.clone(), filter: self.filter.clone() }
    }
}

impl<F: Fingerprint> fmt::Debug for MultiIndex<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexes: Vec<_> = self.indexes.iter().map(|index| &**index).collect();
        f.debug_struct("MultiIndex")
            .field("indexes", &indexes)
            .field("is_filtered", &self.filter.is_some())
            .finish()
    }
}
