//! The vote: every feature's hash votes for or against each bit; the sign of the sum is the bit.
//!
//! This is Charikar's simhash, as in §2 of Manku, Jain and Das Sarma (WWW 2007). Two counters return the
//! same result for whole weights: [`Tally`] keeps its sums as bit planes, so that one feature costs
//! a few word operations for all bits at once; [`WeightedTally`] keeps one `f64` per bit and takes any
//! weight.

mod doubles;
mod planes;

pub use doubles::WeightedTally;
pub use planes::Tally;

#[cfg(test)]
mod tests {
    use hamdex_fingerprint::Fingerprint;
    use proptest::prelude::*;

    use super::*;
    use crate::recipe::Tie;

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
    fn one_loud_feature_outvotes_many() {
        let mut tally = Tally::new();
        tally.add_weighted(0xF0u64, 1 << 40);
        for _ in 0..1000 {
            tally.add(0x0F);
        }
        assert_eq!(tally.fingerprint(Tie::Zero), 0xF0);
        assert_eq!(tally.votes(), (1 << 40) + 1000);
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
