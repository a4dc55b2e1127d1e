//! What long work reports of itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stage of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Fingerprints are taken in.
    Read,
    /// A table is sorted; in fingerprints.
    Sort {
        /// Which table.
        table: usize,
        /// Of how many; 1 while table 0 is sorted for a design that its contents will choose.
        tables: usize,
    },
    /// A table's blocks are written; in fingerprints.
    Write {
        /// Which table.
        table: usize,
        /// Of how many.
        tables: usize,
    },
    /// Everything is made durable.
    Sync,
    /// A file is verified; in blocks.
    Verify,
    /// Queries of a batch are answered; in queries.
    Batch,
    /// Pairs are looked for; in fingerprints, each as often as it is gone through.
    Pairs,
}

/// How far a phase has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Units done in this phase.
    pub done: u64,
    /// Units in all, where that is known.
    pub total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(phase: Phase, done: u64, total: Option<u64>) -> Self {
        Self { phase, done, total }
    }
}

/// What to call as work goes on, if anything.
#[derive(Clone, Default)]
pub(crate) struct Report(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl Report {
    pub(crate) fn to(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    pub(crate) fn report(&self, progress: Progress) {
        if let Some(report) = &self.0 {
            report(progress);
        }
    }

    /// Counts what several threads do, and reports each time.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Counter<'_> {
        self.report(Progress::new(phase, 0, total));
        Counter { phase, total, done: AtomicU64::new(0), report: self }
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Report" } else { "no report" })
    }
}

/// Counts the units of a phase.
pub(crate) struct Counter<'a> {
    phase: Phase,
    total: Option<u64>,
    done: AtomicU64,
    report: &'a Report,
}

impl Counter<'_> {
    pub(crate) fn add(&self, units: u64) {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        self.report.report(Progress::new(self.phase, done, self.total));
    }
}
