//! What a store holds.

/// A fingerprint and one of its ids; in a store without ids, 0.
pub(crate) type Pair<F> = (F, u64);
