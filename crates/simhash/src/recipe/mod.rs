//! Recipes: everything that decides a fingerprint's bits, as one value with a text form.

mod choices;
mod named;
mod text;

pub use crate::case::Case;
pub use crate::hash::Hash;
pub use crate::shingle::Shingle;
pub use crate::stem::Stem;
pub use crate::tokenise::Tokeniser;
pub use choices::{Empty, Tie, Top, Weight, Width};

use crate::error::RecipeError;
use crate::word_lists::{IdfDictionary, ListDigest, StopWords, Unknown};

/// A recipe: all choices that decide the fingerprint of a text.
///
/// The text form ([`Display`](std::fmt::Display), [`FromStr`](std::str::FromStr)) names every choice,
/// the versions of the tokeniser's tables and the digests of word lists, so equal texts mean equal
/// bits. Store it with the fingerprints and compare it before a query.
///
/// [`FromStr`](std::str::FromStr) reads this form, or one of [`Recipe::NAMES`], or such a name followed by
/// the choices that differ from it, as `key=value`.
///
/// | key | values | meaning |
/// |---|---|---|
/// | `width` | `64`, `128` | bits of the fingerprint |
/// | `case` | `keep`, `lower`, `lower-shingles`, `simple`, `caseless` | [`Case`] |
/// | `tokens` | `words`, `words+bigrams`, `words+jieba`, `jieba`, `py-words`, `py-joined`, `mfonda`, `trafilatura`, `white-space`, `whole`, `given` | [`Tokeniser`] |
/// | `tables` | as [`Recipe::tables`] prints them | versions of the tables of tokeniser, case and stems; must be this build's |
/// | `min-chars` | a number | tokens of fewer characters are dropped |
/// | `stop` | `none`, a digest | tokens on this list are dropped |
/// | `stem` | `none`, a language | tokens are cut to their stems, after those of the list were dropped: [`Stem`] |
/// | `min-tokens` | a number | a text of fewer tokens has no features |
/// | `shingle` | `words:N`, `chars:N` | [`Shingle`] |
/// | `weight` | `count`, `once`, `log`, `idf:DIGEST:median`, `idf:DIGEST:mean` | [`Weight`] |
/// | `top` | `all`, a number | how many features vote, the heaviest first: [`Top`] |
/// | `hash` | `xxh3:SEED`, `murmur3:SEED`, `md5-head`, `md5-tail`, `blake2b`, `fnv1`, `lookup3`, `times33:START`, `python2` | [`Hash`](enum@Hash) |
/// | `tie` | `0`, `1` | a bit with as much weight for it as against it: [`Tie`] |
/// | `empty` | `none`, `tie`, `feature` | the fingerprint of a text without features: [`Empty`] |
/// | `min-features` | a number | a text with fewer voting features is reported as too short |
///
/// ```
/// use hamdex_simhash::recipe::Width;
/// use hamdex_simhash::Recipe;
///
/// let recipe: Recipe = "default width=128".parse()?;
/// assert_eq!(recipe.width, Width::Bits128);
/// assert_eq!(recipe.to_string().parse(), Ok(recipe));
/// assert!("default shingel=words:2".parse::<Recipe>().unwrap_err().to_string().contains("shingle"));
/// # Ok::<(), hamdex_simhash::RecipeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Recipe {
    /// Bits of the fingerprint.
    pub width: Width,
    /// Case folding, done before the text is cut.
    pub case: Case,
    /// The tokeniser.
    pub tokens: Tokeniser,
    /// Tokens of fewer characters are dropped; 0 and 1 drop none.
    pub min_chars: usize,
    /// The list of tokens to drop.
    pub stop: Option<ListDigest>,
    /// The language whose stems replace tokens.
    pub stem: Option<Stem>,
    /// A text with fewer tokens (without those dropped) counts as one without features.
    pub min_tokens: usize,
    /// The shingles that are features.
    pub shingle: Shingle,
    /// The weight of a feature.
    pub weight: Weight,
    /// The number of features that vote.
    pub top: Top,
    /// The hash of a feature.
    pub hash: Hash,
    /// The value of a bit whose vote is a tie.
    pub tie: Tie,
    /// The fingerprint of a text without features.
    pub empty: Empty,
    /// With fewer voting features than this, a text is reported as too short.
    pub min_features: usize,
}

impl Recipe {
    /// Returns the versions of all tables that this recipe uses, in this build; `none` if nothing of it can change.
    #[must_use]
    pub fn tables(&self) -> String {
        let tokens = Some(self.tokens.tables()).filter(|tables| tables != "none");
        let stem = self.stem.map(|_| Stem::TABLES.to_owned());
        let all: Vec<String> = [tokens, self.case.tables(), stem].into_iter().flatten().collect();
        if all.is_empty() { "none".to_owned() } else { all.join(",") }
    }

    /// Returns the name of this recipe, whatever its width; `None` if it is a variant of a named one.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        Self::NAMES
            .into_iter()
            .find(|name| Self::named(name).is_some_and(|named| Self { width: self.width, ..named } == *self))
    }

    /// Returns whether words are cut as in the default recipe, but from texts that are folded as in its first version,
    /// `default-1`: other apostrophes and accents in other forms make other words.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        let cuts_words =
            matches!(self.tokens, Tokeniser::Words | Tokeniser::WordsBigrams | Tokeniser::WordsJieba);
        cuts_words && self.case == Case::Simple
    }

    /// Returns this recipe with tf·idf weights from `dictionary`; words that it lacks have the weight that `unknown`
    /// says.
    #[must_use]
    pub fn with_idf(self, dictionary: &IdfDictionary, unknown: Unknown) -> Self {
        Self { weight: Weight::Idf { dictionary: dictionary.digest(), unknown }, ..self }
    }

    /// Returns this recipe with the words of `list` dropped.
    #[must_use]
    pub fn with_stop_words(self, list: &StopWords) -> Self {
        Self { stop: Some(list.digest()), ..self }
    }

    /// Checks that the choices fit together in this build. Recipes read from text have passed this check.
    ///
    /// # Errors
    /// When the hash has no form of this width, this build does not include the tokeniser, or the shingle is
    /// too wide.
    pub fn check(&self) -> Result<(), RecipeError> {
        if !self.hash.has_width(self.width.bits()) {
            return Err(RecipeError::HashWidth { hash: self.hash.to_string(), bits: self.width.bits() });
        }
        if !self.tokens.is_available() {
            return Err(RecipeError::Unavailable { tokens: self.tokens.to_string() });
        }
        let (Shingle::Words(width) | Shingle::Chars(width)) = self.shingle;
        if width.get() > Shingle::MAX_WIDTH {
            return Err(RecipeError::ShingleWidth { width: width.get() });
        }
        Ok(())
    }
}
