//! Queries of one index, step by step: their blocks are located, prefetched, and scanned. Several queries, or a
//! query of several indexes, take each step together, so that their memory accesses overlap.
//!
//! The nearest are found by queries with increasing distance, until a walk through all of table 0 is cheaper.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::arch::{self, Instructions, Kernel};
use crate::codec::{Located, SCAN_BATCH, Target};
use crate::design::{Plan, is_first};
use crate::error::ReadError;
use crate::index::{EntryPlace, Index, Match};
use crate::memory::give_back;
use crate::progress::{Stopped, keeping};
use crate::table::Table;
use crate::table::locate::{HomeBlock, target_of};
use crate::table::scanner::{Scanner, prefetch_fronts, prefetch_likely};
use hamdex_fingerprint::Fingerprint;

/// Blocks prefetched from storage before the first is used: all of a query at a usual distance, and little
/// enough memory for a query that walks a whole table.
pub(super) const READ_AHEAD_BLOCKS: usize = 1024;

/// Blocks whose fronts are prefetched in a row.
const PREFETCH_BATCH: usize = 8;

/// Maximum number of blocks of a query for which the likely parts after their fronts are prefetched.
const MAX_SPECULATIVE_BLOCKS: usize = 12;

/// The cancellation check between two waves of blocks, with the number of blocks done and of all blocks.
pub(super) type WaveCheck<'a> = &'a dyn Fn(usize, usize) -> Result<(), Stopped>;

/// The memory of a query, used again and again.
#[derive(Default)]
pub(crate) struct Search<F> {
    /// Targets of the probes of all queries.
    targets: Vec<Target<F>>,
    /// The query and the probe of each target.
    origins: Vec<Origin>,
    /// Targets that need a key lookup.
    open: Vec<u32>,
    /// The blocks of one probe.
    blocks: Vec<u32>,
    /// The blocks of all targets.
    pub(crate) located: Vec<Located>,
    /// The next blocks of a walk.
    pub(crate) ahead: Vec<Located>,
    pub(crate) scanner: Scanner<F>,
}

/// The place of a query, and the number of a probe in its plan.
#[derive(Debug, Clone, Copy)]
struct Origin {
    query: u32,
    probe: u32,
}

impl<F: Fingerprint> Search<F> {
    /// Finds the blocks of all probes of some queries before any is read, so that memory accesses overlap.
    ///
    /// # Errors
    /// When a filter is damaged.
    #[inline]
    pub(crate) fn locate(
        &mut self,
        index: &Index<F>,
        queries: &[F],
        plan: &Plan<F>,
    ) -> Result<(), ReadError> {
        give_back(&mut self.located);
        give_back(&mut self.targets);
        give_back(&mut self.origins);
        let Self { targets, origins, open, blocks, located, .. } = self;
        let (tables, file) = (&*index.tables, index.data.as_ref());
        let locate = Locate { tables, file, queries, plan, targets, origins, open, blocks, located };
        arch::run(locate).map_err(|error| index.error(error))
    }

    /// Returns the targets, each with the number of its probe, for inspection.
    pub(crate) fn targets(&self) -> impl Iterator<Item = (usize, Target<F>)> {
        self.origins.iter().map(|origin| origin.probe as usize).zip(self.targets.iter().copied())
    }

    /// Prefetches the located blocks from storage, up to the limit for one wave.
    #[inline]
    pub(crate) fn read_ahead(&self, index: &Index<F>) {
        let first = &self.located[..self.located.len().min(READ_AHEAD_BLOCKS)];
        index.read_ahead.query(&index.data, &index.tables, first);
    }

    /// Calls `visit` with the place of a query and each stored fingerprint within the distance of it, each once, after
    /// the blocks have been located and read ahead.
    #[inline]
    pub(crate) fn scan<E: From<ReadError>>(
        &mut self,
        index: &Index<F>,
        queries: &[F],
        plan: &Plan<F>,
        check_wave: WaveCheck<'_>,
        mut visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { targets, origins, located, scanner, .. } = self;
        let tag = index.tag();
        let mut visit = |at: Located, entry, value| {
            let Origin { query, probe } = origins[at.target as usize];
            let place = query as usize;
            let (earlier, probe) = plan.probes().split_at(probe as usize);
            let fingerprint = index.tables[at.table as usize].permutation.undo(value);
            let difference = fingerprint ^ queries[place];
            debug_assert_eq!(probe[0].table, at.table as usize);
            if !is_first(earlier, difference) {
                return Ok(());
            }
            let entry =
                if at.table == 0 { EntryPlace::new(at.block, entry, tag) } else { EntryPlace::UNKNOWN };
            visit(place, Match { distance: difference.count_ones(), fingerprint, entry })
        };
        let mut done = 0;
        let mut waves = located.chunks(READ_AHEAD_BLOCKS);
        let mut next = waves.next().unwrap_or_default();
        while !next.is_empty() {
            let now = std::mem::replace(&mut next, waves.next().unwrap_or_default());
            index.read_ahead.query(&index.data, &index.tables, next);
            index.scan(scanner, now, targets, &mut visit)?;
            done += now.len();
            if !next.is_empty() {
                check_wave(done, located.len()).map_err(|stopped| index.error(stopped.into()))?;
            }
        }
        Ok(())
    }
}

impl<F: Fingerprint> Index<F> {
    /// As [`Scanner::scan`], with a visitor that may fail.
    #[inline]
    pub(crate) fn scan<E: From<ReadError>>(
        &self,
        scanner: &mut Scanner<F>,
        located: &[Located],
        targets: &[Target<F>],
        mut visit: impl FnMut(Located, usize, F) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| {
            let visit = &mut |at, entry, value| keep.error(visit(at, entry, value));
            let scanned = scanner.scan(&self.tables, self.data.as_ref(), located, targets, visit);
            // The end of a visit concerns no file, and allocates nothing.
            scanned.map_err(|error| if error.is_stop() { error } else { self.error(error) })
        })
    }
}

/// Finds the blocks of all probes of some queries: each step for all look-ups before the next, so that the
/// memory of a step has been prefetched.
struct Locate<'a, F> {
    tables: &'a [Table<F>],
    file: &'a [u8],
    queries: &'a [F],
    plan: &'a Plan<F>,
    targets: &'a mut Vec<Target<F>>,
    origins: &'a mut Vec<Origin>,
    open: &'a mut Vec<u32>,
    blocks: &'a mut Vec<u32>,
    located: &'a mut Vec<Located>,
}

impl<F: Fingerprint> Locate<'_, F> {
    /// Prefetches the lines of filters that all queries ask.
    #[inline(always)]
    fn prefetch_filters(&self) {
        for &query in self.queries {
            for (number, probe) in self.plan.probes().iter().enumerate() {
                let table = &self.tables[probe.table];
                if self.plan.asks_filter(number) {
                    let target =
                        target_of(&probe.reach, self.plan.distance(), table.permutation.apply(query));
                    table.prefetch_filter(self.file, &target);
                }
            }
        }
    }

    /// Makes the targets: of a probe that asks a filter, one for each prefix that the table may have, unless these are
    /// too many.
    #[inline(always)]
    fn make_targets(&mut self, instructions: impl Instructions) -> Result<(), ReadError> {
        let Self { tables, file, queries, plan, targets, origins, .. } = self;
        for (place, &query) in queries.iter().enumerate() {
            for (number, probe) in plan.probes().iter().enumerate() {
                let table = &tables[probe.table];
                let origin = Origin { query: place as u32, probe: number as u32 };
                let target = target_of(&probe.reach, plan.distance(), table.permutation.apply(query));
                let push = |target, targets: &mut Vec<Target<F>>, origins: &mut Vec<Origin>| {
                    table.prefetch_directory(&target);
                    targets.push(target);
                    origins.push(origin);
                };
                if plan.asks_filter(number) {
                    let first = targets.len();
                    table.split_by_filter(instructions, file, &target, |target| {
                        push(target, targets, origins);
                    })?;
                    if targets.len() - first <= plan.most_passed(number) {
                        continue;
                    }
                    targets.truncate(first);
                    origins.truncate(first);
                }
                push(target, targets, origins);
            }
        }
        Ok(())
    }
}

impl<F: Fingerprint> Kernel for Locate<'_, F> {
    type Output = Result<(), ReadError>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        self.targets.clear();
        self.origins.clear();
        self.open.clear();
        self.located.clear();
        self.prefetch_filters();
        self.make_targets(instructions)?;
        let Self { tables, file, plan, targets, origins, open, blocks, located, .. } = self;
        let table_of = |number: usize| plan.probes()[origins[number].probe as usize].table;
        for (number, target) in targets.iter().enumerate() {
            let table_number = table_of(number);
            let table = &tables[table_number];
            match table.home_block(target) {
                HomeBlock::Block(block) => {
                    located.push(Located {
                        table: table_number as u32,
                        block: block as u32,
                        target: number as u32,
                    });
                }
                HomeBlock::Nowhere => {}
                HomeBlock::Unknown => {
                    table.prefetch_keys(file, target);
                    open.push(number as u32);
                }
            }
        }
        // Not block by block: an address that must be looked up first delays the blocks after it.
        let mut prefetched = located.len().min(SCAN_BATCH);
        prefetch_fronts(tables, file, &located[..prefetched], targets);
        for &number in &*open {
            blocks.clear();
            let table = table_of(number as usize);
            tables[table].locate(file, &targets[number as usize], blocks);
            let place = |&block: &u32| Located { table: table as u32, block, target: number };
            located.extend(blocks.iter().map(place));
            let end = located.len().min(SCAN_BATCH);
            if end - prefetched >= PREFETCH_BATCH {
                prefetch_fronts(tables, file, &located[prefetched..end], targets);
                prefetched = end;
            }
        }
        prefetch_fronts(tables, file, &located[prefetched..located.len().min(SCAN_BATCH)], targets);
        // With more blocks, the front of each arrives long before the last is prefetched, and is a better
        // guide.
        if located.len() <= MAX_SPECULATIVE_BLOCKS {
            prefetch_likely(tables, file, located, targets);
        }
        Ok(())
    }
}

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
