//! Progress and cancellation of long work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

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

/// A callback that long work calls with its progress.
type ProgressCallback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Cancels long work. The work gets a clone, by its options; it ends soon after [`Cancellation::cancel`], from any
/// thread, or after the deadline: see [the crate](crate#threads-memory-progress).
///
/// ```
/// use hamdex::{BuildOptions, Builder, Cancellation, Index, ReadErrorKind, VerifyOptions};
///
/// let mut builder = Builder::in_memory(BuildOptions::<u64>::new())?;
/// (0..1000).try_for_each(|i| builder.push(i))?;
/// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
///
/// let cancellation = Cancellation::new();
/// let options = VerifyOptions::new().cancellation(cancellation.clone());
/// assert!(index.verify_with(&options).is_ok());
///
/// std::thread::scope(|scope| scope.spawn(|| cancellation.cancel()).join()).unwrap();
/// let error = index.verify_with(&options).unwrap_err();
/// assert!(matches!(error.kind(), ReadErrorKind::Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    is_cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Cancellation {
    /// Creates one that is not cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates one that cancels itself at a deadline.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Cancels the work of all clones, for good.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the work is cancelled, or the deadline has passed.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Fails if the work is cancelled.
    ///
    /// # Errors
    /// When it is.
    #[inline]
    pub fn check(&self) -> Result<(), Stopped> {
        if self.is_cancelled() { Err(Stopped) } else { Ok(()) }
    }
}

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

/// Receives the progress of long work, and says whether the work is cancelled: what `progress` and `cancellation` of
/// all options set. Work of several steps hands it on to each.
///
/// ```
/// use hamdex::{Cancellation, Phase, Progress, Report};
///
/// let cancellation = Cancellation::new();
/// let enough = cancellation.clone();
/// let report = Report::new().cancellation(cancellation).progress(move |progress| {
///     if progress.done >= 10 {
///         enough.cancel();
///     }
/// });
/// assert!(report.progressed(Progress::new(Phase::Read, 9, None)).is_ok());
/// assert!(report.progressed(Progress::new(Phase::Read, 10, None)).is_err());
/// ```
#[derive(Clone, Default)]
pub struct Report {
    callback: Option<ProgressCallback>,
    cancellations: Vec<Cancellation>,
}

impl Report {
    /// Returns a report without a callback, of work that cannot be cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the callback.
    #[must_use]
    pub fn progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.callback = Some(Arc::new(report));
        self
    }

    /// Adds a cancellation. Each of several cancels the work.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellations.push(cancellation);
        self
    }

    /// Passes progress to the callback.
    ///
    /// # Errors
    /// When the work is cancelled, before the call or by it. Once it is, nothing is called.
    pub fn progressed(&self, progress: Progress) -> Result<(), Stopped> {
        self.check()?;
        match &self.callback {
            None => Ok(()),
            Some(callback) => {
                callback(progress);
                self.check()
            }
        }
    }

    /// Fails if the work is cancelled.
    ///
    /// # Errors
    /// When it is.
    #[inline]
    pub fn check(&self) -> Result<(), Stopped> {
        self.cancellations.iter().try_for_each(Cancellation::check)
    }

    /// Whether anything receives progress or may cancel the work.
    pub(crate) fn is_watched(&self) -> bool {
        self.callback.is_some() || !self.cancellations.is_empty()
    }

    /// Counts what several threads do, and reports each time, now for the first time.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Result<Counter, Stopped> {
        let counter = Counter::new(self.clone(), phase, total);
        counter.check()?;
        Ok(counter)
    }
}

/// The setters of options that have a `report`.
macro_rules! report_setters {
    () => {
        /// Sets a callback that any thread calls during the work: see [the crate](crate#threads-memory-progress).
        #[must_use]
        pub fn progress(self, report: impl Fn(crate::Progress) + Send + Sync + 'static) -> Self {
            Self { report: self.report.progress(report), ..self }
        }

        /// Adds a cancellation of the work: see [the crate](crate#threads-memory-progress).
        #[must_use]
        pub fn cancellation(self, cancellation: crate::Cancellation) -> Self {
            Self { report: self.report.cancellation(cancellation), ..self }
        }

        /// Sets both the callback and the cancellations.
        #[must_use]
        pub fn report_to(self, report: crate::Report) -> Self {
            Self { report, ..self }
        }
    };
}

pub(crate) use report_setters;

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_watched() { "Report" } else { "no report" })
    }
}

/// Counts the units of a phase. Once the work is cancelled, every thread of it is stopped.
pub(crate) struct Counter {
    phase: Phase,
    total: Option<u64>,
    done: AtomicU64,
    report: Report,
}

impl Counter {
    /// Returns a counter that has not reported yet.
    pub(crate) fn new(report: Report, phase: Phase, total: Option<u64>) -> Self {
        Self { phase, total, done: AtomicU64::new(0), report }
    }

    /// Counts units that have been done.
    pub(crate) fn add(&self, units: u64) -> Result<(), Stopped> {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        self.report.progressed(Progress::new(self.phase, done, self.total))
    }

    /// Checks for cancellation: to be called often if units take long.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        self.add(0)
    }
}
