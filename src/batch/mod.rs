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
//! few queries share a block. [`choice`] estimates the cheapest way from a sample of the queries.
//!
//! - [`methods`]: the methods of an index
//! - [`options`]: the options of a batch
//! - [`chunks`]: queries in chunks, answers in their order, within the memory limit
//! - [`gather`]: matches, found in any order, on their way to their queries
//! - [`deliver`]: the batches of a set of several parts, and [`counting`] that of one of them
//! - [`groups`]: a few queries at a time, which overlap their memory accesses
//! - [`alone`], [`probe`], [`scan`]: the ways to answer
//! - [`sample`]: the candidate blocks of a sample of queries, and how often these share one
//! - [`cost`]: the cost of each way
//! - [`choice`]: the choice of a way

mod alone;
mod choice;
mod chunks;
mod context;
mod cost;
mod counting;
pub(crate) mod deliver;
mod gather;
mod groups;
mod methods;
mod options;
mod probe;
mod sample;
mod scan;
#[cfg(test)]
mod tests;

pub use deliver::{Gathered, Parts, deliver};
pub use gather::Batch;
pub use options::{BatchOptions, Strategy};
