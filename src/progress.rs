//! Progress and cancellation of long work.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A stage of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Fingerprints are read.
    Read,
    /// A table is sorted; in fingerprints.
    Sort {
        /// The table, 0-based.
        table: usize,
        /// Of how many; 1 while table 0 is sorted for a design that its contents will choose.
        tables: usize,
    },
    /// A table's blocks are written; in fingerprints.
    Write {
        /// The table, 0-based.
        table: usize,
        /// Of how many.
        tables: usize,
    },
    /// Ids are written, and their names.
    Ids,
    /// Everything is made durable.
    Sync,
    /// A file is verified; in blocks.
    Verify,
    /// A query reads many blocks; in blocks.
    Query,
    /// Queries of a batch are answered; in queries.
    Batch,
    /// Pairs are searched; in fingerprints, counted at each pass.
    Pairs,
    /// Files are copied; in bytes.
    Copy,
}

/// The progress of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// Units done in this phase.
    pub done: u64,
    /// Total of units, if known.
    pub total: Option<u64>,
}

impl Progress {
    /// Creates the progress of a phase, for work of other crates.
    #[must_use]
    pub fn new(phase: Phase, done: u64, total: Option<u64>) -> Self {
        Self { phase, done, total }
    }
}

/// A callback that long work calls with its progress; a break stops the work.
pub type ProgressCallback = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

/// Ends a visit, or long work, before its end: a visitor that has enough returns it, as an error of its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped by the caller")]
pub struct Stopped;

/// Keeps the error of a visitor, while it passes code that knows only that the visitor has stopped.
pub(crate) struct Keep<E>(Option<E>);

impl<E> Keep<E> {
    #[inline]
    pub(crate) fn error<S: From<Stopped>>(&mut self, visited: Result<(), E>) -> Result<(), S> {
        visited.map_err(|error| {
            self.0 = Some(error);
            Stopped.into()
        })
    }
}

/// Returns what a visit returns, or the error that its visitor has let keep.
#[inline]
pub(crate) fn keeping<E: From<R>, R>(visit: impl FnOnce(&mut Keep<E>) -> Result<(), R>) -> Result<(), E> {
    let mut keep = Keep(None);
    let outcome = visit(&mut keep);
    match keep.0 {
        Some(error) => Err(error),
        None => Ok(outcome?),
    }
}

/// The progress callback of the options, if any.
#[derive(Clone, Default)]
pub(crate) struct Report(Option<ProgressCallback>);

impl From<ProgressCallback> for Report {
    fn from(report: ProgressCallback) -> Self {
        Self(Some(report))
    }
}

impl Report {
    pub(crate) fn to(report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    /// Returns whether there is a callback.
    pub(crate) fn has_callback(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn callback(&self) -> Option<ProgressCallback> {
        self.0.clone()
    }

    pub(crate) fn report(&self, progress: Progress) -> Result<(), Stopped> {
        match &self.0 {
            Some(report) if report(progress).is_break() => Err(Stopped),
            _ => Ok(()),
        }
    }

    /// Counts what several threads do, and reports each time, now for the first time.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Result<Counter, Stopped> {
        let counter = Counter::new(self.clone(), phase, total);
        counter.check()?;
        Ok(counter)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Report" } else { "no report" })
    }
}

/// Counts the units of a phase. Once the callback has stopped the work, it is not called again by what comes
/// after, and every thread is stopped.
pub(crate) struct Counter {
    phase: Phase,
    total: Option<u64>,
    done: AtomicU64,
    is_stopped: AtomicBool,
    report: Report,
}

impl Counter {
    /// Returns a counter that has not reported yet.
    pub(crate) fn new(report: Report, phase: Phase, total: Option<u64>) -> Self {
        Self { phase, total, done: AtomicU64::new(0), is_stopped: AtomicBool::new(false), report }
    }

    /// Counts units that have been done.
    pub(crate) fn add(&self, units: u64) -> Result<(), Stopped> {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        let outcome = self.report.report(Progress::new(self.phase, done, self.total));
        if outcome.is_err() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Checks for cancellation: to be called often if units take long.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        self.add(0)
    }
}
