//! A set of the removed pairs of a segment, which a merge looks every pair up in.

use std::collections::HashSet;

use hamdex::{Fingerprint, ReadError};

use crate::segment::LiveSegment;
use crate::write::batch::Pair;

/// Minimum number of bits in the sieve per removed pair.
const SIEVE_BITS_PER_PAIR: usize = 8;

/// The removed pairs of a segment.
pub(super) struct RemovedFilter<F> {
    pairs: HashSet<Pair<F>>,
    /// A bit per hash of a removed fingerprint, which rules out nearly all pairs without a search in the set.
    sieve: Vec<u64>,
}

impl<F: Fingerprint> RemovedFilter<F> {
    /// Collects the removed pairs of a segment. It reads the whole segment, unless there are none.
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

    /// Returns the word and the bit of a fingerprint.
    fn sieve_bit(&self, fingerprint: F) -> (usize, u64) {
        let folded = fingerprint.to_u128();
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): fingerprints of a cluster differ in few bits.
        let hash = ((folded >> 64) as u64 ^ folded as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        ((hash as usize / 64) & (self.sieve.len() - 1), 1 << (hash % 64))
    }
}
