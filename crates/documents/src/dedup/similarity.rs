//! The least similarity of near-duplicates.

use std::num::NonZeroUsize;

use hamdex::similar::{Condition, Measure};
use hamdex_simhash::recipe::Shingle;

use crate::error::Error;

/// The least similarity of near-duplicates: a share of common shingles (Jaccard), as cut by
/// [`hamdex_simhash::Shingler`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    condition: Condition,
    words: NonZeroUsize,
}

impl Default for Similarity {
    /// 0.7 of the shingles of 5 words.
    fn default() -> Self {
        Self::at_least(Self::DEFAULT_LEAST).expect("the defaults are in their ranges")
    }
}

impl Similarity {
    /// The default of the least share of common shingles.
    pub const DEFAULT_LEAST: f64 = 0.7;

    /// The default of the words per shingle.
    pub const DEFAULT_WORDS: NonZeroUsize = NonZeroUsize::new(5).expect("5 is not 0");

    /// Creates a similarity from the least share of common shingles, above 0 and at most 1, and the number of words
    /// per shingle.
    ///
    /// # Errors
    /// When either is out of its range.
    pub fn new(least: f64, words: NonZeroUsize) -> Result<Self, Error> {
        let condition = Condition::new(Measure::Resemblance, least)
            .ok_or_else(|| Error::option("similarity", format!("{least} is not above 0 and at most 1")))?;
        if words.get() > Shingle::MAX_WIDTH {
            let reason = format!("{words} are more than {}", Shingle::MAX_WIDTH);
            return Err(Error::option("words per shingle", reason));
        }
        Ok(Self { condition, words })
    }

    /// Creates a similarity from the least share of common shingles of five words, above 0 and at most 1.
    ///
    /// # Errors
    /// When it is out of its range.
    pub fn at_least(least: f64) -> Result<Self, Error> {
        Self::new(least, Self::DEFAULT_WORDS)
    }

    /// Returns the least share of common shingles.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.condition.least()
    }

    /// Returns the condition that the shingles of similar texts meet.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns the number of words per shingle.
    #[must_use]
    pub fn words(&self) -> NonZeroUsize {
        self.words
    }

    /// Returns the fewest shingles that two similar sets of these sizes share; more than the smaller one has if they
    /// cannot be similar.
    pub(crate) fn least_shared(&self, one: usize, other: usize) -> usize {
        self.condition.least_shared(one, other)
    }

    /// Returns the fewest shingles that a set of this size shares with any similar one.
    pub(crate) fn least_shared_with_any(&self, size: usize) -> usize {
        self.condition.least_shared_with_any(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_are_thresholds() {
        let words = NonZeroUsize::new(4).unwrap();
        assert!([0.01, 0.8, 1.0].iter().all(|&share| Similarity::new(share, words).is_ok()));
        for wrong in [0.0, -0.1, 1.1, 80.0, f64::NAN] {
            assert!(Similarity::new(wrong, words).unwrap_err().to_string().contains("above 0"));
        }
        assert!(Similarity::new(0.5, NonZeroUsize::MAX).unwrap_err().to_string().contains("words per"));
    }
}
