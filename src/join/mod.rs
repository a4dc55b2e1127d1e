//! The self-join: every pair of stored fingerprints within a distance, once.
//!
//! - [`options`]: the options and the methods of a join
//! - [`population`]: the joined set: an index, or fingerprints in memory
//! - [`run`]: the work, step after step
//! - [`lead`]: masks under one of which each pair agrees, and the sources of their values
//! - [`gather`]: values that agree, in memory, if no table has them adjacent
//! - [`runs`]: the pairs among values that agree, each once; long runs split further
//! - [`ordered`]: tasks on several threads, results in one order
//!
//! The paper has no self-join. This is its design (§3.1) turned on itself: two fingerprints within k bits agree
//! in the prefix of some table, in which they are adjacent.

mod gather;
mod lead;
mod options;
mod ordered;
pub(crate) mod population;
mod run;
mod runs;

pub use options::{Pairs, PairsOptions, pairs};

use crate::codec::Scratch;
use crate::progress::Stopped;
use hamdex_fingerprint::Fingerprint;

/// Two stored fingerprints near each other. Their ids, if there are any: [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Pair<F> {
    /// The lower one.
    pub a: F,
    /// The higher one.
    pub b: F,
    /// The Hamming distance of the two, at least 1.
    pub distance: u32,
}

impl<F: Fingerprint> Pair<F> {
    /// Returns the pair of two fingerprints, in either order.
    #[inline]
    #[must_use]
    pub fn of(one: F, other: F) -> Self {
        Self { a: one.min(other), b: one.max(other), distance: one.distance(other) }
    }
}

/// Pairs delivered at a time: enough that delivery costs nothing, few enough to wait in memory.
const BATCH: usize = 4096;

/// The results of a task.
enum Found<F> {
    Pairs(Vec<Pair<F>>),
    /// Number of pairs at each distance.
    Counts(Vec<u64>),
}

/// The receiver of a task's results.
type Outlet<'a, F> = &'a mut dyn FnMut(Found<F>) -> Result<(), Stopped>;

/// Takes the pairs of a task.
struct Collector<'a, F> {
    batch: Vec<Pair<F>>,
    counts: Option<Vec<u64>>,
    outlet: Outlet<'a, F>,
}

impl<'a, F: Fingerprint> Collector<'a, F> {
    /// Hands pairs on in batches.
    fn of_pairs(outlet: Outlet<'a, F>) -> Self {
        Self { batch: Vec::new(), counts: None, outlet }
    }

    /// Counts pairs of up to that distance.
    fn of_counts(distance: u32, outlet: Outlet<'a, F>) -> Self {
        Self { batch: Vec::new(), counts: Some(vec![0; distance as usize + 1]), outlet }
    }

    /// Takes a pair, in any order.
    #[inline]
    fn pair(&mut self, one: F, other: F) -> Result<(), Stopped> {
        if let Some(counts) = &mut self.counts {
            counts[one.distance(other) as usize] += 1;
            return Ok(());
        }
        self.batch.push(Pair::of(one, other));
        if self.batch.len() < BATCH { Ok(()) } else { self.hand_on() }
    }

    #[cold]
    fn hand_on(&mut self) -> Result<(), Stopped> {
        let next = Vec::with_capacity(BATCH);
        (self.outlet)(Found::Pairs(std::mem::replace(&mut self.batch, next)))
    }

    /// Delivers the remaining pairs.
    fn finish(self) -> Result<(), Stopped> {
        match self.counts {
            Some(counts) => (self.outlet)(Found::Counts(counts)),
            None if self.batch.is_empty() => Ok(()),
            None => (self.outlet)(Found::Pairs(self.batch)),
        }
    }
}

/// Memory that the tasks of a thread use again and again.
#[derive(Default)]
pub(crate) struct Workspace<F> {
    pub(crate) scratch: Scratch<F>,
    pub(crate) values: Vec<F>,
    gathered: Vec<F>,
    starts: Vec<u32>,
}

/// Settings with which tests force each way of the work. Unstable.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    pub way: Way,
    pub blocks_per_task: Option<usize>,
    pub queries_per_task: Option<u64>,
    pub longest_run: Option<usize>,
    /// Values that memory holds.
    pub capacity: Option<usize>,
    /// Values that are gathered at a time.
    pub slice: Option<u64>,
}

/// The source of the values.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Way {
    #[default]
    Auto,
    /// Nothing is taken from a table but 0.
    Gather,
    /// Every fingerprint is a query.
    Query,
}
