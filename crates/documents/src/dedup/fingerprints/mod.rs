//! Near-duplicates by the distance of fingerprints.
//!
//! - [`join`]: all pairs within the distance, by the self-join of the engine
//! - [`pigeonhole`]: centres within the distance, for corpora with too many pairs
//! - [`chains`]: chains in such corpora

mod chains;
#[cfg(test)]
mod crowds;
pub(super) mod join;
mod pigeonhole;
