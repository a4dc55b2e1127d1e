//! Writing: one commit at a time, for as many writers as wait.
//!
//! - [`batch`]: pairs, operations and batches
//! - [`change`], [`named`], [`unless_near`]: what a caller can insert and remove
//! - [`request`], [`reply`]: the same as it waits for a commit, and the answer
//! - [`queue`]: group commit; writers that come together are served together
//! - [`commit`]: from requests to the log, and from there to what readers see
//! - [`writer`]: the log, and what comes next in it
//! - [`journal`]: removals that files written in the background have to catch up with
//! - [`durability`]: when a write is durable

pub(crate) mod batch;
mod change;
pub(crate) mod commit;
pub(crate) mod durability;
pub(crate) mod journal;
mod named;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod unless_near;
pub(crate) mod writer;
