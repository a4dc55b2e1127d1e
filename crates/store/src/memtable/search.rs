//! The search for fingerprints near a query.

use std::ops::ControlFlow;

use hamdex::{Compiled, Fingerprint};

use crate::memtable::Memtable;
use crate::memtable::live_run::LiveRun;
use crate::memtable::tables::Buckets;

/// Number of runs whose buckets are found and prefetched before the first is read, so that waits for memory overlap.
const RUNS_AHEAD: usize = 8;

/// A search for the fingerprints within a distance of a query.
pub(super) struct Search<'m, F> {
    pub(super) memtable: &'m Memtable<F>,
    pub(super) query: F,
    pub(super) distance: u32,
    pub(super) visit: &'m mut dyn FnMut(F) -> ControlFlow<()>,
}

impl<F: Fingerprint> Compiled for Search<'_, F> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { memtable, query, distance, visit } = self;
        // First, since a hit there may end the search.
        for &(value, _) in &*memtable.tail {
            if value.distance(query) <= distance {
                visit(value)?;
            }
        }
        for runs in memtable.runs.chunks(RUNS_AHEAD) {
            let mut buckets = [Buckets::default(); RUNS_AHEAD];
            for (live, buckets) in runs.iter().zip(&mut buckets) {
                *buckets = live.run.find_buckets(query, distance);
            }
            for (live, buckets) in runs.iter().zip(&buckets) {
                live.run.prefetch(buckets);
            }
            for (LiveRun { run, removed, .. }, buckets) in runs.iter().zip(&buckets) {
                run.for_each_in(buckets, query, distance, |value| {
                    let is_left = removed.is_empty() || removed.leaves_any_of(run.places(value));
                    if is_left { visit(value) } else { ControlFlow::Continue(()) }
                })?;
            }
        }
        ControlFlow::Continue(())
    }
}
