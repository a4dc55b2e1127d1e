//! Queries of one index, step by step: their blocks are located, prefetched, and scanned. Several queries, or a
//! query of several indexes, take each step together, so that their memory accesses overlap.

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

impl<F> Default for Search<F> {
    fn default() -> Self {
        let (located, ahead, scanner) = (Vec::new(), Vec::new(), Scanner::default());
        let (targets, origins) = (Vec::new(), Vec::new());
        Self { targets, origins, open: Vec::new(), blocks: Vec::new(), located, ahead, scanner }
    }
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
