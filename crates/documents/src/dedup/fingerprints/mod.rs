//! Near-duplicates by the distance of fingerprints.
//!
//! - [`join`]: all pairs within the distance, by the self-join of the engine
//! - [`pigeonhole`]: centres within the distance, for corpora with too many pairs

pub(super) mod join;
mod pigeonhole;
