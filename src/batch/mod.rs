//! Many queries at once: the paper's batch (§3.2), in both of its directions.
//!
//! - *probe*: for each table, the queries are led to the blocks that may hold what they look for, and
//!   put in the order of the blocks; then each block is visited once. Where several queries meet in a
//!   block, it is decoded once for all of them; where few do, they scan it as single queries would.
//! - *scan*: tables are built over the queries, in memory, and table 0 of the file is streamed past
//!   them, each block decoded once. It needs no other table, and its time hardly depends on the
//!   number of queries.
//!
//! A third way is that of single queries, in groups that wait for memory together, by all threads: where few queries
//! meet in a block. Which one is
//! cheapest, [`choice`] estimates from a sample of the queries at hand.
//!
//! - [`entry`]: the methods of an index
//! - [`options`]: what can be chosen
//! - [`chunks`]: queries in chunks, answers in their order, within the memory allowed
//! - [`gather`]: matches, found in any order, on their way to their queries
//! - [`groups`]: a few queries at a time, which wait for memory together
//! - [`alone`], [`probe`], [`scan`]: the ways to answer
//! - [`sample`]: what queries are led to, and how often they meet
//! - [`cost`]: what each way costs
//! - [`choice`]: which way to take

mod alone;
mod choice;
mod chunks;
mod cost;
mod entry;
mod gather;
mod groups;
mod options;
mod probe;
mod question;
mod sample;
mod scan;
#[cfg(test)]
mod tests;

pub use gather::Batch;
pub(crate) use groups::WORTH_GROUPING;
pub(crate) use options::MAX_QUERIES;
pub use options::{BatchOptions, Strategy};
