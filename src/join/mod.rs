//! The self-join: every pair of stored fingerprints within a distance, once.
//!
//! - [`options`]: the options and the methods of a join
//! - [`population`]: the joined set: an index, or fingerprints in memory
//! - [`run`]: the work, step after step
//! - [`schedule`]: masks under one of which each pair agrees, and the sources of their values
//! - [`lead`]: bits under which the two of a pair agree
//! - [`stream`]: a table that has such values adjacent
//! - [`gather`]: the same in memory, if no table has them
//! - [`digits`]: sorting by a few bits
//! - [`runs`]: the pairs among values that agree, each once; long runs split further
//! - [`compare`]: the inner loop
//! - [`query_each`]: query by query, if memory is too small for the longest run
//! - [`ordered`]: tasks on several threads, results in one order
//! - [`collect`]: counting or delivering pairs
//!
//! The paper has no self-join. This is its design (§3.1) turned on itself: two fingerprints within k bits agree
//! in the prefix of some table, in which they are adjacent.

mod collect;
mod compare;
mod digits;
mod gather;
mod lead;
mod options;
mod ordered;
mod pair;
pub(crate) mod population;
mod query_each;
mod run;
mod runs;
mod schedule;
mod stream;
mod tuning;
mod workspace;

pub use options::{Pairs, PairsOptions, pairs};
pub use pair::Pair;
pub use tuning::{Tuning, Way};
pub(crate) use workspace::Workspace;
