//! Runs of which pairs can be removed.

use std::sync::Arc;

use hamdex::Engine;

use crate::pair::Pair;
use crate::recent::run::Run;
use crate::removed::Removed;

/// A run, and which of its pairs have been removed.
#[derive(Debug)]
pub(crate) struct LiveRun<F> {
    pub(crate) run: Arc<Run<F>>,
    pub(crate) removed: Removed,
}

impl<F> Clone for LiveRun<F> {
    fn clone(&self) -> Self {
        Self { run: Arc::clone(&self.run), removed: self.removed.clone() }
    }
}

impl<F: Engine> LiveRun<F> {
    pub(super) fn of(pairs: &[Pair<F>], distance: u32) -> Self {
        Self { run: Arc::new(Run::new(pairs, distance)), removed: Removed::default() }
    }

    /// How many pairs are left.
    pub(super) fn len(&self) -> u64 {
        self.run.len() as u64 - self.removed.len()
    }

    /// The pairs that are left, in order, from the first whose fingerprint is not below `from` on.
    pub(crate) fn pairs_from(&self, from: F) -> impl Iterator<Item = Pair<F>> + '_ {
        let left = self.run.pairs_from(from).filter(|&(place, _)| !self.removed.contains(place));
        left.map(|(_, pair)| pair)
    }
}
