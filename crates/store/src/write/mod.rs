//! Writing, by group commit.
//!
//! - [`batch`]: pairs, operations and batches
//! - [`document`]: the name of an id, and the shingles of its document
//! - [`change`], [`named`], [`upsert`], [`unless_near`]: insertion and removal, with names, by id and name, and
//!   conditional
//! - [`gone_names`]: names whose earlier ids have gone
//! - [`request`], [`reply`]: requests of writers, and the replies
//! - [`queue`]: the queue of requests, and its leader
//! - [`commit`]: from requests to the log, and to a new view
//! - [`writer`]: the log, its sequence numbers and its unsynced writes
//! - [`journal`]: removals that concern segments that are being written
//! - [`durability`]: the durability of acknowledged writes

pub(crate) mod batch;
mod change;
pub(crate) mod commit;
pub(crate) mod document;
pub(crate) mod durability;
pub(crate) mod gone_names;
pub(crate) mod journal;
mod named;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod unless_near;
mod upsert;
pub(crate) mod writer;
