//! From runs to pairs, each once.
//!
//! The leads of a join overlap: two fingerprints that differ in one bit agree under most of them. A pair
//! belongs to the first lead under which it agrees: see [`is_first`]. Long runs are divided before that: [`split`].

mod split;

use std::ops::ControlFlow;

use crate::design::{Admits, is_first};
use crate::join::collect::Collector;
use crate::join::compare::{Comparison, Hit, compare};
use crate::join::lead::{Agreement, Lead};
use crate::progress::Counter;
use hamdex_fingerprint::Fingerprint;

/// Runs beyond this many values are split by bits after the shared ones. Up to here it is faster to compare all
/// with all.
pub(super) const MAX_RUN: usize = 128;

/// Maximum of uncollected hits, in runs no longer than [`MAX_RUN`].
const MAX_HITS: usize = 1 << 18;

/// Comparisons between cancellation checks.
const WORK_AT_ONCE: usize = 1 << 20;

/// Values sampled to estimate the length of runs.
const SAMPLE: usize = 256;

/// Runs of more values than this, on average, go on beyond the next few values too often to be surprised
/// each time.
const LONG_ON_AVERAGE: usize = 4;

/// Finds the pairs of a lead.
pub(super) struct RunPairs<'a, 'c, F> {
    lead: &'a Lead<F>,
    /// [`Lead::earlier`], and while a long run is split, the groups by which it has been split so far.
    earlier: Vec<Agreement<F>>,
    distance: u32,
    longest: usize,
    hits: Vec<Hit>,
    dividing: split::Workspace<F>,
    collector: &'a mut Collector<'c, F>,
    done: &'a Counter,
    /// Comparisons, or equivalent work, since the last cancellation check.
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
        let dividing = split::Workspace::default();
        Self { lead, earlier, distance, longest, hits, dividing, collector, done, unchecked: 0 }
    }

    /// Breaks if the caller has cancelled the work, which the counter remembers.
    pub(super) fn check_cancelled(&mut self, work: usize) -> ControlFlow<()> {
        self.unchecked += work;
        if self.unchecked < WORK_AT_ONCE {
            return ControlFlow::Continue(());
        }
        self.unchecked = 0;
        if self.done.check().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Finds the pairs in `values`, in which values that agree under `mask` are adjacent: bits of the lead, or
    /// bits by which a long run is divided. Reorders the values of long runs.
    pub(super) fn find(&mut self, values: &mut [F], mask: F) -> ControlFlow<()> {
        self.check_cancelled(values.len())?;
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
            self.collect_hits(values, mask)?;
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

    /// Returns whether runs are longer than usual, by a sample of them.
    fn are_long(&self, values: &[F], mask: F) -> bool {
        let sample = &values[..values.len().min(SAMPLE)];
        let ends = sample.windows(2).filter(|two| (two[0] ^ two[1]) & mask != F::ZERO).count();
        sample.len() > ends * LONG_ON_AVERAGE
    }

    /// Collects the hits that agree under `mask` and belong to this lead.
    fn collect_hits(&mut self, values: &[F], mask: F) -> ControlFlow<()> {
        let agreement = Agreement(self.lead.mask | mask);
        for &(a, b) in &self.hits {
            let (a, b) = (values[a as usize], values[b as usize]);
            let difference = a ^ b;
            if agreement.admits(difference) && is_first(&self.earlier, difference) {
                self.collector.pair(self.lead.order.undo(a), self.lead.order.undo(b))?;
            }
        }
        self.hits.clear();
        ControlFlow::Continue(())
    }

    fn all_with_all(&mut self, values: &[F]) -> ControlFlow<()> {
        let starts_at_once = (MAX_HITS / values.len()).max(1);
        for start in (0..values.len()).step_by(starts_at_once) {
            let end = values.len().min(start + starts_at_once);
            self.check_cancelled((end - start) * values.len())?;
            let (mask, longest) = (F::ZERO, usize::MAX);
            let (distance, is_long) = (self.distance, true);
            let starts = start..end;
            compare(Comparison { values, starts, mask, distance, longest, is_long }, &mut self.hits);
            self.collect_hits(values, mask)?;
        }
        ControlFlow::Continue(())
    }
}
