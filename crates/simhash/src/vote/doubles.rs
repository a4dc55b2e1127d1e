//! Sums of votes as doubles.

use std::marker::PhantomData;

use hamdex_fingerprint::Fingerprint;

use crate::recipe::Tie;

/// Sums votes of any finite weight, in the order given.
///
/// The sums are IEEE doubles added in the caller's order without reassociation, so the same features in the
/// same order have the same fingerprint on every machine, and in libraries that add in the same way.
#[derive(Debug, Clone)]
pub struct WeightedTally<F> {
    sums: Vec<f64>,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Default for WeightedTally<F> {
    fn default() -> Self {
        Self { sums: vec![0.0; F::BITS as usize], width: PhantomData }
    }
}

impl<F: Fingerprint> WeightedTally<F> {
    /// An empty vote.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all votes and keeps the memory.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds a feature with its weight.
    pub fn add(&mut self, hash: F, weight: f64) {
        // A look-up instead of a branch: half of all branches on bits of a hash are mispredicted.
        let either = [-weight, weight];
        let words = [hash.to_u128() as u64, (hash.to_u128() >> 64) as u64];
        for (lanes, word) in self.sums.chunks_exact_mut(64).zip(words) {
            for (position, sum) in lanes.iter_mut().enumerate() {
                *sum += either[(word >> position & 1) as usize];
            }
        }
    }

    /// Returns the fingerprint: a bit is set if its sum is positive; if it is zero, `tie` decides.
    #[must_use]
    pub fn fingerprint(&self, tie: Tie) -> F {
        let set = |sum: f64| sum > 0.0 || (sum == 0.0 && tie == Tie::One);
        (0..F::BITS).fold(F::ZERO, |bits, position| {
            let bit = u128::from(set(self.sums[position as usize])) << position;
            bits | F::truncate(bit)
        })
    }
}
