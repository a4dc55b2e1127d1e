//! Tests of the engine, one module per topic.
//!
//! They share a process, since linking takes longer than most of them run. What measures or limits the
//! process as a whole is in a separate test file: `cold`, `crash`, `hostile`, `instructions`.
//!
//! - [`batch`]: many queries at once
//! - [`build`]: building, and what a failed build leaves
//! - [`coverage`]: designs cover what they claim
//! - [`entries`]: everything stored, in order
//! - [`errors`]: what errors say, and of which file
//! - [`exactness`]: results equal brute force
//! - [`filters`]: filters change nothing but time
//! - [`in_memory`]: indexes read into memory
//! - [`indexes`]: several indexes queried as one
//! - [`merge`]: several indexes into one
//! - [`names`]: what ids are called
//! - [`pairs`]: the self-join
//! - [`searchers`]: the nearest, ids of matches, owned searchers
//! - [`source`]: builds from sorted or repeatable input
//! - [`stop`]: callbacks that stop long work
//! - [`threads`]: many threads, and queries that allocate nothing

mod batch;
mod build;
#[path = "../common/mod.rs"]
mod common;
mod coverage;
mod entries;
mod errors;
mod exactness;
mod filters;
mod in_memory;
mod indexes;
mod lookups;
mod merge;
mod names;
mod pairs;
mod searchers;
mod shingles;
mod similar;
mod sorted_input;
mod stop;
mod threads;

/// It counts per thread, so the tests do not disturb each other.
#[global_allocator]
static ALLOCATOR: common::allocations::Watching = common::allocations::Watching;
