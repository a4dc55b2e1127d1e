//! From runs to pairs, each once.
//!
//! The leads of a join overlap: two fingerprints that differ in one bit agree under most of them. A pair
//! belongs to the first lead under which it agrees: see [`is_first`].

use std::ops::ControlFlow;

use crate::design::{Admits, is_first, split};
use crate::index::pairs::collect::Collector;
use crate::index::pairs::compare::{Comparison, Hit, compare};
use crate::index::pairs::lead::{Agreement, Lead};
use crate::progress::Counter;
use hamdex_fingerprint::Fingerprint;

/// Runs beyond this many values are split by bits behind those that they share. Up to here it is
/// quicker to compare all with all.
pub(super) const MAX_RUN: usize = 1024;

/// Hits that may wait to be collected, where the runs are no longer than [`MAX_RUN`].
const MAX_HITS: usize = 1 << 18;

/// Comparisons between two looks at whether to go on.
const WORK_AT_ONCE: usize = 1 << 20;

/// Values that are looked at to see how long runs are.
const SAMPLE: usize = 256;

/// Runs of more values than this, on average, go on beyond the next few values too often to be surprised
/// each time.
const LONG_ON_AVERAGE: usize = 4;

/// Finds the pairs of a lead.
pub(super) struct RunPairs<'a, 'c, F> {
    lead: &'a Lead<F>,
    /// [`Lead::earlier`], and while a long run is being split, what it was split by before.
    earlier: Vec<Agreement<F>>,
    distance: u32,
    longest: usize,
    hits: Vec<Hit>,
    collector: &'a mut Collector<'c, F>,
    done: &'a Counter,
    /// Comparisons, or what takes as long, since the last look at whether to go on.
    unchecked: usize,
}

impl<'a, 'c, F: Fingerprint> RunPairs<'a, 'c, F> {
    pub(super) fn new(
        lead: &'a Lead<F>,
        distance: u32,
        longest: usize,
        collector: &'a mut Collector<'c, F>,
        done: &'a Counter,
    ) -> Self {
        let (earlier, hits) = (lead.earlier.clone(), Vec::new());
        Self { lead, earlier, distance, longest, hits, collector, done, unchecked: 0 }
    }

    /// Breaks where the caller has stopped the work, which the counter remembers.
    pub(super) fn go_on(&mut self, work: usize) -> ControlFlow<()> {
        self.unchecked += work;
        if self.unchecked < WORK_AT_ONCE {
            return ControlFlow::Continue(());
        }
        self.unchecked = 0;
        if self.done.check().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Finds the pairs in `values`, where those that agree under `mask`, some of the lead's own bits,
    /// lie together. Leaves the values of long runs in another order.
    pub(super) fn find(&mut self, values: &mut [F], mask: F) -> ControlFlow<()> {
        self.go_on(values.len())?;
        let is_long = self.are_long(values, mask);
        let starts_at_once = (MAX_HITS / self.longest).max(1);
        let mut start = 0;
        while start < values.len() {
            let end = values.len().min(start + starts_at_once);
            let stopped = compare(
                Comparison {
                    values,
                    starts: start..end,
                    mask,
                    distance: self.distance,
                    longest: self.longest,
                    is_long,
                },
                &mut self.hits,
            );
            self.collect_hits(values)?;
            start = stopped;
            if stopped < end {
                let first = values[start];
                let length = values[start..].iter().take_while(|&&v| (v ^ first) & mask == F::ZERO).count();
                self.split(&mut values[start..start + length])?;
                start += length;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether runs are longer than usual, going by a few of them.
    fn are_long(&self, values: &[F], mask: F) -> bool {
        let sample = &values[..values.len().min(SAMPLE)];
        let ends = sample.windows(2).filter(|two| (two[0] ^ two[1]) & mask != F::ZERO).count();
        sample.len() > ends * LONG_ON_AVERAGE
    }

    fn collect_hits(&mut self, values: &[F]) -> ControlFlow<()> {
        for &(a, b) in &self.hits {
            let (a, b) = (values[a as usize], values[b as usize]);
            let difference = a ^ b;
            if Agreement(self.lead.mask).admits(difference) && is_first(&self.earlier, difference) {
                self.collector.pair(self.lead.permutation.undo(a), self.lead.permutation.undo(b))?;
            }
        }
        self.hits.clear();
        ControlFlow::Continue(())
    }

    /// Finds the pairs of a set whose values are all to be compared with each other.
    ///
    /// At most `distance` bits of a pair differ. So of distance + 1 groups of the bits that vary at
    /// all, one is the same in both: the pairs are in the runs that each group makes. This is the
    /// pigeonhole principle of the designs once more, on the bits that this very set leaves open. Where
    /// it would not lower the number of comparisons, all are compared with all; so there are never more
    /// than the square of the number of values.
    fn split(&mut self, values: &mut [F]) -> ControlFlow<()> {
        let first = values[0];
        let varying = values.iter().fold(F::ZERO, |varying, &value| varying | (value ^ first));
        if !is_first(&self.earlier, varying) {
            // All of them agree there: none of the pairs belongs here.
            return ControlFlow::Continue(());
        }
        if values.len() <= self.longest || varying.count_ones() <= self.distance {
            return self.all_with_all(values);
        }
        let before = self.earlier.len();
        let square = |count: usize| count as u128 * count as u128;
        let mut budget = square(values.len()) / 2;
        for group in split(varying, self.distance + 1) {
            self.go_on(values.len())?;
            values.sort_unstable_by_key(|&value| value & group);
            let same = |&a: &F, &b: &F| (a ^ b) & group == F::ZERO;
            let comparisons = values.chunk_by(same).map(|run| square(run.len())).sum();
            let Some(left) = budget.checked_sub(comparisons) else {
                // What agrees in an earlier group belongs there, and is not collected again.
                self.all_with_all(values)?;
                break;
            };
            budget = left;
            for run in values.chunk_by_mut(same) {
                if run.len() > 1 {
                    self.split(run)?;
                }
            }
            self.earlier.push(Agreement(group));
        }
        self.earlier.truncate(before);
        ControlFlow::Continue(())
    }

    fn all_with_all(&mut self, values: &[F]) -> ControlFlow<()> {
        let starts_at_once = (MAX_HITS / values.len()).max(1);
        for start in (0..values.len()).step_by(starts_at_once) {
            let end = values.len().min(start + starts_at_once);
            self.go_on((end - start) * values.len())?;
            let (mask, longest) = (F::ZERO, usize::MAX);
            let (distance, is_long) = (self.distance, true);
            let starts = start..end;
            compare(Comparison { values, starts, mask, distance, longest, is_long }, &mut self.hits);
            self.collect_hits(values)?;
        }
        ControlFlow::Continue(())
    }
}
