//! Merging: several indexes in, one out, without sorting what is sorted already.
//!
//! - [`merger`]: what can be chosen
//! - [`merged`]: the tables of the output, merged from the inputs' tables
//! - [`parts`]: dividing the tables of all inputs at common values
//! - [`gather`]: the records of a part, from all inputs
//! - [`columns`]: the names of the output
//! - [`records`]: reading fingerprints alone, or with their ids
//! - [`unite`]: ascending lists into one
//! - [`dropped`]: what a filter leaves out
//! - [`pipeline`]: parts by all threads, their results in order
//!
//! Tables of one design have the same values in the same order in every file. So table t of the output is table t
//! of all inputs, merged: block by block, in the memory of a few blocks per input. A table that some input lacks is
//! sorted, as a build would.

mod columns;
mod dropped;
mod gather;
mod merged;
mod merger;
mod parts;
mod pipeline;
mod records;
mod unite;

pub use merger::{MAX_MERGED, Merger};
