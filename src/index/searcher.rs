//! Queries.

use std::collections::BinaryHeap;
use std::fmt;
use std::ops::ControlFlow;

use crate::arch::{self, Instructions, Kernel};
use crate::codec::{Located, SCAN_BATCH, Target};
use crate::design::{Plan, is_first};
use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::handle::Index;
use crate::index::matches::Match;
use crate::mapping::Mapping;
use crate::table::locate::target_of;
use crate::table::reader::Table;
use crate::table::scanner::{Scanner, prefetch_fronts, prefetch_likely};
use hamdex_fingerprint::Fingerprint;

/// Blocks that are read ahead from storage before the first is used: all of a query at a usual distance, and
/// what memory can do without where a query walks through a whole table.
const READ_AHEAD_BLOCKS: usize = 1024;

/// Blocks whose fronts are prefetched in a row.
const PREFETCH_BATCH: usize = 8;

/// The most blocks of a query behind whose fronts what is likely to be wanted is prefetched.
const MAX_SPECULATIVE_BLOCKS: usize = 12;

/// Queries an index, using the same memory again and again: after the first few queries none is
/// allocated any more. Made by [`Index::searcher`]; every thread has its own. Thousands of queries at once
/// are answered several times as fast by [`Index::batch`].
///
/// ```
/// use hamdex::{Builder, Index};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("small.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// (0..1000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab))?;
/// builder.finish()?;
///
/// let index = Index::<u64>::open(&path)?;
/// let mut searcher = index.searcher();
/// assert_eq!(searcher.first(1, 3)?.map(|m| m.fingerprint), Some(0));
/// assert_eq!(searcher.nearest(0x0123_4567_89aa, 1)?[0].distance, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Searcher<'i, F, D = Mapping> {
    index: &'i Index<F, D>,
    targets: Vec<Target<F>>,
    /// The blocks of one probe.
    blocks: Vec<u32>,
    /// The blocks of all probes, each with the number of its probe as that of its target.
    located: Vec<Located>,
    scanner: Scanner<F>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// A searcher: the memory that queries use again and again. One for each thread.
    #[must_use]
    pub fn searcher(&self) -> Searcher<'_, F, D> {
        Searcher::new(self)
    }
}

impl<'i, F: Fingerprint, D: AsRef<[u8]>> Searcher<'i, F, D> {
    fn new(index: &'i Index<F, D>) -> Self {
        Self {
            index,
            targets: Vec::new(),
            blocks: Vec::new(),
            located: Vec::new(),
            scanner: Scanner::default(),
            matches: Vec::new(),
        }
    }

    /// All stored fingerprints within `distance` of `query`, nearest first, then by fingerprint.
    ///
    /// Any distance is exact; one beyond the design's takes longer.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], ReadError> {
        let mut matches = std::mem::take(&mut self.matches);
        matches.clear();
        let outcome = self.for_each(query, distance, |found| {
            matches.push(found);
            ControlFlow::Continue(())
        });
        matches.sort_unstable();
        self.matches = matches;
        outcome.map(|_| &*self.matches)
    }

    /// Some stored fingerprint within `distance` of `query`, the first that comes up, if there is one:
    /// always the same one for the same file, not always the nearest.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, ReadError> {
        let mut first = None;
        let _ = self.for_each(query, distance, |found| {
            first = Some(found);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// The `count` stored fingerprints nearest to `query`, nearest first, then by fingerprint; all of
    /// them if there are no more.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn nearest(&mut self, query: F, count: usize) -> Result<&[Match<F>], ReadError> {
        if self.within(query, self.index.design.distance())?.len() < count {
            self.nearest_by_walk(query, count)?;
        }
        self.matches.truncate(count);
        Ok(&self.matches)
    }

    /// Walks all of table 0, from the query's own block on, keeping the nearest so far: what they rule
    /// out is passed over.
    fn nearest_by_walk(&mut self, query: F, count: usize) -> Result<(), ReadError> {
        let table = &self.index.tables[0];
        let file = self.index.data.as_ref();
        let mut nearest = BinaryHeap::from(std::mem::take(&mut self.matches));
        nearest.clear();
        let home = table.keys.find(query);
        for block in (home..table.keys.len()).chain((0..home).rev()) {
            let worst = nearest.peek().filter(|_| nearest.len() == count);
            // One as far as the worst may still come before it, by its value.
            let reach = worst.map_or(F::BITS, |worst: &Match<F>| worst.distance);
            let target = Target { query, prefix_bits: F::BITS, radius: reach, distance: reach };
            if table.rules_out(&target, block) {
                continue;
            }
            let visit = |_, _, fingerprint: F| {
                nearest.push(Match { distance: fingerprint.distance(query), fingerprint });
                if nearest.len() > count {
                    nearest.pop();
                }
                ControlFlow::Continue(())
            };
            let at = Located { table: 0, block: block as u32, target: 0 };
            let outcome = self.scanner.scan(&self.index.tables, file, &[at], &[target], visit);
            let _ = outcome.map_err(|error| self.index.error(error))?;
        }
        self.matches = nearest.into_sorted_vec();
        Ok(())
    }

    /// The ids of a fingerprint, as [`Index::ids`] gives them, without allocating. To go through the
    /// matches of one searcher, look up their ids with another.
    ///
    /// # Errors
    /// When a block or page that matters is damaged.
    pub fn ids(&mut self, fingerprint: F) -> Result<Ids<'i>, ReadError> {
        self.index.ids_with(fingerprint, &mut self.scanner)
    }

    /// Calls `visit` with every stored fingerprint within `distance` of `query`, each once, in no
    /// particular order, until it breaks. Returns whether it did.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn for_each(
        &mut self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(Match<F>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let index = self.index;
        let plan = index.plan(distance);
        self.locate(query, plan);
        let Self { targets, located, scanner, .. } = self;
        let mut visit = |at: Located, _, value| {
            let (earlier, _) = plan.probes().split_at(at.target as usize);
            let fingerprint = index.tables[at.table as usize].permutation.undo(value);
            let difference = fingerprint ^ query;
            if !is_first(earlier, difference) {
                return ControlFlow::Continue(());
            }
            visit(Match { distance: difference.count_ones(), fingerprint })
        };
        let mut waves = located.chunks(READ_AHEAD_BLOCKS);
        let mut next = waves.next().unwrap_or_default();
        index.read_ahead.query(&index.data, &index.tables, next);
        while !next.is_empty() {
            let now = std::mem::replace(&mut next, waves.next().unwrap_or_default());
            index.read_ahead.query(&index.data, &index.tables, next);
            let outcome = scanner.scan(&index.tables, index.data.as_ref(), now, targets, &mut visit);
            if outcome.map_err(|error| index.error(error))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Finds the blocks of all probes before any is read, so that memory can work ahead.
    #[inline]
    fn locate(&mut self, query: F, plan: &Plan<F>) {
        let Self { index, targets, blocks, located, .. } = self;
        let (tables, file) = (&*index.tables, index.data.as_ref());
        arch::run(Locate { tables, file, query, plan, targets, blocks, located });
    }
}

/// Finds the blocks of all probes of a query: one step of all look-ups after the other, so that none waits
/// for memory that has not been prefetched yet.
struct Locate<'a, F> {
    tables: &'a [Table<F>],
    file: &'a [u8],
    query: F,
    plan: &'a Plan<F>,
    targets: &'a mut Vec<Target<F>>,
    blocks: &'a mut Vec<u32>,
    located: &'a mut Vec<Located>,
}

impl<F: Fingerprint> Kernel for Locate<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Instructions) {
        let Self { tables, file, query, plan, targets, blocks, located } = self;
        targets.clear();
        for probe in plan.probes() {
            let table = &tables[probe.table];
            let target = target_of(&probe.reach, plan.distance(), table.permutation.apply(query));
            table.prefetch_directory(&target);
            targets.push(target);
        }
        for (probe, target) in plan.probes().iter().zip(&*targets) {
            tables[probe.table].prefetch_keys(file, target);
        }
        located.clear();
        let mut prefetched = 0;
        for (number, (probe, target)) in plan.probes().iter().zip(&*targets).enumerate() {
            blocks.clear();
            tables[probe.table].locate(target, blocks);
            let place = |&block: &u32| Located { table: probe.table as u32, block, target: number as u32 };
            located.extend(blocks.iter().map(place));
            // Not block by block: an address that has to be looked up first holds up what comes after it.
            let end = located.len().min(SCAN_BATCH);
            if end - prefetched >= PREFETCH_BATCH {
                prefetch_fronts(tables, file, &located[prefetched..end]);
                prefetched = end;
            }
        }
        prefetch_fronts(tables, file, &located[prefetched..located.len().min(SCAN_BATCH)]);
        // With more blocks, the front of each has come long before the last is prefetched, and is a better
        // guide.
        if located.len() <= MAX_SPECULATIVE_BLOCKS {
            prefetch_likely(tables, file, located, targets);
        }
    }
}

impl<F: Fingerprint, D> fmt::Debug for Searcher<'_, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("index", self.index).finish_non_exhaustive()
    }
}
