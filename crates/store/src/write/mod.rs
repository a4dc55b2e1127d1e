//! Writing: one commit at a time, for as many writers as wait.
//!
//! - [`queue`]: writers that come together are served together
//! - [`request`]: what they ask for, and what they are told
//! - [`journal`]: removals that files written in the background have to catch up with
//! - [`writer`]: the log, and what comes next in it
//! - [`commit`]: from requests to the log, and from there to what readers see

pub(crate) mod commit;
pub(crate) mod journal;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod writer;
