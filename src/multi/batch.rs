//! Many queries of several indexes at once: one batch for each index, then the matches of each query together. And queries
//! of sets of shards, in families of indexes: a query needs one index of each family.

use std::sync::Arc;

use crate::batch::{BatchOptions, Gathered, Parts, Visit, deliver};
use crate::error::{ReadError, check_distance};
use crate::index::search::Counts;
use crate::index::{Index, Match};
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

/// Families of indexes. Each family stores all fingerprints, every one of them in one index. A query and a match of it
/// are in the same index of at least one family.
pub trait Router<F: Fingerprint> {
    /// Why an index cannot be opened or read.
    type Error: From<ReadError>;

    /// Returns the number of families.
    fn families(&self) -> usize;

    /// Returns the number of the index of a family that a fingerprint is in, if it is stored.
    fn route(&self, family: usize, fingerprint: F) -> usize;

    /// Returns the index of that number, and opens it if necessary.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn index(&self, number: usize) -> Result<&Arc<Index<F>>, Self::Error>;
}

impl<F: Fingerprint> MultiSearcher<F> {
    /// Switches to the indexes that a query needs, one of each family, without filters, with the same buffers.
    ///
    /// # Errors
    /// When one of them cannot be opened. It has to be called again before a query then.
    pub fn turn_to_route<R: Router<F>>(&mut self, router: &R, query: F) -> Result<(), R::Error> {
        self.searches.resize_with(router.families(), Default::default);
        self.indexes.filters.clear();
        let indexes = &mut self.indexes.indexes;
        indexes.truncate(router.families());
        for family in 0..router.families() {
            let index = router.index(router.route(family, query))?;
            match indexes.get_mut(family) {
                // Mostly the query before needed it too.
                Some(current) if Arc::ptr_eq(current, index) => {}
                Some(current) => *current = Arc::clone(index),
                None => indexes.push(Arc::clone(index)),
            }
        }
        Ok(())
    }
}

/// Calls `visit` with the place of each query and its matches, as [`MultiIndex::batch_with`] does. Each index
/// answers a batch of the queries that need it; a match that several families find is that of the first.
///
/// # Errors
/// When an index cannot be opened, or a block that is read is damaged, and earlier queries may have been visited; or the
/// distance exceeds the width; the error of `visit`.
pub fn batch_by_routes<F: Fingerprint, R: Router<F>, E: From<R::Error>>(
    router: &R,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
    mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
) -> Result<(), E> {
    check_distance::<F>(distance).map_err(R::Error::from)?;
    let limit = options.match_limit();
    let mut parts = Routed { router, distance, searcher: None };
    // The indexes are limited one by one before.
    keeping(|keep| {
        deliver(&mut parts, queries, options, &mut |place, found: &[Match<F>]| {
            keep.error(visit(place, &found[..found.len().min(limit)]))
        })
    })
}

/// The indexes of all families, as parts of a batch.
struct Routed<'r, F, R> {
    router: &'r R,
    distance: u32,
    /// Made for the first query that is answered alone.
    searcher: Option<MultiSearcher<F>>,
}

impl<F: Fingerprint, R: Router<F>> Parts<F, Match<F>> for Routed<'_, F, R> {
    type Error = R::Error;

    fn gather(
        &mut self,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<(), R::Error> {
        let router = self.router;
        let mut routed = Vec::new();
        for family in 0..router.families() {
            let numbers = queries.iter().map(|&query| router.route(family, query) as u32);
            let mut places: Vec<(u32, u32)> = numbers.zip(0..).collect();
            places.sort_unstable();
            for places in places.chunk_by(|one, other| one.0 == other.0) {
                routed.clear();
                routed.extend(places.iter().map(|&(_, place)| queries[place as usize]));
                let index = router.index(places[0].0 as usize)?;
                index.batch_with(&routed, self.distance, options, |at, matches| {
                    let own = |near: &&Match<F>| {
                        let is_same = |before| {
                            router.route(before, routed[at]) == router.route(before, near.fingerprint)
                        };
                        !(0..family).any(is_same)
                    };
                    let mut own = matches.iter().filter(own);
                    Ok::<_, ReadError>(own.try_for_each(|near| found.push(places[at].1 as usize, *near))?)
                })?;
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        query: F,
        options: &BatchOptions,
        found: &mut Vec<Match<F>>,
    ) -> Result<(), R::Error> {
        let searcher = self.searcher.get_or_insert_with(|| MultiIndex::new([]).searcher_of_batch(options));
        searcher.turn_to_route(self.router, query)?;
        found.clear();
        found.extend_from_slice(searcher.nearest_within(query, options.match_limit(), self.distance)?);
        Ok(())
    }
}
