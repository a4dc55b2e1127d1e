//! Ids: which documents have a fingerprint.
//!
//! All ids are in one bit-packed array, ordered by fingerprint and then by id, each as its
//! difference from the smallest id. A bitmap of the same order marks the first id of each fingerprint; it
//! is left out when every fingerprint has just one. A directory gives, for each block of table 0, the
//! place of its first fingerprint's first id; behind these, the number of marks before every 4,096th place
//! leads past a fingerprint with very many ids.
//!
//! - [`packing`]: the array, one id at a time
//! - [`reader`]: the ids of a fingerprint
//! - [`marks`]: from one fingerprint's first id to another's
//! - [`verify`]: verification of the sections
//! - [`writer`]: the three sections

mod marks;
pub(crate) mod packing;
pub(crate) mod reader;
mod verify;
pub(crate) mod writer;

pub use reader::Ids;
