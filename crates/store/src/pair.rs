//! What a store holds.

/// A fingerprint and one of its ids; in a store without ids, 0.
pub(crate) type Pair<F> = (F, u64);

/// The ids of pairs, ascending, each once.
pub(crate) fn ids_of<F>(pairs: &[Pair<F>]) -> Vec<u64> {
    let mut ids: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
