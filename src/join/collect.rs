//! Collecting pairs: they are counted, or delivered in batches.

use std::ops::ControlFlow;

use crate::join::pair::Pair;
use hamdex_fingerprint::Fingerprint;

/// Pairs delivered at a time: enough that delivery costs nothing, few enough to wait in memory.
const BATCH: usize = 4096;

/// The results of a task.
pub(super) enum Found<F> {
    Pairs(Vec<Pair<F>>),
    /// Number of pairs at each distance.
    Counts(Vec<u64>),
}

/// The receiver of a task's results.
pub(super) type Outlet<'a, F> = &'a mut dyn FnMut(Found<F>) -> ControlFlow<()>;

/// Takes the pairs of a task.
pub(super) struct Collector<'a, F> {
    batch: Vec<Pair<F>>,
    counts: Option<Vec<u64>>,
    outlet: Outlet<'a, F>,
}

impl<'a, F: Fingerprint> Collector<'a, F> {
    /// Hands pairs on in batches.
    pub(super) fn of_pairs(outlet: Outlet<'a, F>) -> Self {
        Self { batch: Vec::new(), counts: None, outlet }
    }

    /// Counts pairs of up to that distance.
    pub(super) fn of_counts(distance: u32, outlet: Outlet<'a, F>) -> Self {
        Self { batch: Vec::new(), counts: Some(vec![0; distance as usize + 1]), outlet }
    }

    /// Takes a pair, in any order.
    #[inline]
    pub(super) fn pair(&mut self, one: F, other: F) -> ControlFlow<()> {
        if let Some(counts) = &mut self.counts {
            counts[one.distance(other) as usize] += 1;
            return ControlFlow::Continue(());
        }
        self.batch.push(Pair::of(one, other));
        if self.batch.len() < BATCH { ControlFlow::Continue(()) } else { self.hand_on() }
    }

    #[cold]
    fn hand_on(&mut self) -> ControlFlow<()> {
        let next = Vec::with_capacity(BATCH);
        (self.outlet)(Found::Pairs(std::mem::replace(&mut self.batch, next)))
    }

    /// Delivers the remaining pairs.
    pub(super) fn finish(self) -> ControlFlow<()> {
        match self.counts {
            Some(counts) => (self.outlet)(Found::Counts(counts)),
            None if self.batch.is_empty() => ControlFlow::Continue(()),
            None => (self.outlet)(Found::Pairs(self.batch)),
        }
    }
}
