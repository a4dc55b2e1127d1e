//! Queries.

use std::collections::BinaryHeap;
use std::fmt;
use std::ops::ControlFlow;

use crate::codec::{Differences, Target};
use crate::design::Plan;
use crate::error::ReadError;
use crate::fingerprint::Fingerprint;
use crate::index::Index;
use crate::mapping::Mapping;

/// A stored fingerprint near a query. Its ids, if there are any: [`Index::ids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match<F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
}

/// Asks an index, using the same memory again and again: after the first few queries none is
/// allocated any more. Made by [`Index::searcher`]; every thread has its own.
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
    /// The blocks of all probes, one probe after the other, and where each probe's end.
    blocks: Vec<u32>,
    ends: Vec<usize>,
    targets: Vec<Target<F>>,
    differences: Differences,
    matches: Vec<Match<F>>,
}

impl<'i, F: Fingerprint, D: AsRef<[u8]>> Searcher<'i, F, D> {
    pub(super) fn new(index: &'i Index<F, D>) -> Self {
        Self {
            index,
            blocks: Vec::new(),
            ends: Vec::new(),
            targets: Vec::new(),
            differences: Differences::default(),
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
            let mut visit = |_, fingerprint: F| {
                nearest.push(Match { distance: fingerprint.distance(query), fingerprint });
                if nearest.len() > count {
                    nearest.pop();
                }
                ControlFlow::Continue(())
            };
            let _ = table.scan(file, block as u32, &target, &mut self.differences, &mut visit)?;
        }
        self.matches = nearest.into_sorted_vec();
        Ok(())
    }

    /// Calls `visit` with every stored fingerprint within `distance` of `query`, each once, in no
    /// particular order, until it breaks. Tells whether it did.
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
        let file = index.data.as_ref();
        let mut start = 0;
        for (number, probe) in plan.probes().iter().enumerate() {
            let table = &index.tables[probe.table];
            let earlier = &plan.probes()[..number];
            let mut check = |_: usize, value| {
                let fingerprint = table.permutation.undo(value);
                let difference = fingerprint ^ query;
                // A match belongs to the first probe that meets it: so it is told once.
                if earlier.iter().any(|probe| probe.reach.admits(difference)) {
                    return ControlFlow::Continue(());
                }
                visit(Match { distance: difference.count_ones(), fingerprint })
            };
            for &block in &self.blocks[start..self.ends[number]] {
                let target = &self.targets[number];
                if table.scan(file, block, target, &mut self.differences, &mut check)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            start = self.ends[number];
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Finds the blocks of all probes before any is read, so that their memory is on its way.
    fn locate(&mut self, query: F, plan: &Plan<F>) {
        self.blocks.clear();
        self.ends.clear();
        self.targets.clear();
        for probe in plan.probes() {
            let table = &self.index.tables[probe.table];
            let target = Target {
                // A probe may look at more bits than the table leads with, or at fewer errors; it
                // never looks at other bits first.
                query: table.permutation.apply(query),
                prefix_bits: probe.reach.prefix_bits(),
                radius: probe.reach.radius,
                distance: plan.distance(),
            };
            let start = self.blocks.len();
            table.locate(&target, &mut self.blocks);
            for &block in &self.blocks[start..] {
                table.prefetch(self.index.data.as_ref(), block);
            }
            self.ends.push(self.blocks.len());
            self.targets.push(target);
        }
    }
}

impl<F: Fingerprint, D> fmt::Debug for Searcher<'_, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("index", self.index).finish_non_exhaustive()
    }
}
