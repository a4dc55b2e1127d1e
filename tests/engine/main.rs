//! What the engine promises, one module per topic.
//!
//! They share a process, since linking takes longer than most of them run. What measures or limits the
//! process as a whole stands in a test file of its own: `cold`, `crash`, `hostile`, `instructions`.
//!
//! - [`batch`]: many queries at once
//! - [`build`]: building, and what a failed build leaves
//! - [`coverage`]: designs cover what they claim
//! - [`errors`]: what errors say, and of which file
//! - [`exactness`]: results equal brute force
//! - [`in_memory`]: indexes read into memory
//! - [`pairs`]: the self-join
//! - [`stop`]: callbacks that stop long work
//! - [`threads`]: many threads, and queries that allocate nothing

mod batch;
mod build;
#[path = "../common/mod.rs"]
mod common;
mod coverage;
mod errors;
mod exactness;
mod in_memory;
mod pairs;
mod stop;
mod threads;

/// It counts per thread, so the tests do not disturb each other.
#[global_allocator]
static ALLOCATOR: common::allocations::Watching = common::allocations::Watching;
