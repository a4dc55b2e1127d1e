//! Runs with removal marks.

use std::convert::Infallible;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use hamdex::Fingerprint;

use crate::memtable::run::Run;
use crate::segment::removed_places::RemovedPlaces;
use crate::write::batch::Pair;

/// A run and the places of its removed pairs.
#[derive(Debug)]
pub(crate) struct LiveRun<F> {
    pub(crate) run: Arc<Run<F>>,
    pub(crate) removed: RemovedPlaces,
    /// The number of the insertion of its newest pair.
    pub(super) last_insertion: u64,
}

impl<F> Clone for LiveRun<F> {
    fn clone(&self) -> Self {
        Self {
            run: Arc::clone(&self.run),
            removed: self.removed.clone(),
            last_insertion: self.last_insertion,
        }
    }
}

impl<F: Fingerprint> LiveRun<F> {
    pub(super) fn of(pairs: &[Pair<F>], distance: u32, last_insertion: u64) -> Self {
        let ControlFlow::Continue(live) =
            Self::try_of::<Infallible>(pairs, distance, last_insertion, &mut || ControlFlow::Continue(()));
        live
    }

    /// Builds as [`Self::of`]; `pause` is called at intervals, and may break.
    pub(super) fn try_of<B>(
        pairs: &[Pair<F>],
        distance: u32,
        last_insertion: u64,
        pause: &mut dyn FnMut() -> ControlFlow<B>,
    ) -> ControlFlow<B, Self> {
        let run = Arc::new(Run::try_new(pairs, distance, pause)?);
        ControlFlow::Continue(Self { run, removed: RemovedPlaces::default(), last_insertion })
    }

    /// Returns the number of pairs that are left.
    pub(super) fn len(&self) -> u64 {
        self.run.len() as u64 - self.removed.len()
    }

    /// Appends the pairs that are left, in order.
    pub(super) fn append_all(&self, pairs: &mut Vec<Pair<F>>) {
        self.append(0..self.run.values().len(), pairs);
    }

    /// Appends the pairs that are left of a range of its distinct fingerprints, in order.
    pub(super) fn append(&self, values: Range<usize>, pairs: &mut Vec<Pair<F>>) {
        if self.removed.is_empty() {
            self.run.append(values, pairs);
        } else {
            let left = self.run.pairs_of(values).filter(|&(place, _)| !self.removed.contains(place));
            pairs.extend(left.map(|(_, pair)| pair));
        }
    }

    /// Returns the pairs that are left and whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> impl Iterator<Item = Pair<F>> + '_ {
        let left = self.run.pairs_from(from).filter(|&(place, _)| !self.removed.contains(place));
        left.map(|(_, pair)| pair)
    }
}
