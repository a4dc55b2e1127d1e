//! Several indexes queried as one: [`MultiIndex`], perhaps with a part without a file, as the memtables of a store are:
//! [`MemoryPart`].
//!
//! - `searcher`: one query at a time: all look-ups of all indexes, one wave of reads, then all scans
//! - `batch`: many queries at once; families of indexes, of which a query needs one each
//! - `pairs`: all against all

mod batch;
mod pairs;
mod searcher;

use std::fmt;
use std::iter::Map;
use std::sync::Arc;

pub use batch::{Router, batch_by_routes};
pub use searcher::MultiSearcher;

use crate::batch::Gathered;
use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::{Entries, Entry, Index, Match};
use crate::progress::Stopped;
use crate::sorted_union::SortedUnion;
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
/// let found: Vec<u64> = searcher.within(0xff, 1)?.iter().map(|found| found.fingerprint).collect();
/// assert_eq!(found, [0xff, 0xfe]);
/// assert_eq!(searcher.indexes_of(0xff)?, [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MultiIndex<F> {
    indexes: Vec<Arc<Index<F>>>,
    /// The filter of each index; shorter if the last ones have none.
    filters: Vec<Option<Filter<F>>>,
    memory: Option<Arc<dyn MemoryPart<F>>>,
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns a set of these indexes; their numbers are their positions.
    #[must_use]
    pub fn new(indexes: impl IntoIterator<Item = Arc<Index<F>>>) -> Self {
        Self { indexes: indexes.into_iter().collect(), filters: Vec::new(), memory: None }
    }

    /// Sets a filter of matches, by which a store leaves out removed fingerprints: `counts` is called with the
    /// number of an index and a match in it. A fingerprint is found if it counts in at least one index.
    ///
    /// It is called for matches only, once for each index that one is in, from any thread. Its errors end the query.
    #[must_use]
    pub fn filter(
        self,
        counts: impl Fn(usize, &Match<F>) -> Result<bool, ReadError> + Send + Sync + 'static,
    ) -> Self {
        let all = 0..self.indexes.len();
        self.filter_in(all, counts)
    }

    /// Sets a filter, as [`MultiIndex::filter`] does, of matches in the indexes of these numbers. Others are searched
    /// faster for it.
    ///
    /// # Panics
    /// When there is no index of such a number.
    #[must_use]
    pub fn filter_in(
        mut self,
        numbers: impl IntoIterator<Item = usize>,
        counts: impl Fn(usize, &Match<F>) -> Result<bool, ReadError> + Send + Sync + 'static,
    ) -> Self {
        let counts: Filter<F> = Arc::new(counts);
        self.filters.resize(self.indexes.len(), None);
        numbers.into_iter().for_each(|number| self.filters[number] = Some(Arc::clone(&counts)));
        self
    }

    /// Sets a part in memory, which searchers and batches ask first; its number is that after the last index. With enough
    /// matches there, the indexes are searched only as far as they can have nearer ones, so a match in memory may not say
    /// that it is in an index too. The self-join, entries and ids are those of the indexes alone.
    #[must_use]
    pub fn memory(mut self, part: Arc<dyn MemoryPart<F>>) -> Self {
        self.memory = Some(part);
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

    /// Returns whether there is a part in memory.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns the indexes and their filters alone.
    fn without_memory(&self) -> Self {
        Self { memory: None, ..self.clone() }
    }

    /// Returns the filter of an index.
    #[inline]
    fn filter_of(&self, number: usize) -> Option<&Filter<F>> {
        self.filters.get(number)?.as_ref()
    }

    /// Returns whether an index has a filter.
    pub(crate) fn is_filtered(&self, number: usize) -> bool {
        self.filter_of(number).is_some()
    }

    /// Returns whether a match counts.
    #[inline]
    pub(crate) fn counts(&self, number: usize, found: &Match<F>) -> Result<bool, ReadError> {
        self.filter_of(number).map_or(Ok(true), |counts| counts(number, found))
    }
}

impl<F: Fingerprint> fmt::Debug for MultiIndex<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexes: Vec<_> = self.indexes.iter().map(|index| &**index).collect();
        f.debug_struct("MultiIndex")
            .field("indexes", &indexes)
            .field("is_filtered", &self.filters.iter().any(Option::is_some))
            .field("has_memory", &self.memory.is_some())
            .finish()
    }
}

/// The entries of an index, by fingerprint.
type EntryLists<'i, F> =
    Map<Entries<'i, F>, fn(Result<Entry<'i, F>, ReadError>) -> Result<(F, Ids<'i>), ReadError>>;

/// The entries of several indexes, ascending by fingerprint, whether they count or not. It ends after the first error.
pub(crate) struct MultiEntries<'i, F>(SortedUnion<EntryLists<'i, F>, F, Ids<'i>, ReadError>);

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns all fingerprints that are not below `from`, each once, with their ids in each index that they are in.
    pub(crate) fn entries_from(&self, from: F) -> MultiEntries<'_, F> {
        let list: fn(_) -> _ =
            |entry: Result<Entry<'_, F>, _>| entry.map(|entry| (entry.fingerprint, entry.ids));
        MultiEntries(SortedUnion::of(
            self.as_slice().iter().map(|index| index.entries().from(from).map(list)),
        ))
    }
}

impl<'i, F: Fingerprint> Iterator for MultiEntries<'i, F> {
    type Item = Result<(F, Vec<(usize, Ids<'i>)>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (fingerprint, number, ids) = match self.0.next()? {
            Ok(first) => first,
            Err(error) => return Some(Err(error)),
        };
        let mut lists = vec![(number, ids)];
        while self.0.next_key() == Some(fingerprint)
            && let Some(next) = self.0.next()
        {
            match next {
                Ok((_, number, ids)) => lists.push((number, ids)),
                // Other lists of the fingerprint would be missing.
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok((fingerprint, lists)))
    }
}

/// Fingerprints in memory that are queried together with the indexes of a [`MultiIndex`]: see [`MultiIndex::memory`].
pub trait MemoryPart<F>: Send + Sync {
    /// Calls `visit` with each fingerprint within `distance` of `query`, in no particular order, some perhaps more than
    /// once.
    ///
    /// # Errors
    /// When `visit` stops it.
    fn for_each(
        &self,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped>;
}

/// Queries of a batch between two cancellation checks.
const QUERIES_AT_ONCE: usize = 64;

impl<F: Fingerprint> MultiIndex<F> {
    /// Calls `visit` with the matches in memory.
    #[inline]
    fn for_each_in_memory(
        &self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(Match<F>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let Some(memory) = &self.memory else { return Ok(()) };
        memory.for_each(query, distance, &mut |value| visit(Match::new(query, value)))
    }

    /// Replaces `nearest` by the `count` nearest matches in memory, in order, each once.
    fn nearest_in_memory(&self, query: F, distance: u32, count: usize, nearest: &mut Vec<Match<F>>) {
        nearest.clear();
        let _ = self.for_each_in_memory(query, distance, |found| {
            nearest.push(found);
            keep_nearest(nearest, count, count.saturating_mul(2));
            Ok(())
        });
        keep_nearest(nearest, count, 0);
    }

    /// Adds the matches in memory of each query: all, or the nearest up to a limit.
    fn gather_from_memory(
        &self,
        queries: &[F],
        distance: u32,
        limit: usize,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<(), ReadError> {
        let mut nearest = Vec::new();
        for (place, &query) in queries.iter().enumerate().take_while(|_| self.memory.is_some()) {
            if place.is_multiple_of(QUERIES_AT_ONCE) {
                found.check()?;
            }
            if limit == usize::MAX {
                self.for_each_in_memory(query, distance, |one| found.push(place, one))?;
            } else {
                self.nearest_in_memory(query, distance, limit, &mut nearest);
                nearest.iter().try_for_each(|&one| found.push(place, one))?;
            }
        }
        Ok(())
    }
}

/// Sorts and deduplicates matches and keeps the first `count`, if there are more than `most`.
fn keep_nearest<F: Fingerprint>(matches: &mut Vec<Match<F>>, count: usize, most: usize) {
    if matches.len() > most {
        matches.sort_unstable();
        matches.dedup();
        matches.truncate(count);
    }
}
