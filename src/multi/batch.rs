//! Many queries of several indexes at once: one batch for each index, then the matches of each query together.

use crate::batch::{BatchOptions, Gathered, Parts, Visit, deliver};
use crate::error::{ReadError, check_distance};
use crate::index::Match;
use crate::index::search::Counts;
use crate::multi::MultiIndex;
use crate::multi::searcher::MultiSearcher;
use crate::progress::keeping;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type Answer<F> = fn(&MultiIndex<F>, &[F], u32, &BatchOptions, &mut Visit<'_, F>) -> Result<(), ReadError>;

per_width! {
    compiled_answer: Answer = answer;
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Calls `visit` with the place of each query and all fingerprints stored within `distance` of it that
    /// count, nearest first, then by fingerprint; in the order of the queries, including queries without a
    /// match. An error of `visit` ends it. See [`Index::batch_with`](crate::Index::batch_with).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use hamdex::{BatchOptions, BuildOptions, Builder, Index, MultiIndex, ReadError};
    ///
    /// let build = |fingerprints: &[u64]| -> Result<Index<u64>, Box<dyn std::error::Error>> {
    ///     let mut builder = Builder::in_memory(BuildOptions::new())?;
    ///     fingerprints.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
    ///     Ok(Index::from_bytes(builder.into_inner()?.0)?)
    /// };
    /// let (one, two) = (build(&[0x0f, 0xff])?, build(&[0x0f, 0xf0])?);
    /// let mut found = Vec::new();
    /// let indexes = MultiIndex::new([one, two].map(Arc::new));
    /// indexes.batch_with(&[0x0f, 0xf0], 0, &BatchOptions::new(), |_, matches| {
    ///     found.push(matches.len());
    ///     Ok::<_, ReadError>(())
    /// })?;
    /// assert_eq!(found, [1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails, and queries before it may have been visited; or the
    /// distance exceeds the width; the error of `visit`.
    pub fn batch_with<E: From<ReadError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| {
            let visit = &mut |place, found: &[Match<F>]| keep.error(visit(place, found));
            compiled_answer()(self, queries, distance, options, visit)
        })
    }

    /// Returns a searcher for the queries of a batch that are answered alone, and cancelled with it.
    pub(super) fn searcher_of_batch(&self, options: &BatchOptions) -> MultiSearcher<F> {
        let mut searcher = self.searcher();
        searcher.report_to(options.report());
        searcher
    }
}

/// The indexes as parts of a batch.
struct Indexes<'a, F> {
    indexes: &'a MultiIndex<F>,
    distance: u32,
    /// Made for the first query that is answered alone.
    searcher: Option<MultiSearcher<F>>,
}

impl<F: Fingerprint> Parts<F, Match<F>> for Indexes<'_, F> {
    type Error = ReadError;

    fn gather(
        &mut self,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<(), ReadError> {
        let (indexes, distance) = (self.indexes, self.distance);
        // Memory first, as it is most likely to show early that there is too little room.
        indexes.gather_from_memory(queries, distance, options.match_limit(), found)?;
        for (number, index) in indexes.as_slice().iter().enumerate() {
            let mut counts = |one: &Match<F>| indexes.counts(number, one);
            let counts: Option<Counts<'_, F>> =
                if indexes.is_filtered(number) { Some(&mut counts) } else { None };
            found.add_batch(index, queries, distance, options, counts)?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        query: F,
        options: &BatchOptions,
        found: &mut Vec<Match<F>>,
    ) -> Result<(), ReadError> {
        let searcher = self.searcher.get_or_insert_with(|| self.indexes.searcher_of_batch(options));
        found.clear();
        found.extend_from_slice(searcher.nearest_within(query, options.match_limit(), self.distance)?);
        Ok(())
    }
}

fn answer<F: Fingerprint>(
    indexes: &MultiIndex<F>,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
    visit: &mut Visit<'_, F>,
) -> Result<(), ReadError> {
    check_distance::<F>(distance)?;
    let limit = options.match_limit();
    let mut parts = Indexes { indexes, distance, searcher: None };
    // The parts are limited one by one before.
    deliver(&mut parts, queries, options, &mut |place, found: &[Match<F>]| {
        visit(place, &found[..found.len().min(limit)])
    })
}
