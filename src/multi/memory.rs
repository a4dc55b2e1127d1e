//! A part without a file: fingerprints in memory, as the memtables of a store are.

use crate::batch::Gathered;
use crate::error::ReadError;
use crate::index::Match;
use crate::multi::MultiIndex;
use crate::progress::Stopped;
use hamdex_fingerprint::Fingerprint;

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
    pub(super) fn for_each_in_memory(
        &self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(Match<F>) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let Some(memory) = &self.memory else { return Ok(()) };
        memory.for_each(query, distance, &mut |value| visit(Match::new(query, value)))
    }

    /// Replaces `nearest` by the `count` nearest matches in memory, in order, each once.
    pub(super) fn nearest_in_memory(
        &self,
        query: F,
        distance: u32,
        count: usize,
        nearest: &mut Vec<Match<F>>,
    ) {
        nearest.clear();
        let _ = self.for_each_in_memory(query, distance, |found| {
            nearest.push(found);
            keep_nearest(nearest, count, count.saturating_mul(2));
            Ok(())
        });
        keep_nearest(nearest, count, 0);
    }

    /// Adds the matches in memory of each query: all, or the nearest up to a limit.
    pub(super) fn gather_from_memory(
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
pub(super) fn keep_nearest<F: Fingerprint>(matches: &mut Vec<Match<F>>, count: usize, most: usize) {
    if matches.len() > most {
        matches.sort_unstable();
        matches.dedup();
        matches.truncate(count);
    }
}
