//! Insert unless near: a pair is inserted unless a stored fingerprint lies within a distance of it.
//!
//! A snapshot is searched without any lock. When the pairs are committed, only newer writes are searched again.
//!
//! - [`search`]: the first half, on a snapshot, also for replacements, and the methods of [`Store`](crate::Store)
//! - [`decide`]: the second half, under the lock of the writer
//! - [`replace`]: the second half for replacements, which are not near to what they replace

pub(crate) mod decide;
pub(crate) mod replace;
mod search;
