//! Resemblance of texts: the share of their shingles that they have in common (Broder, "On the
//! resemblance and containment of documents", SEQUENCES 1997).

use std::num::NonZeroUsize;

use crate::extract::{Extractor, Workspace};
use crate::hash::Hash;
use crate::recipe::Recipe;
use crate::shingle::Shingle;

const HASH: Hash = Hash::Xxh3 { seed: 0 };

/// Cuts texts into sets of shingles.
///
/// ```
/// use hamdex_simhash::Shingler;
///
/// let mut shingler = Shingler::new(2.try_into().expect("2 is not 0"));
/// let one = shingler.shingles("the cat sat on the mat");
/// let other = shingler.shingles("The cat sat on a mat!");
/// assert_eq!(one.resemblance(&other), 3.0 / 7.0);
/// ```
#[derive(Debug, Clone)]
pub struct Shingler {
    extractor: Extractor,
    workspace: Workspace,
}

/// The distinct shingles of a text, as hashes of 64 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

impl Shingler {
    /// Cuts shingles of `width` words; the words are those of the default recipe.
    ///
    /// # Panics
    /// When the width is above [`Shingle::MAX_WIDTH`].
    #[must_use]
    pub fn new(width: NonZeroUsize) -> Self {
        let recipe = Recipe { shingle: Shingle::Words(width), ..Recipe::default() };
        let extractor =
            Extractor::new(&recipe, None).expect("the default recipe takes text and no lists; not too wide");
        Self { extractor, workspace: Workspace::default() }
    }

    /// Returns the shingles of a text.
    pub fn shingles(&mut self, text: &str) -> Shingles {
        let mut shingles: Vec<u64> = Vec::new();
        let tokens = self.extractor.extract(text, &mut self.workspace);
        tokens.shingles(self.extractor.shingle(), |shingle| shingles.push(HASH.of(shingle.as_bytes())));
        shingles.sort_unstable();
        shingles.dedup();
        Shingles(shingles)
    }
}

impl Shingles {
    /// Returns the number of shared shingles divided by that of all shingles of the two (Jaccard): 0 to 1, and
    /// 0 when neither has any.
    #[must_use]
    pub fn resemblance(&self, other: &Self) -> f64 {
        let (mut mine, mut its) = (self.0.as_slice(), other.0.as_slice());
        let mut shared = 0usize;
        while let ([first, my_rest @ ..], [second, its_rest @ ..]) = (mine, its) {
            shared += usize::from(first == second);
            if first <= second {
                mine = my_rest;
            }
            if second <= first {
                its = its_rest;
            }
        }
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resemblance_is_shared_over_all() {
        let mut shingler = Shingler::new(NonZeroUsize::MIN);
        let mut of = |one: &str, other: &str| shingler.shingles(one).resemblance(&shingler.shingles(other));
        assert_eq!(of("a b c", "c b a a"), 1.0);
        assert_eq!(of("a b c", "b c d"), 0.5);
        assert_eq!(of("a", "b"), 0.0);
        assert_eq!(of("", "!"), 0.0);
    }
}
