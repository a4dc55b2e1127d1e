//! Several indexes queried as one: [`MultiIndex`], and the matches that it returns.
//!
//! - `set`: the indexes, and which of their matches count
//! - `searcher`: one query at a time: all look-ups of all indexes, one wave of reads, then all scans
//! - `united`: matches of the same fingerprint in several indexes
//! - `batch`: many queries at once
//! - `entries`: all entries, in order
//! - `pairs`: all against all

mod batch;
mod entries;
mod pairs;
mod searcher;
mod set;
mod united;

pub use searcher::MultiSearcher;
pub use set::MultiIndex;
pub use united::{FoundIn, MultiMatch, MultiMatches};
