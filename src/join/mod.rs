//! The self-join: every pair of stored fingerprints within a distance, once.
//!
//! - [`options`]: what users choose, and what they get
//! - [`population`]: what is joined: an index, or fingerprints in memory
//! - [`join`]: the work, step after step
//! - [`schedule`]: masks under one of which each pair agrees, and where their values come from
//! - [`lead`]: bits under which the two of a pair agree
//! - [`stream`]: a table that has such values side by side
//! - [`gather`]: the same in memory, where no table has them
//! - [`digits`]: sorting by a few bits
//! - [`runs`]: the pairs among values that agree, each once; long runs split further
//! - [`compare`]: the inner loop
//! - [`query_each`]: query by query, where memory is too small for the longest run
//! - [`ordered`]: all that on several threads, in one order
//! - [`collect`]: what becomes of a pair
//!
//! The paper has no self-join. This is its design (§3.1) turned on itself: two fingerprints within k
//! bits agree in the prefix of some table, where they lie side by side.

mod collect;
mod compare;
mod digits;
mod gather;
mod join;
mod lead;
mod options;
mod ordered;
mod pair;
pub(crate) mod population;
mod query_each;
mod runs;
mod schedule;
mod stream;
mod tuning;
mod workspace;

pub use options::{Pairs, PairsOptions, pairs};
pub use pair::Pair;
pub use tuning::{Tuning, Way};
pub(crate) use workspace::Workspace;
