//! Options of a batch.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::memory::default_memory;
use crate::progress::{Counter, Phase, Progress, ProgressCallback, Report, Stopped};

/// The most queries taken at a time: more would share blocks a little better, and wait longer for
/// their answers.
pub(crate) const MAX_QUERIES: usize = 1 << 20;

/// The most that a batch takes by default, in bytes: more would not make it faster.
const MAX_DEFAULT_MEMORY: u64 = 512 << 20;

/// A way to answer a batch. All give the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// The way estimated to be fastest, chosen for each chunk of queries: one of the others, or single queries
    /// on all threads.
    #[default]
    Auto,
    /// Reads the candidate blocks of the queries in all tables.
    Probe,
    /// Table 0 is streamed past tables of the queries (§3.2 of the paper): for many queries, or for
    /// files of one table.
    Scan,
}

/// Options of a batch; the defaults suit most uses.
#[derive(Debug, Clone)]
pub struct BatchOptions {
    pub(super) strategy: Strategy,
    pub(super) memory: u64,
    pub(super) threads: usize,
    limit: Option<usize>,
    pub(super) progress: Report,
    pub(super) dense_from: Option<usize>,
    pub(super) most_meeting_ns: Option<u64>,
    pub(super) is_sieved: Option<bool>,
    pub(super) at_once_ns: Option<f64>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchOptions {
    /// Returns the defaults: the faster strategy, [`default_memory`] but at most 512 MiB, all threads.
    #[must_use]
    pub fn new() -> Self {
        Self {
            strategy: Strategy::Auto,
            memory: default_memory().min(MAX_DEFAULT_MEMORY),
            threads: 0,
            limit: None,
            progress: Report::default(),
            dense_from: None,
            most_meeting_ns: None,
            is_sieved: None,
            at_once_ns: None,
        }
    }

    /// Sets the strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the memory limit, in bytes: half for the work, half for undelivered matches. With less memory,
    /// fewer queries are answered at a time; a single query may exceed the limit. A few MiB per thread come on
    /// top.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the maximum number of matches per query: the nearest, and of equally near ones the lowest.
    #[must_use]
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = Some(matches);
        self
    }

    /// Sets the number of threads; 0, the default, for all: see [the crate](crate#threads-memory-progress).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets a callback that any thread calls with the number of queries done, and that may stop the work: see
    /// [the crate](crate#threads-memory-progress).
    #[must_use]
    pub fn progress(mut self, report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Report::to(report);
        self
    }

    /// Sets the number of queries from which on a block is decoded, for tests and benches.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub fn dense_from(mut self, queries: usize) -> Self {
        self.dense_from = Some(queries);
        self
    }

    /// Sets the cost of meetings, in nanoseconds of the cost model, beyond which a scan is given up, for tests:
    /// [`Strategy::Scan`] otherwise runs to the end.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub fn most_meeting_ns(mut self, ns: u64) -> Self {
        self.most_meeting_ns = Some(ns);
        self
    }

    /// Sets whether a scan sieves fingerprints before it looks them up, for tests and benches.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub fn sieved(mut self, is_sieved: bool) -> Self {
        self.is_sieved = Some(is_sieved);
        self
    }

    /// Sets the time, in nanoseconds of the cost model, up to which the calling thread answers queries, for
    /// tests.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub fn at_once_ns(mut self, ns: f64) -> Self {
        self.at_once_ns = Some(ns);
        self
    }

    /// Bytes for the work.
    pub(super) fn work_bytes(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }

    /// Returns the maximum number of matches per query: that of [`BatchOptions::limit`], or `usize::MAX`.
    #[must_use]
    pub fn match_limit(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns the progress callback, for the single queries of a batch.
    #[doc(hidden)]
    #[must_use]
    pub fn callback(&self) -> Option<ProgressCallback> {
        self.progress.callback()
    }

    /// Returns a counter for the units of a phase; fails if the work is cancelled.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Result<Counter, Stopped> {
        self.progress.counter(phase, total)
    }

    /// Returns the options for a part of the work, which is cancelled with the whole.
    pub(crate) fn cancelled_with(&self, whole: &Arc<Counter>) -> Self {
        let whole = Arc::clone(whole);
        self.clone().progress(move |_| match whole.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(Stopped) => ControlFlow::Break(()),
        })
    }

    /// Returns the share of the memory limit for undelivered matches, in bytes.
    #[must_use]
    pub fn match_bytes(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }
}
