//! Many queries of several indexes at once: one batch for each index, then the matches of each query together.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::batch::{Batch, BatchOptions, MAX_QUERIES, WORTH_GROUPING};
use crate::error::ReadError;
use crate::index::matches::Match;
use crate::multi::set::MultiIndex;
use crate::multi::united::{FoundIn, MultiMatches, United};
use crate::progress::{Counter, Phase};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Queries whose matches are merged between cancellation checks.
const UNITED_AT_ONCE: usize = 1 << 12;

/// Receives the place of each query and its matches; returns whether there should be more.
type Visitor<'v, F> = dyn FnMut(usize, MultiMatches<'_, F>) -> ControlFlow<()> + 'v;
type Answer<F> =
    fn(&MultiIndex<F>, &[F], u32, &BatchOptions, &mut Visitor<'_, F>) -> Result<ControlFlow<()>, ReadError>;

per_width! {
    compiled_answer: Answer = answer;
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns all fingerprints within `distance` of each query that count, each once, in any number of
    /// indexes. See [`Index::batch`](crate::Index::batch); [`MultiIndex::batch_with`] returns the indexes of
    /// each.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails.
    pub fn batch(&self, queries: &[F], distance: u32) -> Result<Batch<F>, ReadError> {
        let mut batch = Batch::with_capacity(queries.len());
        let mut matches = Vec::new();
        let _ = self.batch_with(queries, distance, &BatchOptions::new(), |_, united| {
            matches.clear();
            matches.extend(united.iter().map(|found| Match::at_distance(found.distance, found.fingerprint)));
            batch.push(&matches);
            ControlFlow::Continue(())
        })?;
        Ok(batch)
    }

    /// Calls `visit` with the place of each query and all fingerprints stored within `distance` of it that
    /// count, nearest first, then by fingerprint; in the order of the queries, including queries without a
    /// match, until it breaks. Returns whether it did. See [`Index::batch_with`](crate::Index::batch_with).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::Arc;
    /// use hamdex::{BatchOptions, BuildOptions, Builder, Index, MultiIndex};
    ///
    /// let build = |fingerprints: &[u64]| -> Result<Index<u64>, Box<dyn std::error::Error>> {
    ///     let mut builder = Builder::in_memory(BuildOptions::new())?;
    ///     fingerprints.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
    ///     Ok(Index::from_bytes(builder.into_inner()?.0)?)
    /// };
    /// let (one, two) = (build(&[0x0f, 0xff])?, build(&[0x0f, 0xf0])?);
    /// let mut found_in = Vec::new();
    /// let indexes = MultiIndex::new([one, two].map(Arc::new));
    /// let _ = indexes.batch_with(&[0x0f, 0xf0], 0, &BatchOptions::new(), |_, matches| {
    ///     found_in.extend(matches.iter().flat_map(|m| m.found_in).map(|found| found.index));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(found_in, [0, 1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails. Queries before it may have been visited.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, MultiMatches<'_, F>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        compiled_answer()(self, queries, distance, options, &mut visit)
    }

    /// Returns the matches of all queries in each index; `None` if there are more than memory should hold.
    fn batch_of_each(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
    ) -> Result<Option<Vec<Batch<F>>>, ReadError> {
        let mut room = options.match_bytes() / size_of::<Match<F>>();
        let mut batches = Vec::new();
        for index in self.as_slice() {
            let mut batch = Batch::with_capacity(queries.len());
            let outcome = index.batch_with(queries, distance, options, |_, matches| {
                let Some(left) = room.checked_sub(matches.len()) else { return ControlFlow::Break(()) };
                room = left;
                batch.push(matches);
                ControlFlow::Continue(())
            })?;
            if outcome.is_break() {
                return Ok(None);
            }
            batches.push(batch);
        }
        Ok(Some(batches))
    }

    /// Gathers what counts of the matches of a query.
    fn unite(&self, batches: &[Batch<F>], place: usize, united: &mut United<F>) -> Result<(), ReadError> {
        let all = united.all_mut();
        all.clear();
        for (index, batch) in batches.iter().enumerate() {
            for found in batch.matches(place) {
                if self.counts(index, found)? {
                    all.push(FoundIn { found: *found, index });
                }
            }
        }
        Ok(())
    }

    fn one_by_one(
        &self,
        queries: &[F],
        distance: u32,
        (limit, done): (usize, &Counter),
        visit: &mut impl FnMut(usize, MultiMatches<'_, F>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let mut searcher = self.searcher();
        for (place, &query) in queries.iter().enumerate() {
            done.check()?;
            if visit(place, searcher.limited_within(query, distance, limit)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn answer<F: Fingerprint>(
    indexes: &MultiIndex<F>,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
    visit: &mut Visitor<'_, F>,
) -> Result<ControlFlow<()>, ReadError> {
    let done = Arc::new(options.counter(Phase::Batch, Some(queries.len() as u64))?);
    let inner = options.cancelled_with(&done);
    // The filter applies to all matches of an index: it may reject the nearest of them.
    let inner = if indexes.is_filtered() { inner.without_limit() } else { inner };
    let mut united = United::default();
    let (mut at, mut size) = (0, MAX_QUERIES);
    while at < queries.len() {
        let chunk = &queries[at..queries.len().min(at + size)];
        let mut visit = |place: usize, matches: MultiMatches<'_, F>| visit(at + place, matches);
        let outcome = if chunk.len() < WORTH_GROUPING {
            size = WORTH_GROUPING;
            indexes.one_by_one(chunk, distance, (options.match_limit(), &done), &mut visit)?
        } else if let Some(batches) = indexes.batch_of_each(chunk, distance, &inner)? {
            (0..chunk.len()).try_fold(ControlFlow::Continue(()), |flow: ControlFlow<()>, place| {
                if flow.is_continue() {
                    if place.is_multiple_of(UNITED_AT_ONCE) {
                        done.check()?;
                    }
                    indexes.unite(&batches, place, &mut united)?;
                    united.unite(options.match_limit());
                    return Ok(visit(place, united.matches()));
                }
                Ok::<_, ReadError>(flow)
            })?
        } else {
            size = chunk.len() / 2;
            continue;
        };
        if outcome.is_break() {
            return Ok(outcome);
        }
        at += chunk.len();
        done.add(chunk.len() as u64)?;
    }
    Ok(ControlFlow::Continue(()))
}
