//! The nearest neighbours: queries with increasing distance, until a walk is cheaper: a walk through all of
//! table 0.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::codec::{Located, Target};
use crate::error::ReadError;
use crate::index::search::{Search, WaveCheck};
use crate::index::{EntryPlace, Index, Match};
use crate::table::Table;
use hamdex_fingerprint::Fingerprint;

/// Blocks of a walk that are prefetched together, and then scanned with the current bound.
const WALK_BLOCKS: usize = 256;

/// Blocks to either side of the query's own that a walk reads first: near matches there rule out most of the
/// rest.
const HOME_BLOCKS: usize = 32;

/// Share of table 0 in the blocks of a plan beyond which a walk is cheaper: it reads in order, and its matches
/// rule out more and more.
const WALK_SHARE: f64 = 0.25;

/// Tables of at most this many blocks are walked faster than a plan is made.
const SMALL_TABLE_BLOCKS: usize = 4096;

/// Keeps the least of many matches, in memory for about twice as many.
pub(crate) struct Limited<'m, M> {
    matches: &'m mut Vec<M>,
    limit: usize,
}

impl<'m, M: Ord> Limited<'m, M> {
    pub(crate) fn new(matches: &'m mut Vec<M>, limit: usize) -> Self {
        matches.clear();
        Self { matches, limit }
    }

    #[inline]
    pub(crate) fn push(&mut self, found: M) {
        self.matches.push(found);
        if self.matches.len() / 2 >= self.limit {
            self.cut();
        }
    }

    #[cold]
    fn cut(&mut self) {
        if self.limit > 0 && self.matches.len() > self.limit {
            self.matches.select_nth_unstable(self.limit);
        }
        self.matches.truncate(self.limit);
    }

    /// Leaves them in order.
    #[inline]
    pub(crate) fn finish(mut self) {
        if self.matches.len() > self.limit {
            self.cut();
        }
        self.matches.sort_unstable();
    }
}

/// Returns whether a match counts.
pub(crate) type Counts<'a, F> = &'a mut dyn FnMut(&Match<F>) -> Result<bool, ReadError>;

/// Returns the distance of the first search for the `count` nearest within `most` bits: the distance of the design, or
/// `most` if the count is unlimited, since all matches take one search.
pub(crate) fn first_distance(count: usize, most: u32, of_design: u32) -> u32 {
    if count == usize::MAX { most } else { most.min(of_design) }
}

/// Returns whether a walk through table 0 is cheaper than the plan for a distance.
pub(crate) fn is_walk_cheaper<F: Fingerprint>(index: &Index<F>, distance: u32) -> bool {
    let blocks = index.tables[0].keys.len();
    blocks <= SMALL_TABLE_BLOCKS || index.expected_blocks(distance) > blocks as f64 * WALK_SHARE
}

/// Finds the `count` nearest within `most` bits for which `counts` returns true, in order: walks table 0 from
/// the query's own block on, and skips the blocks that the matches so far rule out.
pub(crate) fn walk<F: Fingerprint>(
    index: &Index<F>,
    search: &mut Search<F>,
    query: F,
    (count, most): (usize, u32),
    (check_wave, counts): (WaveCheck<'_>, Counts<'_, F>),
    matches: &mut Vec<Match<F>>,
) -> Result<(), ReadError> {
    let (table, tag) = (&index.tables[0], index.tag());
    let mut nearest = BinaryHeap::from(std::mem::take(matches));
    nearest.clear();
    let file = index.data.as_ref();
    let mut order = order(table, file, query);
    let mut done = 0;
    let target = |nearest: &BinaryHeap<Match<F>>| {
        let worst = nearest.peek().filter(|_| nearest.len() >= count);
        // One as far as the worst may still come before it, by its value.
        let reach = worst.map_or(most, |worst| worst.distance);
        Target { query, prefix_bits: F::BITS, radius: reach, distance: reach }
    };
    let Search { located: now, ahead: next, scanner, .. } = search;
    wave(table, file, &mut order, &mut done, &target(&nearest), next);
    index.read_ahead.query(&index.data, &index.tables, next);
    while !next.is_empty() && count > 0 {
        let target = target(&nearest);
        std::mem::swap(now, next);
        wave(table, file, &mut order, &mut done, &target, next);
        index.read_ahead.query(&index.data, &index.tables, next);
        index.scan(scanner, now, &[target], |at, entry, fingerprint| {
            let (distance, entry) = (fingerprint.distance(query), EntryPlace::new(at.block, entry, tag));
            let found = Match { distance, fingerprint, entry };
            if nearest.len() == count && nearest.peek().is_some_and(|worst| *worst <= found) {
                return Ok(());
            }
            if counts(&found)? {
                nearest.push(found);
            }
            if nearest.len() > count {
                nearest.pop();
            }
            Ok::<_, ReadError>(())
        })?;
        check_wave(done, table.keys.len()).map_err(|stopped| index.error(stopped.into()))?;
    }
    *matches = nearest.into_sorted_vec();
    Ok(())
}

/// Returns all blocks of a table, starting around the query's own.
fn order<F: Fingerprint>(table: &Table<F>, file: &[u8], query: F) -> impl Iterator<Item = usize> + use<F> {
    let blocks = table.keys.len();
    let home = table.keys.in_file(file).find(query);
    let about: Range<usize> = home.saturating_sub(HOME_BLOCKS)..blocks.min(home + HOME_BLOCKS);
    about.clone().chain(about.end..blocks).chain(0..about.start)
}

/// Puts the next blocks that are not ruled out into `located`.
fn wave<F: Fingerprint>(
    table: &Table<F>,
    file: &[u8],
    order: &mut impl Iterator<Item = usize>,
    done: &mut usize,
    target: &Target<F>,
    located: &mut Vec<Located>,
) {
    let blocks = order.inspect(|_| *done += 1).filter(|&block| !table.rules_out(file, target, block));
    located.clear();
    located
        .extend(blocks.map(|block| Located { table: 0, block: block as u32, target: 0 }).take(WALK_BLOCKS));
}
