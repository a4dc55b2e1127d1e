//! Consolidating the memtable beside writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::Engine;

use crate::background::Cancellation;
use crate::disk::Disk;
use crate::recent::consolidate::Consolidated;
use crate::shared::Shared;
use crate::state::State;

/// Removals that a merged run catches up with while writers wait, about.
const MAX_CATCH_UP: u64 = 1 << 10;

impl<F: Engine, D: Disk> Shared<F, D> {
    /// Merges runs of the memtable until none is due. Breaks if this is cancelled, or the memtable is frozen.
    pub(crate) fn consolidate(&self) -> ControlFlow<()> {
        let cancellation = self.background.cancellation();
        self.consolidate_after(0, self.state.load().generation, &cancellation)
    }

    /// The same, of the runs that have come after an insertion. While long runs are merged, this merges the shorter ones
    /// that come meanwhile.
    fn consolidate_after(
        &self,
        insertion: u64,
        generation: u64,
        cancellation: &Cancellation,
    ) -> ControlFlow<()> {
        loop {
            cancellation.check()?;
            let state = self.state.load();
            // A frozen memtable goes when it has been flushed.
            if state.generation != generation {
                return ControlFlow::Break(());
            }
            let Some(due) = state.recent.consolidation(insertion) else { return ControlFlow::Continue(()) };
            drop(state);
            let last = due.last_insertion();
            let merged = due.run(&mut || self.consolidate_after(last, generation, cancellation))?;
            self.adopt(merged, cancellation)?;
        }
    }

    /// Puts a merged run in place of those that it has been merged from.
    fn adopt(&self, mut merged: Consolidated<F>, cancellation: &Cancellation) -> ControlFlow<()> {
        // Most of what has been removed meanwhile, without keeping writers waiting.
        while merged.catch_up(&self.state.load().recent).is_some_and(|removals| removals > MAX_CATCH_UP) {
            cancellation.check()?;
        }
        let writer = self.writer();
        let mut state = State::clone(&self.state.load());
        let is_adopted = state.recent.adopt(&mut merged);
        let before = is_adopted.then(|| self.state.swap(Arc::new(state)));
        drop(writer);
        // Long runs take their time to go: no writer waits for it.
        drop((before, merged));
        ControlFlow::Continue(())
    }
}
