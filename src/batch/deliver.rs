//! Batches of a set of several parts: the matches of all parts are gathered, then delivered in the order of the queries,
//! within the memory allowed. Those of one index are delivered by [`chunks`](super::chunks).

use std::sync::Arc;

use crate::batch::groups::WORTH_GROUPING;
use crate::batch::{BatchOptions, MAX_QUERIES, VisitOf};
use crate::error::ReadError;
use crate::index::search::{Counts, Limited};
use crate::index::{Index, Match};
use crate::progress::{Counter, Phase, Stopped};
use hamdex_fingerprint::Fingerprint;

/// Matches between two cancellation checks.
const MATCHES_AT_ONCE: usize = 1 << 12;

/// Queries between two cancellation checks.
const QUERIES_AT_ONCE: usize = 1 << 12;

/// A set in parts, as [`deliver`] asks it. A match is a `T`: two that are equal are one.
pub(crate) trait Parts<F, T> {
    /// Why an answer fails.
    type Error: From<ReadError>;

    /// Adds all matches of each query to `found`, in any order; with a limit in the options at least the nearest.
    ///
    /// # Errors
    /// When a part cannot be read, there is no room in `found`, or the work is cancelled.
    fn gather(
        &mut self,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, T>,
    ) -> Result<(), Self::Error>;

    /// Replaces `found` by the matches of one query, in order, as many as the limit of the options allows.
    ///
    /// # Errors
    /// As for [`Parts::gather`].
    fn answer(&mut self, query: F, options: &BatchOptions, found: &mut Vec<T>) -> Result<(), Self::Error>;
}

/// The matches of some queries, as many as there is room for.
pub(crate) struct Gathered<'a, T> {
    found: Vec<(u32, T)>,
    room: usize,
    is_full: bool,
    done: &'a Counter,
}

impl<T: Copy + Ord> Gathered<'_, T> {
    /// Adds a match of the query at a place.
    ///
    /// # Errors
    /// When there is no room, or the work is cancelled.
    #[inline]
    pub(crate) fn push(&mut self, place: usize, found: T) -> Result<(), Stopped> {
        if self.found.len() == self.room || self.found.len() % MATCHES_AT_ONCE == MATCHES_AT_ONCE - 1 {
            self.look()?;
        }
        self.found.push((place as u32, found));
        Ok(())
    }

    #[cold]
    fn look(&mut self) -> Result<(), Stopped> {
        self.is_full = self.found.len() == self.room;
        if self.is_full { Err(Stopped) } else { self.done.check() }
    }

    /// Checks for cancellation, where a part takes long to find little.
    ///
    /// # Errors
    /// When the work is cancelled.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        Ok(self.done.check()?)
    }

    /// Calls `visit` with the place and the matches of each query.
    fn hand_on(mut self, queries: usize, visit: &mut VisitOf<'_, T>) -> Result<(), ReadError> {
        self.found.sort_unstable();
        self.found.dedup();
        let mut own = Vec::new();
        let (mut rest, mut since) = (&*self.found, 0);
        for place in 0..queries {
            let count = rest.iter().take_while(|(query, _)| *query as usize == place).count();
            let (of_query, behind) = rest.split_at(count);
            rest = behind;
            own.clear();
            own.extend(of_query.iter().map(|(_, found)| *found));
            since += count;
            if since >= MATCHES_AT_ONCE || place.is_multiple_of(QUERIES_AT_ONCE) {
                self.check()?;
                since = 0;
            }
            visit(place, &own)?;
        }
        Ok(())
    }
}

/// Calls `visit` with the place of each query and its matches in order, each once. There may be more of them than the
/// limit of the options.
///
/// Half of the memory of the options is for matches that wait here, and half for the parts. If the matches of some
/// queries find no room, fewer queries are asked at a time; few are asked one by one.
///
/// # Errors
/// When a part cannot be read, `visit` fails, or the work is cancelled. Queries before may have been visited.
pub(crate) fn deliver<F: Fingerprint, T: Copy + Ord, P: Parts<F, T>>(
    parts: &mut P,
    queries: &[F],
    options: &BatchOptions,
    visit: &mut VisitOf<'_, T>,
) -> Result<(), P::Error> {
    let done = options.counter(Phase::Batch, Some(queries.len() as u64)).map_err(ReadError::from)?;
    let done = Arc::new(done);
    let inner = options.part_of(&done).memory(options.memory / 2);
    // A vector that grows has up to twice the room that it needs.
    let room = options.half_bytes() / (2 * size_of::<(u32, T)>());
    let (mut at, mut size) = (0, MAX_QUERIES);
    while at < queries.len() {
        done.check().map_err(ReadError::from)?;
        let chunk = &queries[at..queries.len().min(at + size)];
        let mut visit = |place: usize, found: &[T]| visit(at + place, found);
        if chunk.len() < WORTH_GROUPING {
            let mut most = 0;
            one_by_one(parts, chunk, &inner, &done, &mut |place, found| {
                most = most.max(found.len());
                visit(place, found)
            })?;
            // While each query alone takes so much room, several would not fit.
            size = if most > room / WORTH_GROUPING { WORTH_GROUPING - 1 } else { WORTH_GROUPING };
        } else {
            let mut found = Gathered { found: Vec::new(), room, is_full: false, done: &done };
            let gathered = parts.gather(chunk, &inner, &mut found);
            if found.is_full {
                found.check()?;
                size = chunk.len() / 2;
                continue;
            }
            gathered?;
            if found.found.len() < room / 4 {
                size = MAX_QUERIES.min(size * 2);
            }
            found.hand_on(chunk.len(), &mut visit)?;
        }
        at += chunk.len();
        done.add(chunk.len() as u64).map_err(ReadError::from)?;
    }
    Ok(())
}

fn one_by_one<F: Fingerprint, T, P: Parts<F, T>>(
    parts: &mut P,
    queries: &[F],
    options: &BatchOptions,
    done: &Counter,
    visit: &mut VisitOf<'_, T>,
) -> Result<(), P::Error> {
    let mut found = Vec::new();
    for (place, &query) in queries.iter().enumerate() {
        done.check().map_err(ReadError::from)?;
        parts.answer(query, options, &mut found)?;
        visit(place, &found).map_err(ReadError::from)?;
    }
    Ok(())
}

/// Matches of a query that are gathered at first beyond twice the limit, as some may not count.
const SPARE: usize = 64;

/// How many times as many are gathered for queries of which too few have counted.
const GROWTH: usize = 8;

/// The most that are gathered of a query, unless twice the limit is more. Then each query is answered alone.
const MOST: usize = 1 << 14;

impl<F: Fingerprint> Gathered<'_, Match<F>> {
    /// Adds the matches of an index that count: all, or at least the nearest up to the limit of the options. Some may be added twice.
    ///
    /// # Errors
    /// When a block that is read is damaged, there is no room, the work is cancelled, or `counts` fails.
    pub(crate) fn add_batch(
        &mut self,
        index: &Index<F>,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        counts: Option<Counts<'_, F>>,
    ) -> Result<(), ReadError> {
        let Some(counts) = counts else {
            return index.batch_with(queries, distance, options, |place, matches| {
                Ok(matches.iter().try_for_each(|&one| self.push(place, one))?)
            });
        };
        let wanted = options.match_limit();
        let mut places: Vec<usize> = (0..queries.len()).collect();
        let mut most = wanted.saturating_mul(2).saturating_add(SPARE);
        let last = most.max(MOST);
        while !places.is_empty() && most <= last {
            let asked: Vec<F> = places.iter().map(|&place| queries[place]).collect();
            let options = options.clone().limit(most);
            let mut short = Vec::new();
            index.batch_with(&asked, distance, &options, |at, matches| {
                let mut left = wanted;
                for one in matches {
                    if left == 0 {
                        break;
                    }
                    if counts(one)? {
                        self.push(places[at], *one)?;
                        left -= 1;
                    }
                }
                if left > 0 && matches.len() == most {
                    short.push(places[at]);
                }
                Ok::<_, ReadError>(())
            })?;
            places = short;
            most = most.saturating_mul(GROWTH);
        }
        let queries = places.into_iter().map(|place| (place, queries[place]));
        self.add_each(index, queries, distance, options, counts)
    }

    /// As [`Self::add_batch`], one query after the other: of each, what does not count takes no memory.
    fn add_each(
        &mut self,
        index: &Index<F>,
        queries: impl Iterator<Item = (usize, F)>,
        distance: u32,
        options: &BatchOptions,
        counts: Counts<'_, F>,
    ) -> Result<(), ReadError> {
        let mut searcher = index.searcher();
        searcher.report_to(options.report());
        let mut nearest = Vec::new();
        for (place, query) in queries {
            self.check()?;
            let mut limited = Limited::new(&mut nearest, options.match_limit());
            searcher.for_each(query, distance, |one| {
                if counts(&one)? {
                    limited.push(one);
                }
                Ok::<_, ReadError>(())
            })?;
            limited.finish();
            nearest.iter().try_for_each(|&one| self.push(place, one))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::{BuildOptions, Builder, Cancellation, MultiIndex};

    use super::*;

    /// Every query has as many matches as it says. Records the most that were held at once.
    struct Crowd {
        most_held: usize,
    }

    impl Parts<u64, u64> for Crowd {
        type Error = ReadError;

        fn gather(
            &mut self,
            queries: &[u64],
            options: &BatchOptions,
            found: &mut Gathered<'_, u64>,
        ) -> Result<(), ReadError> {
            for (place, &query) in queries.iter().enumerate() {
                // Twice, as parts may have the same match.
                for number in (0..query.min(options.match_limit() as u64)).flat_map(|number| [number; 2]) {
                    let pushed = found.push(place, number);
                    self.most_held = self.most_held.max(found.found.len());
                    pushed?;
                }
            }
            self.most_held = self.most_held.max(found.found.len());
            Ok(())
        }

        fn answer(&mut self, query: u64, _: &BatchOptions, found: &mut Vec<u64>) -> Result<(), ReadError> {
            found.clear();
            found.extend(0..query);
            Ok(())
        }
    }

    const MEMORY: u64 = 64 << 10;

    #[test]
    fn every_query_is_answered_in_order_and_no_more_is_held_than_there_is_room_for() {
        let queries: Vec<u64> = (0..3000).map(|number| if number % 100 < 90 { 3 } else { 700 }).collect();
        let mut crowd = Crowd { most_held: 0 };
        let mut next = 0;
        let outcome =
            deliver(&mut crowd, &queries, &BatchOptions::new().memory(MEMORY), &mut |place, found| {
                assert_eq!(place, next);
                assert!(found.iter().copied().eq(0..queries[place]));
                next += 1;
                Ok(())
            });
        assert!(outcome.is_ok() && next == queries.len());
        let room = MEMORY as usize / 2 / (2 * size_of::<(u32, u64)>());
        assert!(crowd.most_held <= room && crowd.most_held > room / 4, "{} of {room}", crowd.most_held);
    }

    #[test]
    fn a_cancelled_batch_finds_a_bounded_number_of_further_matches() {
        for stop_after in [1, 2, 5, 50] {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let cancellation = Cancellation::new();
            let options = BatchOptions::new().cancellation(cancellation.clone()).progress(move |_| {
                if counted.fetch_add(1, Ordering::Relaxed) >= stop_after {
                    cancellation.cancel();
                }
            });
            let mut crowd = Crowd { most_held: 0 };
            let queries = vec![100_000; 64];
            let mut visited = 0;
            let outcome = deliver(&mut crowd, &queries, &options, &mut |_, _| {
                visited += 1;
                Ok(())
            });
            assert!(matches!(outcome.unwrap_err().kind(), crate::ReadErrorKind::Stopped));
            assert_eq!(visited, 0);
            // The callback is not asked again, nor is much found once it has stopped the work.
            assert!(calls.load(Ordering::Relaxed) <= stop_after + 1);
            assert!(crowd.most_held <= stop_after as usize * MATCHES_AT_ONCE, "{}", crowd.most_held);
        }
    }

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
                let visited_all = set.batch_with(&queries, BITS, &options, |place, matches| {
                    visited += 1;
                    let mut expected: Vec<(u32, u64)> = (0..1 << BITS)
                        .filter(|&value| is_far(value))
                        .map(|value| ((value ^ queries[place]).count_ones(), value))
                        .collect();
                    expected.sort_unstable();
                    expected.truncate(limit);
                    let found = matches.iter().map(|one| (one.distance, one.fingerprint));
                    assert!(found.eq(expected), "{place}, from {least} bits on, limit {limit}");
                    Ok::<_, ReadError>(())
                });
                assert!(visited_all.is_ok() && visited == queries.len());
            }
        }
    }
}
