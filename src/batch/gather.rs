//! Gathering matches: found in any order, by any thread; delivered in the order of the queries.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::index::Match;
use crate::progress::{Counter, Stopped};
use hamdex_fingerprint::Fingerprint;

/// Matches that a task reserves room for at a time.
const GRANT: usize = 64;

/// Matches that are moved between cancellation checks.
const PIECE: usize = 1 << 18;

/// Room for matches, shared by all tasks.
pub(super) struct Room {
    most: usize,
    left: AtomicUsize,
}

impl Room {
    /// Room for what fits into `bytes`: each match is there twice while it is brought into order.
    pub(super) fn of_bytes<F>(bytes: usize) -> Self {
        let most = bytes / (size_of::<Found<F>>() + size_of::<Match<F>>());
        Self { most, left: AtomicUsize::new(most) }
    }

    /// For how many matches there is room in all.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns whether less than a quarter is in use.
    pub(super) fn is_ample(&self) -> bool {
        self.left.load(Ordering::Relaxed) > self.most - self.most / 4
    }

    fn take(&self, count: usize) -> bool {
        let take = |left: usize| left.checked_sub(count);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// For how many matches room has been taken.
    pub(super) fn taken(&self) -> usize {
        self.most - self.left.load(Ordering::Relaxed)
    }

    pub(super) fn give_back(&self, count: usize) {
        self.left.fetch_add(count, Ordering::Relaxed);
    }
}

/// There is no room for a match.
#[derive(Debug)]
pub(super) struct Full;

/// A match on its way to its query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<F> {
    pub(super) query: u32,
    pub(super) distance: u32,
    pub(super) fingerprint: F,
}

/// Matches found by one task.
pub(super) struct Finds<'a, F> {
    found: Vec<Found<F>>,
    granted: usize,
    room: &'a Room,
}

impl<'a, F> Finds<'a, F> {
    pub(super) fn new(room: &'a Room) -> Self {
        Self { found: Vec::new(), granted: 0, room }
    }

    /// # Errors
    /// When there is no room.
    #[inline]
    pub(super) fn push(&mut self, found: Found<F>) -> Result<(), Full> {
        if self.found.len() == self.granted {
            if !self.room.take(GRANT) {
                return Err(Full);
            }
            self.granted += GRANT;
        }
        self.found.push(found);
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Found<F>> {
        self.room.give_back(self.granted - self.found.len());
        self.found
    }
}

/// The matches of many queries.
pub(super) struct Batch<F> {
    /// Start of the matches of each query, and the end.
    starts: Vec<usize>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint> Batch<F> {
    /// Sorts matches by query; the matches of a query keep their order.
    pub(super) fn gather(queries: usize, parts: &[Vec<Found<F>>], done: &Counter) -> Result<Self, Stopped> {
        let pieces = || parts.iter().flat_map(|found| found.chunks(PIECE));
        let mut starts = vec![0; queries + 1];
        for piece in pieces() {
            done.check()?;
            piece.iter().for_each(|found| starts[found.query as usize + 1] += 1);
        }
        for query in 0..queries {
            starts[query + 1] += starts[query];
        }
        let nothing = Match::at_distance(0, F::ZERO);
        let mut matches = Vec::with_capacity(starts[queries]);
        while matches.len() < starts[queries] {
            done.check()?;
            matches.resize(starts[queries].min(matches.len() + PIECE), nothing);
        }
        for piece in pieces() {
            done.check()?;
            for &Found { query, distance, fingerprint } in piece {
                // Each start advances to the next one, and is one query too far then.
                let next = &mut starts[query as usize];
                matches[*next] = Match::at_distance(distance, fingerprint);
                *next += 1;
            }
        }
        starts.copy_within(..queries, 1);
        starts[0] = 0;
        Ok(Self { starts, matches })
    }

    /// Returns the matches of the query at `place`, to be sorted.
    pub(super) fn matches_mut(&mut self, place: usize) -> &mut [Match<F>] {
        &mut self.matches[self.starts[place]..self.starts[place + 1]]
    }

    /// Returns the number of queries.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Phase, Report};

    #[test]
    fn what_is_found_comes_to_its_query() {
        let found = |query, fingerprint| Found { query, distance: 0, fingerprint };
        let done = Counter::new(Report::default(), Phase::Batch, None);
        let parts = [vec![found(3, 1), found(1, 2)], vec![], vec![found(3, 3)]];
        let mut batch = Batch::<u64>::gather(4, &parts, &done).unwrap();
        for (query, expected) in [&[][..], &[2], &[], &[1, 3]].into_iter().enumerate() {
            assert!(batch.matches_mut(query).iter().map(|m| m.fingerprint).eq(expected.iter().copied()));
        }
        assert!(Batch::<u64>::gather(0, &[], &done).unwrap().matches.is_empty());
    }

    #[test]
    fn room_is_taken_and_given_back() {
        let room = Room::of_bytes::<u64>(32 * 100);
        let found = Found { query: 0, distance: 0, fingerprint: 0u64 };
        let mut finds = Finds::new(&room);
        assert!(finds.push(found).is_ok());
        assert_eq!(finds.finish().len(), 1);
        let mut finds = Finds::new(&room);
        assert!((0..GRANT).all(|_| finds.push(found).is_ok()));
        assert!(finds.push(found).is_err());
        assert!(!room.is_ample());
    }
}
