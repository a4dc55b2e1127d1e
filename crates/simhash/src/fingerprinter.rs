//! Fingerprints of texts, or of features made by the caller, and the outcome of fingerprinting one.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

use hamdex_fingerprint::Fingerprint;

use crate::RecipeError;
use crate::case::Case;
use crate::extract::{Extractor, Workspace};
use crate::recipe::{Empty, Recipe, Top, Weight};
use crate::resemblance::{Shingler, Shingles};
use crate::vote::{Tally, WeightedTally};
use crate::word_lists::{IdfDictionary, StopWords};

/// The word lists that a recipe names by their digests.
///
/// ```no_run
/// use std::fs::File;
/// use std::io::BufReader;
/// use std::sync::Arc;
/// use hamdex_simhash::word_lists::StopWords;
/// use hamdex_simhash::Lists;
///
/// let stop = StopWords::read(BufReader::new(File::open("stop.txt")?))?;
/// let lists = Lists::default().with_stop_words(Arc::new(stop));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Lists {
    /// For a recipe with `weight=idf`.
    pub idf: Option<Arc<IdfDictionary>>,
    /// For a recipe with `stop`.
    pub stop: Option<Arc<StopWords>>,
}

impl Lists {
    /// These lists with a dictionary of inverse document frequencies.
    #[must_use]
    pub fn with_idf(self, dictionary: Arc<IdfDictionary>) -> Self {
        Self { idf: Some(dictionary), ..self }
    }

    /// These lists with stop words.
    #[must_use]
    pub fn with_stop_words(self, list: Arc<StopWords>) -> Self {
        Self { stop: Some(list), ..self }
    }
}

/// Makes fingerprints of texts by a recipe.
///
/// It is `Send` and `Sync` and never changes: threads can share it, each with its own [`Scratch`].
///
/// ```
/// use hamdex_simhash::{Fingerprinter, Recipe, Scratch};
///
/// let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default())?;
/// let mut scratch = Scratch::default();
/// let mut of = |text: &str| fingerprinter.fingerprint(text, &mut scratch);
///
/// let story = "The old man was thin and gaunt with deep wrinkles in the back of his neck, and the \
///              brown blotches of the sun were on his cheeks and ran well down the sides of his face.";
/// assert_eq!(of(story), of(&story.to_uppercase()));
/// assert!(of(story).reliable().is_some());
/// assert!(of("Page not found").is_too_short());
/// assert_eq!(of("").value(), None);
/// # Ok::<(), hamdex_simhash::RecipeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fingerprinter<F> {
    extractor: Extractor,
    idf: Option<Arc<IdfDictionary>>,
    width: PhantomData<fn() -> F>,
}

/// Memory that a [`Fingerprinter`] reuses from text to text; one per thread.
///
/// It grows with the longest text: to about twice its length, and 16 bytes per word.
#[derive(Debug, Clone)]
pub struct Scratch<F> {
    workspace: Workspace,
    tally: Tally<F>,
    hashes: Vec<F>,
}

impl<F: Fingerprint> Default for Scratch<F> {
    fn default() -> Self {
        Self { workspace: Workspace::default(), tally: Tally::new(), hashes: Vec::new() }
    }
}

impl<F: Fingerprint> Fingerprinter<F> {
    /// Creates a fingerprinter from a recipe that needs no word lists.
    ///
    /// # Errors
    /// When the recipe needs lists, takes no text, is of another width than `F`, or fails
    /// [`Recipe::check`].
    pub fn new(recipe: &Recipe) -> Result<Self, RecipeError> {
        Self::with_lists(recipe, Lists::default())
    }

    /// Creates a fingerprinter from a recipe with word lists; lists that it does not name are dropped.
    ///
    /// # Errors
    /// As [`Self::new`]; and when a list is not the one that the recipe names.
    pub fn with_lists(recipe: &Recipe, lists: Lists) -> Result<Self, RecipeError> {
        check_width::<F>(recipe)?;
        let extractor = Extractor::new(recipe, lists.stop)?;
        let idf = match recipe.weight {
            Weight::Idf { dictionary: wanted, .. } => {
                let given = lists.idf.as_ref().map(|dictionary| dictionary.digest());
                if given != Some(wanted) {
                    return Err(RecipeError::list("idf dictionary", wanted, given));
                }
                lists.idf
            }
            Weight::Count | Weight::Once | Weight::Log => None,
        };
        Ok(Self { extractor, idf, width: PhantomData })
    }

    /// Returns the recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.extractor.recipe()
    }

    /// Returns the fingerprint of `text`.
    #[must_use]
    pub fn fingerprint(&self, text: &str, scratch: &mut Scratch<F>) -> Outcome<F> {
        let recipe = self.extractor.recipe();
        let Scratch { workspace, tally, hashes } = scratch;
        if self.needs_features() {
            return self.weigh(text, workspace);
        }
        // Weights that depend only on the number of occurrences need only the hashes: equal features
        // have equal ones.
        hashes.clear();
        self.extractor.features(text, workspace, |feature| hashes.push(recipe.hash.of(feature.as_bytes())));
        vote(recipe, hashes, tally)
    }

    /// Returns the fingerprint of `text`, and its shingles. The text is cut only once if the recipe permits it.
    #[must_use]
    pub fn fingerprint_and_shingles(
        &self,
        text: &str,
        scratch: &mut Scratch<F>,
        shingler: &mut Shingler,
    ) -> (Outcome<F>, Shingles) {
        if self.needs_features() || !self.extractor.has_words() {
            return (self.fingerprint(text, scratch), shingler.shingles(text));
        }
        let recipe = self.extractor.recipe();
        let Scratch { workspace, tally, hashes } = scratch;
        hashes.clear();
        let mut words = shingler.start();
        self.extractor.words_and_features(
            text,
            workspace,
            |word| words.push(word),
            |feature| hashes.push(recipe.hash.of(feature.as_bytes())),
        );
        (vote(recipe, hashes, tally), words.finish(text))
    }

    /// Returns whether the vote needs the features themselves, not only their hashes.
    fn needs_features(&self) -> bool {
        let recipe = self.extractor.recipe();
        matches!((recipe.weight, recipe.top), (Weight::Idf { .. }, _) | (_, Top::Heaviest(_)))
    }

    fn weigh(&self, text: &str, workspace: &mut Workspace) -> Outcome<F> {
        let recipe = self.extractor.recipe();
        let mut lowered = Vec::new();
        let mut features = Vec::new();
        if recipe.case == Case::LowerShingles {
            self.extractor.features(text, workspace, |feature| lowered.push(feature.to_owned()));
            features.extend(lowered.iter().map(String::as_str));
        } else {
            let tokens = self.extractor.extract(text, workspace);
            tokens.shingles(recipe.shingle, |feature| features.push(feature));
        }
        if features.is_empty() {
            return nothing(recipe);
        }
        let weighed = heaviest(features, recipe.top, |feature, count| match (recipe.weight, &self.idf) {
            (Weight::Idf { unknown, .. }, Some(dictionary)) => {
                count as f64 * dictionary.idf(feature, unknown)
            }
            (Weight::Once, _) => 1.0,
            (Weight::Log, _) => logarithmic(count) as f64,
            (Weight::Count | Weight::Idf { .. }, _) => count as f64,
        });
        let mut tally = WeightedTally::new();
        for &(feature, weight) in &weighed {
            tally.add(recipe.hash.of(feature.as_bytes()), weight);
        }
        Outcome::of(tally.fingerprint(recipe.tie), weighed.len(), recipe.min_features)
    }
}

/// Returns the vote of features given by their hashes, weighted by their numbers of occurrences.
fn vote<F: Fingerprint>(recipe: &Recipe, hashes: &mut [F], tally: &mut Tally<F>) -> Outcome<F> {
    if hashes.is_empty() {
        return nothing(recipe);
    }
    tally.clear();
    let features = match recipe.weight {
        Weight::Count => {
            hashes.iter().for_each(|&hash| tally.add(hash));
            hashes.len()
        }
        Weight::Once => count_distinct(hashes, tally, |_| 1),
        _ => count_distinct(hashes, tally, logarithmic),
    };
    Outcome::of(tally.fingerprint(recipe.tie), features, recipe.min_features)
}

/// Adds every distinct hash with its weight, and counts them.
fn count_distinct<F: Fingerprint>(
    hashes: &mut [F],
    tally: &mut Tally<F>,
    weight: impl Fn(usize) -> u64,
) -> usize {
    hashes.sort_unstable();
    let mut distinct = 0;
    for equal in hashes.chunk_by(|a, b| a == b) {
        tally.add_weighted(equal[0], weight(equal.len()));
        distinct += 1;
    }
    distinct
}

/// Returns [`Weight::Log`] of a number of occurrences.
fn logarithmic(occurrences: usize) -> u64 {
    1 + u64::from(occurrences.ilog2())
}

/// Returns the outcome of a text or a list without features.
fn nothing<F: Fingerprint>(recipe: &Recipe) -> Outcome<F> {
    let fingerprint = match recipe.empty {
        Empty::None => None,
        Empty::Tie => Some(Tally::<F>::new().fingerprint(recipe.tie)),
        Empty::Feature => Some(recipe.hash.of(b"")),
    };
    Outcome::TooShort { features: 0, fingerprint }
}

fn check_width<F: Fingerprint>(recipe: &Recipe) -> Result<(), RecipeError> {
    recipe.check()?;
    if recipe.width.bits() == F::BITS {
        return Ok(());
    }
    Err(RecipeError(format!("recipe makes fingerprints of {} bits, not of {}", recipe.width, F::BITS)))
}

/// The outcome of fingerprinting a text.
///
/// A fingerprint of few features is unreliable: one changed word changes many of its bits, and in some
/// libraries all short texts have the same one and form one cluster. The `min-features` of the recipe
/// decides which texts are too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome<F> {
    /// The fingerprint of a text with enough features.
    Fingerprint(F),
    /// Fewer features voted than the recipe requires.
    TooShort {
        /// The number of features that voted.
        features: usize,
        /// Their unreliable fingerprint. `None` without any feature, unless the recipe follows a library
        /// that returns a value even then.
        fingerprint: Option<F>,
    },
}

impl<F: Copy> Outcome<F> {
    fn of(fingerprint: F, features: usize, needed: usize) -> Self {
        if features >= needed.max(1) {
            Self::Fingerprint(fingerprint)
        } else {
            Self::TooShort { features, fingerprint: Some(fingerprint) }
        }
    }

    /// Returns the fingerprint if it is reliable.
    #[must_use]
    pub fn reliable(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { .. } => None,
        }
    }

    /// Returns the fingerprint, reliable or not; bit-identical to that of the library that the recipe follows.
    #[must_use]
    pub fn value(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { fingerprint, .. } => fingerprint,
        }
    }

    /// Returns the fingerprint of a text that is stored with its shingles, reliable or not; zero for a text without
    /// features, such as `?!`, and `None` for a blank one, which is near no other.
    #[must_use]
    pub fn value_of_text(self, shingles: &Shingles) -> Option<F>
    where
        F: Fingerprint,
    {
        (!shingles.hashes().is_empty()).then(|| self.value().unwrap_or(F::ZERO))
    }

    /// Returns whether the text was too short.
    #[must_use]
    pub fn is_too_short(self) -> bool {
        matches!(self, Self::TooShort { .. })
    }
}

/// Returns the distinct features with `weight(feature, occurrences)`, heaviest first, those of equal weight
/// in byte order, at most as many as `top` lets vote. The order is part of the result: doubles are summed
/// in it. Features of weight 0 are left out.
fn heaviest(mut features: Vec<&str>, top: Top, weight: impl Fn(&str, usize) -> f64) -> Vec<(&str, f64)> {
    features.sort_unstable();
    let mut weighed: Vec<(&str, f64)> = features
        .chunk_by(|a, b| a == b)
        .map(|equal| (equal[0], weight(equal[0], equal.len())))
        .filter(|&(_, weight)| weight > 0.0)
        .collect();
    if let Top::Heaviest(count) = top
        && count.get() < weighed.len()
    {
        weighed.select_nth_unstable_by(count.get(), heavier_first);
        weighed.truncate(count.get());
    }
    weighed.sort_unstable_by(heavier_first);
    weighed
}

fn heavier_first(a: &(&str, f64), b: &(&str, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'t>(features: &[&'t str], top: &str) -> Vec<&'t str> {
        let weighed = heaviest(features.to_vec(), top.parse().unwrap(), |feature, count| {
            if feature == "z" { 0.0 } else { count as f64 }
        });
        weighed.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn equal_weights_are_told_apart_by_their_bytes() {
        assert_eq!(names(&["d", "b", "c", "a", "c"], "all"), ["c", "a", "b", "d"]);
        assert_eq!(names(&["d", "b", "c", "a", "c"], "2"), ["c", "a"]);
        assert_eq!(names(&["a", "d", "c", "c", "b"], "2"), ["c", "a"]);
        assert_eq!(names(&["b", "a"], "9"), ["a", "b"]);
    }

    #[test]
    fn features_of_weight_zero_do_not_vote() {
        assert_eq!(names(&["z", "a"], "2"), ["a"]);
    }
}
