//! Writing, by group commit.
//!
//! - [`batch`]: pairs, operations and batches; the name of an id, and the shingles of its document
//! - [`record`], [`verbs`]: records, and the one verb that stores them; batches of operations; removal, also by id and
//!   name
//! - [`unless_near`], [`unless_similar`]: the conditions of that verb
//! - [`gone_names`]: names whose earlier ids have gone
//! - [`request`], [`reply`]: requests of writers, and the replies
//! - [`queue`]: the queue of requests, and its leader
//! - [`commit`]: from requests to the log, and to a new view
//! - [`writer`]: the log, its sequence numbers, its unsynced writes and their durability; removals that concern
//!   segments that are being written

pub(crate) mod batch;
pub(crate) mod commit;
pub(crate) mod gone_names;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod unless_near;
pub(crate) mod unless_similar;
mod verbs;
pub(crate) mod writer;
