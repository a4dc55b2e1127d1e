//! Fingerprints of features made by the caller.

use std::marker::PhantomData;

use hamdex_fingerprint::Fingerprint;

use crate::error::RecipeError;
use crate::fingerprinter::{Outcome, check_width, nothing};
use crate::recipe::Recipe;
use crate::vote::{Tally, WeightedTally};

/// Makes fingerprints of given features or hashes, by the `hash`, `tie`, `empty` and `min-features` of a recipe; its
/// tokeniser, shingles, weights and `top` are not used.
///
/// ```
/// use hamdex_simhash::{FeatureFingerprinter, Recipe};
///
/// let fingerprinter = FeatureFingerprinter::<u64>::new(&"simhash-py".parse()?)?;
/// let outcome = fingerprinter.counted([("aaa", 1), ("bbb", 1)]);
/// assert_eq!(outcome.value(), Some(57087923692560392));
/// assert!(!outcome.is_too_short());
/// # Ok::<(), hamdex_simhash::RecipeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FeatureFingerprinter<F> {
    recipe: Recipe,
    width: PhantomData<fn() -> F>,
}

impl<F: Fingerprint> FeatureFingerprinter<F> {
    /// Creates a fingerprinter from any recipe.
    ///
    /// # Errors
    /// When the recipe is of another width than `F`, or fails [`Recipe::check`].
    pub fn new(recipe: &Recipe) -> Result<Self, RecipeError> {
        check_width::<F>(recipe)?;
        Ok(Self { recipe: recipe.clone(), width: PhantomData })
    }

    /// Returns the fingerprint of features, each with its number of occurrences.
    ///
    /// # Panics
    /// When the sum of all counts exceeds 2^64 − 1.
    pub fn counted<B: AsRef<[u8]>>(&self, features: impl IntoIterator<Item = (B, u64)>) -> Outcome<F> {
        self.tally(
            features.into_iter().map(|(feature, count)| (self.recipe.hash.of(feature.as_ref()), count)),
        )
    }

    /// Returns the fingerprint of hashes, all of weight 1; the recipe's hash is not used.
    pub fn hashes(&self, hashes: impl IntoIterator<Item = F>) -> Outcome<F> {
        self.tally(hashes.into_iter().map(|hash| (hash, 1)))
    }

    /// Returns the fingerprint of features and their weights, summed in this order. Weights should be
    /// finite; with others the bits are those of IEEE arithmetic.
    pub fn weighted<B: AsRef<[u8]>>(&self, features: impl IntoIterator<Item = (B, f64)>) -> Outcome<F> {
        let hash = |feature: B| self.recipe.hash.of(feature.as_ref());
        self.weighted_hashes(features.into_iter().map(|(feature, weight)| (hash(feature), weight)))
    }

    /// As [`Self::weighted`] of hashes; the recipe's hash is not used.
    pub fn weighted_hashes(&self, hashes: impl IntoIterator<Item = (F, f64)>) -> Outcome<F> {
        let mut tally = WeightedTally::new();
        let mut count = 0;
        for (hash, weight) in hashes {
            tally.add(hash, weight);
            count += 1;
        }
        self.outcome(count, || tally.fingerprint(self.recipe.tie))
    }

    fn tally(&self, votes: impl Iterator<Item = (F, u64)>) -> Outcome<F> {
        let mut tally = Tally::new();
        let mut count = 0;
        for (hash, weight) in votes {
            tally.add_weighted(hash, weight);
            count += 1;
        }
        self.outcome(count, || tally.fingerprint(self.recipe.tie))
    }

    fn outcome(&self, features: usize, fingerprint: impl FnOnce() -> F) -> Outcome<F> {
        if features == 0 {
            return nothing(&self.recipe);
        }
        Outcome::of(fingerprint(), features, self.recipe.min_features)
    }
}
