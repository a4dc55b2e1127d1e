//! The vote: every feature's hash votes for or against each bit; the sign of the sum is the bit.
//!
//! This is Charikar's simhash, as in §2 of Manku, Jain and Das Sarma (WWW 2007). Two counters return the
//! same result for whole weights: [`Tally`] keeps its sums as bit planes, so that one feature costs
//! a few word operations for all bits at once; [`WeightedTally`] keeps one `f64` per bit and takes any
//! weight.

use std::marker::PhantomData;

use crate::recipe::Tie;
use hamdex_fingerprint::Fingerprint;

/// Features taken together before they enter the planes.
const BATCH: usize = 8;

/// Counts votes of whole weight.
///
/// The counts are *vertical*: plane `i` holds bit `i` of all the counters. Eight features at a time
/// pass through a tree of carry-save adders (about five operations per feature); only the
/// carry of the tree is added to the further planes.
#[derive(Debug, Clone)]
pub(crate) struct Tally<F> {
    planes: Vec<F>,
    batch: [F; BATCH],
    batched: usize,
    votes: u64,
}

impl<F: Fingerprint> Tally<F> {
    /// Creates an empty vote.
    #[must_use]
    pub(crate) fn new() -> Self {
        // The adders work on the first three planes in place.
        Self { planes: vec![F::ZERO; 3], batch: [F::ZERO; BATCH], batched: 0, votes: 0 }
    }

    /// Removes all votes and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.planes.fill(F::ZERO);
        self.batched = 0;
        self.votes = 0;
    }

    /// Adds a feature with weight 1.
    #[inline]
    pub(crate) fn add(&mut self, hash: F) {
        self.batch[self.batched] = hash;
        self.batched += 1;
        self.votes += 1;
        if self.batched == BATCH {
            self.add_batch();
        }
    }

    /// Adds a feature with a whole weight; a weight of 0 changes nothing.
    ///
    /// # Panics
    /// When the sum of all weights exceeds 2^64 − 1.
    pub(crate) fn add_weighted(&mut self, hash: F, weight: u64) {
        if weight == 1 {
            return self.add(hash);
        }
        self.votes = self.votes.checked_add(weight).expect("the sum of weights fits into 64 bits");
        let mut rest = weight;
        while rest != 0 {
            self.ripple(hash, rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }

    /// Returns the fingerprint: bit `j` is set if more weight voted for it than against it; if both are equal, `tie`
    /// decides. Without votes every bit is a tie.
    #[must_use]
    pub(crate) fn fingerprint(&mut self, tie: Tie) -> F {
        for index in 0..self.batched {
            self.ripple(self.batch[index], 0);
        }
        self.batched = 0;

        // A counter is a majority when it exceeds half the votes; compare all with that at once.
        let half = self.votes / 2;
        let depth = self.planes.len().max(u64::BITS as usize - half.leading_zeros() as usize);
        let (mut above, mut equal) = (F::ZERO, F::ONES);
        for level in (0..depth).rev() {
            let plane = self.planes.get(level).copied().unwrap_or(F::ZERO);
            if level < u64::BITS as usize && half >> level & 1 == 1 {
                equal = equal & plane;
            } else {
                above = above | (equal & plane);
                equal = equal & !plane;
            }
        }
        if tie == Tie::One && self.votes.is_multiple_of(2) { above | equal } else { above }
    }

    fn add_batch(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.batch;
        let (ones, t0) = full_adder(self.planes[0], a, b);
        let (ones, t1) = full_adder(ones, c, d);
        let (twos, f0) = full_adder(self.planes[1], t0, t1);
        let (ones, t0) = full_adder(ones, e, f);
        let (ones, t1) = full_adder(ones, g, h);
        let (twos, f1) = full_adder(twos, t0, t1);
        let (fours, eights) = full_adder(self.planes[2], f0, f1);
        self.planes[..3].copy_from_slice(&[ones, twos, fours]);
        self.batched = 0;
        self.ripple(eights, 3);
    }

    fn ripple(&mut self, mut carry: F, from: usize) {
        let mut level = from;
        while carry != F::ZERO {
            if level >= self.planes.len() {
                self.planes.resize(level + 1, F::ZERO);
            }
            let plane = self.planes[level];
            self.planes[level] = plane ^ carry;
            carry = plane & carry;
            level += 1;
        }
    }
}

/// Sum and carry of three bits, in every bit position.
#[inline]
fn full_adder<F: Fingerprint>(a: F, b: F, c: F) -> (F, F) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

/// Sums votes of any finite weight, in the order given.
///
/// The sums are IEEE doubles added in the caller's order without reassociation, so the same features in the
/// same order have the same fingerprint on every machine, and in libraries that add in the same way.
#[derive(Debug, Clone)]
pub(crate) struct WeightedTally<F> {
    sums: Vec<f64>,
    width: PhantomData<F>,
}

impl<F: Fingerprint> WeightedTally<F> {
    /// An empty vote.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { sums: vec![0.0; F::BITS as usize], width: PhantomData }
    }

    /// Adds a feature with its weight.
    pub(crate) fn add(&mut self, hash: F, weight: f64) {
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
    pub(crate) fn fingerprint(&self, tie: Tie) -> F {
        let set = |sum: f64| sum > 0.0 || (sum == 0.0 && tie == Tie::One);
        (0..F::BITS).fold(F::ZERO, |bits, position| {
            let bit = u128::from(set(self.sums[position as usize])) << position;
            bits | F::truncate(bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, bit by bit.
    fn slowly<F: Fingerprint>(features: &[(F, u64)], tie: Tie) -> F {
        (0..F::BITS).fold(F::ZERO, |bits, position| {
            let mask = F::bit(position);
            let sum: i128 = features
                .iter()
                .map(
                    |&(hash, weight)| {
                        if hash & mask == mask { i128::from(weight) } else { -i128::from(weight) }
                    },
                )
                .sum();
            if sum > 0 || (sum == 0 && tie == Tie::One) { bits | mask } else { bits }
        })
    }

    fn check<F: Fingerprint>(features: &[(F, u64)]) {
        for tie in [Tie::Zero, Tie::One] {
            let ones: Vec<(F, u64)> = features.iter().map(|&(hash, _)| (hash, 1)).collect();
            let mut tally = Tally::new();
            ones.iter().for_each(|&(hash, _)| tally.add(hash));
            assert_eq!(tally.fingerprint(tie), slowly(&ones, tie));

            let (mut whole, mut real) = (Tally::new(), WeightedTally::new());
            for &(hash, weight) in features {
                whole.add_weighted(hash, weight);
                real.add(hash, weight as f64);
            }
            assert_eq!(whole.fingerprint(tie), slowly(features, tie));
            assert_eq!(real.fingerprint(tie), slowly(features, tie));
        }
    }

    proptest! {
        #[test]
        fn all_counters_agree_with_the_definition_at_64_bits(
            features in prop::collection::vec((any::<u64>(), 0u64..1000), 0..70),
        ) {
            check(&features);
        }

        #[test]
        fn all_counters_agree_with_the_definition_at_128_bits(
            features in prop::collection::vec((any::<u128>(), 0u64..3), 0..40),
        ) {
            check(&features);
        }
    }

    #[test]
    fn the_majority_decides_each_bit() {
        let mut tally = Tally::<u64>::new();
        for hash in [0xABCD, 0xBCDE, 0xCDEF] {
            tally.add(hash);
        }
        assert_eq!(tally.fingerprint(Tie::Zero), 0xADCF);
    }

    #[test]
    fn one_loud_feature_outvotes_many() {
        let mut tally = Tally::new();
        tally.add_weighted(0xF0u64, 1 << 40);
        for _ in 0..1000 {
            tally.add(0x0F);
        }
        assert_eq!(tally.fingerprint(Tie::Zero), 0xF0);
        assert_eq!(tally.votes, (1 << 40) + 1000);
    }

    #[test]
    fn a_cleared_tally_starts_anew() {
        let mut tally = Tally::new();
        for hash in 0..100u64 {
            tally.add(hash);
        }
        tally.clear();
        assert_eq!(tally.fingerprint(Tie::One), u64::MAX);
        tally.add(7);
        assert_eq!(tally.fingerprint(Tie::One), 7);
    }
}
