//! Many queries at once: the paper's batch (§3.2), in both of its directions.
//!
//! - *probe*: for each table, the candidate blocks of the queries are located and sorted; then each block is visited
//!   once. A block that many queries share is decoded once for all of them; one that few share is scanned as single
//!   queries would.
//! - *scan*: tables are built over the queries, in memory, and table 0 of the file is streamed past
//!   them, each block decoded once. It needs no other table, and its time hardly depends on the
//!   number of queries.
//!
//! The third way is single queries, in groups that overlap their memory accesses, by all threads; it pays if
//! few queries share a block. [`cost`] estimates the cheapest way from a sample of the queries.
//!
//! - [`chunks`]: the batches of one index: queries in chunks, answers in their order, within the memory limit
//! - [`gather`]: matches, found in any order, on their way to their queries
//! - [`deliver`]: the batches of a set of several parts
//! - [`groups`], [`probe`], [`scan`]: the ways to answer
//! - [`cost`]: the cost of each way, and the cheapest one, by the candidate blocks of a sample of the queries

mod chunks;
mod cost;
mod deliver;
mod gather;
mod groups;
mod probe;
mod scan;

use std::sync::Arc;

use chunks::Chunks;
pub(crate) use deliver::{Gathered, Parts, deliver};
use gather::Full;

use crate::design::Plan;
use crate::error::ReadError;
use crate::index::{Index, Match};
use crate::memory::default_memory;
use crate::progress::{Counter, Phase, Report, Stopped, keeping};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Receives the place of each query and its matches.
pub(crate) type Visit<'v, F> = VisitOf<'v, Match<F>>;

/// Receives the place of each query and its matches, each of them a `T`.
pub(crate) type VisitOf<'v, T> = dyn FnMut(usize, &[T]) -> Result<(), Stopped> + 'v;

type Answer<F> = fn(&mut Chunks<'_, F>, &[F], &mut Visit<'_, F>) -> Result<(), ReadError>;

per_width! {
    compiled_answer: Answer = |chunks, queries, visit| chunks.answer(queries, visit);
}

impl<F: Fingerprint> Index<F> {
    /// Calls `visit` with the place of each query and all stored fingerprints within `distance` of it, nearest
    /// first, then by fingerprint, as [`Searcher::within`] returns them; in the order of the queries, including queries
    /// without a match. An error of `visit` ends it.
    ///
    /// For thousands of queries this is several times as fast as one after the other, since queries that meet in a block
    /// share the work and all threads answer them: see [`BatchOptions`]. Memory stays within that of the options, however many queries and matches there are, except the
    /// matches of a single query.
    ///
    /// ```
    /// use hamdex::{BatchOptions, Builder, Index, ReadError, Strategy};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("small.hamdex");
    /// let mut builder = Builder::<u64>::new(&path)?;
    /// (0..1000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab))?;
    /// builder.finish()?;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let queries: Vec<u64> = (0..500).map(|i| i * 0x0246_8acf_1356 + 1).collect();
    /// let options = BatchOptions::new().strategy(Strategy::Scan).memory(64 << 20);
    /// let mut with_a_match = 0;
    /// index.batch_with(&queries, 3, &options, |query, matches| {
    ///     assert!(matches.iter().all(|m| m.distance == (m.fingerprint ^ queries[query]).count_ones()));
    ///     with_a_match += usize::from(!matches.is_empty());
    ///     Ok::<_, ReadError>(())
    /// })?;
    /// assert_eq!(with_a_match, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Searcher::within`]: crate::Searcher::within
    ///
    /// # Errors
    /// When a block that is read is damaged, and queries before it may have been visited; or the distance exceeds the
    /// width; the error of `visit`.
    pub fn batch_with<E: From<ReadError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunks = Chunks::new(self, distance, options)?;
        keeping(|keep| {
            compiled_answer()(&mut chunks, queries, &mut |place, found| keep.error(visit(place, found)))
        })
    }
}

/// The most queries taken at a time: more would share blocks a little better, and wait longer for
/// their answers.
const MAX_QUERIES: usize = 1 << 20;

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
    strategy: Strategy,
    memory: u64,
    threads: usize,
    limit: Option<usize>,
    report: Report,
    tuning: BatchTuning,
}

/// Settings with which tests force each way of the work. Unstable.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchTuning {
    /// The number of queries from which on a block is decoded.
    pub dense_from: Option<usize>,
    /// The cost of meetings, in nanoseconds of the cost model, beyond which a scan is given up: [`Strategy::Scan`]
    /// otherwise runs to the end.
    pub most_meeting_ns: Option<u64>,
    /// Whether a scan sieves fingerprints before it looks them up.
    pub is_sieved: Option<bool>,
    /// The time, in nanoseconds of the cost model, up to which the calling thread answers queries.
    pub at_once_ns: Option<f64>,
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
            report: Report::default(),
            tuning: BatchTuning::default(),
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

    crate::progress::report_setters!();

    /// Forces a way of the work.
    #[cfg(feature = "unstable")]
    #[must_use]
    pub fn tuning(mut self, tuning: BatchTuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Returns half of the memory limit, in bytes: the share of the work, and that of undelivered matches.
    fn half_bytes(&self) -> usize {
        usize::try_from(self.memory / 2).unwrap_or(usize::MAX)
    }

    /// Returns the maximum number of matches per query: that of [`BatchOptions::limit`], or `usize::MAX`.
    #[must_use]
    pub fn match_limit(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns the callback and the cancellations, for the single queries of a batch.
    #[doc(hidden)]
    #[must_use]
    pub fn report(&self) -> Report {
        self.report.clone()
    }

    /// Returns a counter for the units of a phase; fails if the work is cancelled.
    pub(crate) fn counter(&self, phase: Phase, total: Option<u64>) -> Result<Counter, Stopped> {
        self.report.counter(phase, total)
    }

    /// Returns the options for a part of the work, which is cancelled with the whole, and reports the progress of it.
    fn part_of(&self, whole: &Arc<Counter>) -> Self {
        let whole = Arc::clone(whole);
        // The part notices a cancellation itself.
        self.clone().progress(move |_| _ = whole.check())
    }
}

/// A chunk of queries and how to answer it: the same for all threads that work on it.
#[derive(Clone, Copy)]
struct BatchContext<'a, F> {
    index: &'a Index<F>,
    plan: &'a Plan<F>,
    queries: &'a [F],
    options: &'a BatchOptions,
    /// The cancellation check.
    done: &'a Counter,
    /// Whether the queries have many more matches than are wanted, so that only the nearest of each are kept.
    is_crowded: bool,
}

/// Why an attempt to answer a chunk of queries ended early.
enum Stop {
    /// There are more matches than there is room for.
    Full,
    /// A scan costs more than was expected of it.
    Costly,
    /// A block is damaged, or the caller has stopped the work.
    Failed(ReadError),
}

impl From<Stopped> for Stop {
    fn from(stopped: Stopped) -> Self {
        Self::Failed(stopped.into())
    }
}

impl From<Full> for Stop {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests;
