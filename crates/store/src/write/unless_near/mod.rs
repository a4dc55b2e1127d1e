//! Insert unless near: a pair is inserted unless a stored fingerprint lies within a distance of it.
//!
//! A snapshot is searched without any lock. When the pairs are committed, only newer writes are searched again.
//!
//! - [`search`]: the first half, on a snapshot, and the methods of [`Store`](crate::Store)
//! - [`decide`]: the second half, under the lock of the writer
//! - [`replace_search`], [`replace`], [`owned`]: both for replacements, which are not near to what they replace
//! - [`inserted`]: the outcome

pub(crate) mod decide;
pub(crate) mod inserted;
mod owned;
pub(crate) mod replace;
mod replace_search;
mod search;
