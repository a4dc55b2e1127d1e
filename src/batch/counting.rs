//! The batch of one index among several parts, of whose matches some may not count: a store has removed them.

use std::ops::ControlFlow;

use crate::batch::deliver::Gathered;
use crate::batch::options::BatchOptions;
use crate::error::ReadError;
use crate::index::handle::Index;
use crate::index::matches::Match;
use crate::index::nearest::{Counts, Limited};
use hamdex_fingerprint::Fingerprint;

/// Matches of a query that are gathered at first beyond twice the limit, as some may not count.
const SPARE: usize = 64;

/// How many times as many are gathered for queries of which too few have counted.
const GROWTH: usize = 8;

/// The most that are gathered of a query, unless twice the limit is more. Then each query is answered alone.
const MOST: usize = 1 << 14;

impl<T: Copy + Ord> Gathered<'_, T> {
    /// Adds the matches of an index that count, each as `found` makes it: all, or at least the nearest up to the limit of
    /// the options. Some may be added twice. Returns whether it broke.
    ///
    /// # Errors
    /// When a block that is read is damaged, the work is cancelled, or `counts` fails.
    pub fn add_batch<F: Fingerprint>(
        &mut self,
        index: &Index<F>,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        counts: Option<Counts<'_, F>>,
        found: impl Fn(Match<F>) -> T,
    ) -> Result<ControlFlow<()>, ReadError> {
        let Some(counts) = counts else {
            return index.batch_with(queries, distance, options, |place, matches| {
                matches.iter().try_for_each(|&one| self.push(place, found(one)))
            });
        };
        let wanted = options.match_limit();
        let mut places: Vec<usize> = (0..queries.len()).collect();
        let mut most = wanted.saturating_mul(2).saturating_add(SPARE);
        let last = most.max(MOST);
        while !places.is_empty() && most <= last {
            let asked: Vec<F> = places.iter().map(|&place| queries[place]).collect();
            let options = options.clone().limit(most);
            let (mut short, mut failure) = (Vec::new(), None);
            let outcome = index.batch_with(&asked, distance, &options, |at, matches| {
                let mut left = wanted;
                for one in matches {
                    if left == 0 {
                        break;
                    }
                    match counts(one) {
                        Ok(true) => self.push(places[at], found(*one))?,
                        Ok(false) => continue,
                        Err(error) => {
                            failure = Some(error);
                            return ControlFlow::Break(());
                        }
                    }
                    left -= 1;
                }
                if left > 0 && matches.len() == most {
                    short.push(places[at]);
                }
                ControlFlow::Continue(())
            })?;
            if let Some(error) = failure {
                return Err(error);
            }
            if outcome.is_break() {
                return Ok(outcome);
            }
            places = short;
            most = most.saturating_mul(GROWTH);
        }
        let queries = places.into_iter().map(|place| (place, queries[place]));
        self.add_each(index, queries, distance, options, counts, found)
    }

    /// As [`Self::add_batch`], one query after the other: of each, what does not count takes no memory.
    fn add_each<F: Fingerprint>(
        &mut self,
        index: &Index<F>,
        queries: impl Iterator<Item = (usize, F)>,
        distance: u32,
        options: &BatchOptions,
        counts: Counts<'_, F>,
        found: impl Fn(Match<F>) -> T,
    ) -> Result<ControlFlow<()>, ReadError> {
        let mut searcher = index.searcher();
        options.callback().into_iter().for_each(|report| searcher.report_to(report));
        let mut nearest = Vec::new();
        for (place, query) in queries {
            self.check()?;
            let mut failure = None;
            let mut limited = Limited::new(&mut nearest, options.match_limit());
            let _ = searcher.for_each(query, distance, |one| match counts(&one) {
                Ok(true) => limited.push(one),
                Ok(false) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            })?;
            limited.finish();
            if let Some(error) = failure {
                return Err(error);
            }
            if nearest.iter().try_for_each(|&one| self.push(place, found(one))).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{BuildOptions, Builder, MultiIndex};

    const BITS: u32 = 16;

    fn index() -> Arc<Index<u64>> {
        let mut builder = Builder::in_memory(BuildOptions::new()).unwrap();
        (0..1 << BITS).for_each(|value: u64| builder.push(value).unwrap());
        Arc::new(Index::from_bytes(builder.into_inner().unwrap().0).unwrap())
    }

    /// Of the 65,536 fingerprints near a query, fewer and fewer count, and these are the farthest.
    #[test]
    fn the_nearest_that_count_are_found_however_many_before_them_do_not() {
        let queries: Vec<u64> = (0..10).map(|at| 1 << at).collect();
        let index = index();
        for least in [0, 4, 8, 12, 15] {
            let is_far = move |value: u64| value.count_ones() >= least;
            let set = MultiIndex::new([Arc::clone(&index), Arc::clone(&index)])
                .filter(move |_, one| Ok(is_far(one.fingerprint)));
            for limit in [0, 1, 5, 20] {
                let mut visited = 0;
                let options = BatchOptions::new().limit(limit);
                let _ = set.batch_with(&queries, BITS, &options, |place, matches| {
                    visited += 1;
                    let mut expected: Vec<(u32, u64)> = (0..1 << BITS)
                        .filter(|&value| is_far(value))
                        .map(|value| ((value ^ queries[place]).count_ones(), value))
                        .collect();
                    expected.sort_unstable();
                    expected.truncate(limit);
                    let found = matches.iter().map(|one| (one.distance, one.fingerprint));
                    assert!(found.eq(expected), "{place}, from {least} bits on, limit {limit}");
                    ControlFlow::Continue(())
                });
                assert_eq!(visited, queries.len());
            }
        }
    }
}
