//! The removed pairs of a file, by themselves: a merge asks of every pair whether it is one of them.

use std::collections::HashSet;

use hamdex::{Fingerprint, ReadError};

use crate::segment::LiveSegment;
use crate::write::batch::Pair;

/// Bits of the sieve for each removed pair, at least.
const SIEVE_BITS_PER_PAIR: usize = 8;

/// The removed pairs of a file.
pub(super) struct RemovedFilter<F> {
    pairs: HashSet<Pair<F>>,
    /// For some bits of a fingerprint whether a removed one has them: nearly all pairs are passed on their account,
    /// without a search.
    sieve: Vec<u64>,
}

impl<F: Fingerprint> RemovedFilter<F> {
    /// Those of a segment. All of it is read for them, if there are any.
    pub(super) fn of(live: &LiveSegment<F>) -> Result<Self, ReadError> {
        let mut pairs = HashSet::new();
        if !live.removed.is_empty() {
            for placed in live.placed_pairs_from(F::ZERO)? {
                let (place, pair) = placed?;
                if live.removed.contains(place) {
                    pairs.insert(pair);
                }
            }
        }
        let words = (pairs.len() * SIEVE_BITS_PER_PAIR / 64 + 1).next_power_of_two();
        let mut removed = Self { pairs: HashSet::new(), sieve: vec![0; words] };
        for (fingerprint, _) in &pairs {
            let (word, bit) = removed.sieve_bit(*fingerprint);
            removed.sieve[word] |= bit;
        }
        removed.pairs = pairs;
        Ok(removed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn contains(&self, pair: Pair<F>) -> bool {
        let (word, bit) = self.sieve_bit(pair.0);
        self.sieve[word] & bit != 0 && self.pairs.contains(&pair)
    }

    /// The word and the bit that stand for a fingerprint.
    fn sieve_bit(&self, fingerprint: F) -> (usize, u64) {
        let folded = fingerprint.to_u128();
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): fingerprints of a cluster differ in few bits.
        let hash = ((folded >> 64) as u64 ^ folded as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        ((hash as usize / 64) & (self.sieve.len() - 1), 1 << (hash % 64))
    }
}
