//! Recipes: everything that decides a fingerprint's bits, as one value with a text form; and the named recipes.

mod text;

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

pub use crate::case::Case;
pub use crate::hash::Hash;
pub use crate::shingle::Shingle;
pub use crate::stem::Stem;
pub use crate::tokenise::Tokeniser;

use crate::RecipeError;
use crate::word_lists::{IdfDictionary, ListDigest, StopWords, Unknown};

/// A recipe: all choices that decide the fingerprint of a text.
///
/// The text form ([`Display`](std::fmt::Display), [`FromStr`]) names every choice,
/// the versions of the tokeniser's tables and the digests of word lists, so equal texts mean equal
/// bits. Store it with the fingerprints and compare it before a query.
///
/// [`FromStr`] reads this form, or one of [`Recipe::NAMES`], or such a name followed by
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
            return Err(RecipeError(format!(
                "hash={} has no form of {} bits; xxh3, murmur3, md5-head, md5-tail, blake2b, times33 and python2 have one",
                self.hash, self.width
            )));
        }
        if !self.tokens.is_available() {
            return Err(RecipeError(format!(
                "tokens={} needs the cargo feature \"jieba\", which this build does not have",
                self.tokens
            )));
        }
        let (Shingle::Words(width) | Shingle::Chars(width)) = self.shingle;
        if width.get() > Shingle::MAX_WIDTH {
            return Err(RecipeError(format!(
                "a shingle of {width} words or characters; at most {} are allowed",
                Shingle::MAX_WIDTH
            )));
        }
        Ok(())
    }
}

impl Default for Recipe {
    /// The recipe named `default`.
    fn default() -> Self {
        Self {
            width: Width::Bits64,
            case: Case::Caseless,
            tokens: Tokeniser::WordsBigrams,
            min_chars: 0,
            stop: None,
            stem: None,
            min_tokens: 0,
            shingle: Shingle::Words(NonZeroUsize::MIN),
            weight: Weight::Log,
            top: Top::All,
            hash: Hash::Xxh3 { seed: 0 },
            tie: Tie::Zero,
            empty: Empty::None,
            min_features: 16,
        }
    }
}

impl Recipe {
    /// The names of all named recipes.
    pub const NAMES: [&'static str; 10] = [
        "default",
        "default-1",
        "simhash-py",
        "seomoz",
        "text-dedup",
        "text-dedup-0.4.0",
        "mfonda",
        "yanyiwu",
        "trafilatura",
        "python2-hash",
    ];

    /// Returns the recipe of this name.
    ///
    /// | name | fingerprints of |
    /// |---|---|
    /// | `default` | this library, for web text in any language; see the [crate documentation](crate#the-default-recipe) |
    /// | `default-1` | the same as it was first: case is folded, and nothing else is |
    /// | `simhash-py` | PyPI `simhash` 2.1.2 |
    /// | `seomoz` | seomoz simhash-cpp, simhash-py and simhash-pybind: of given features |
    /// | `text-dedup` | text-dedup's simhash with its defaults, as its main branch has had it since 2025 and no release has it: shingles of three words, seed 42 |
    /// | `text-dedup-0.4.0` | the same of PyPI `text-dedup` 0.4.0, which pip installs: shingles of three characters, seed 0 |
    /// | `mfonda` | mfonda/simhash (Go) |
    /// | `yanyiwu` | yanyiwu/simhash (C++): of given terms and weights; of texts with `tokens=jieba min-chars=2` and its lists (`stop`, `weight`, `top`) |
    /// | `trafilatura` | the content fingerprint of PyPI `trafilatura` 2.3.1 (which it prints without leading zeros) |
    /// | `python2-hash` | a widely copied Python example, with the hash of strings of Python 2 |
    ///
    /// All but `default` and `default-1` give the bits that the library gives for every text that has a feature at all,
    /// however short (`min-features=0`), so that short texts have the same bits too. A text without features has the
    /// library's value ([`Outcome::value`](crate::Outcome::value)) and is reported as too short.
    ///
    /// **Characters that a Python does not know.** What is a letter, and what its lower case is, comes from the Unicode
    /// tables of the Python that the library ran on: 13 in Python 3.9 and 3.10, 14 in 3.11, 15 in 3.12, 15.1 in 3.13,
    /// 16 in 3.14. The text form of the recipe names the tables of this build (`tables`). A letter or digit that was
    /// added to Unicode in between is a separator in the older Python (`simhash-py`, `text-dedup`, `trafilatura`), and
    /// its capitals are not folded; here it is a letter. Such texts, which are rare, have other bits; all others have
    /// the same bits in any version.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let compatible = |case, tokens, hash| Self {
            case,
            tokens,
            weight: Weight::Count,
            hash,
            empty: Empty::Tie,
            min_features: 0,
            ..Self::default()
        };
        Some(match name {
            "default" => Self::default(),
            "default-1" => Self { case: Case::Simple, ..Self::default() },
            "simhash-py" => Self {
                shingle: Shingle::Chars(nonzero(4)),
                empty: Empty::Feature,
                ..compatible(Case::Lower, Tokeniser::PyJoined, Hash::Md5Tail)
            },
            "seomoz" => compatible(Case::Keep, Tokeniser::Given, Hash::Md5Head),
            "text-dedup" => Self {
                min_tokens: 5,
                shingle: Shingle::Words(nonzero(3)),
                weight: Weight::Once,
                ..compatible(Case::Lower, Tokeniser::PyWords, Hash::Xxh3 { seed: 42 })
            },
            "text-dedup-0.4.0" => Self {
                // The text is one token, which is dropped if it has fewer characters.
                min_chars: 5,
                shingle: Shingle::Chars(nonzero(3)),
                weight: Weight::Once,
                ..compatible(Case::LowerShingles, Tokeniser::Whole, Hash::Xxh3 { seed: 0 })
            },
            "mfonda" => Self { tie: Tie::One, ..compatible(Case::Simple, Tokeniser::Mfonda, Hash::Fnv1) },
            "yanyiwu" => compatible(Case::Keep, Tokeniser::Given, Hash::Lookup3),
            "trafilatura" => {
                Self { tie: Tie::One, ..compatible(Case::Keep, Tokeniser::Trafilatura, Hash::Blake2b) }
            }
            "python2-hash" => {
                Self { tie: Tie::One, ..compatible(Case::Keep, Tokeniser::WhiteSpace, Hash::Python2) }
            }
            _ => return None,
        })
    }
}

const fn nonzero(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("the numbers are written above, and none is 0")
}

/// Bits of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// 64, in a `u64`.
    Bits64,
    /// 128, in a `u128`.
    Bits128,
}

impl Width {
    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits64 => 64,
            Self::Bits128 => 128,
        }
    }
}

named_values!(Width, "width", { Bits64: "64", Bits128: "128" });

/// The weight of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weight {
    /// `count`: the number of its occurrences.
    Count,
    /// `once`: 1, whatever the number of its occurrences.
    Once,
    /// `log`: 1, and 1 more for every doubling of the number of its occurrences: 1 for 1, 2 for 2 and 3, 3
    /// for 4 to 7. Between the two above. A whole number, so the result is the same on every machine.
    Log,
    /// `idf:DIGEST:UNKNOWN`: the number of its occurrences times its inverse document frequency.
    Idf {
        /// The digest of the dictionary.
        dictionary: ListDigest,
        /// The weight of a word that is not in the dictionary.
        unknown: Unknown,
    },
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Once => f.write_str("once"),
            Self::Log => f.write_str("log"),
            Self::Idf { dictionary, unknown } => write!(f, "idf:{dictionary}:{unknown}"),
        }
    }
}

impl FromStr for Weight {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let idf = |text: &str| {
            let (dictionary, unknown) = text.strip_prefix("idf:")?.split_once(':')?;
            Some(Self::Idf { dictionary: ListDigest::parse(dictionary)?, unknown: unknown.parse().ok()? })
        };
        match text {
            "count" => Ok(Self::Count),
            "once" => Ok(Self::Once),
            "log" => Ok(Self::Log),
            _ => idf(text).ok_or_else(|| {
                let known =
                    ["count", "once", "log", "idf:DIGEST:median", "idf:DIGEST:mean (32 hexadecimal digits)"];
                RecipeError::value("weight", text, &known)
            }),
        }
    }
}

/// The number of features that vote: those of the greatest weight; among equal weights, the first in byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Top {
    /// `all`: all features.
    All,
    /// At most this many.
    Heaviest(NonZeroUsize),
}

impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Heaviest(count) => count.fmt(f),
        }
    }
}

impl FromStr for Top {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "all" => Ok(Self::All),
            _ => text
                .parse()
                .map(Self::Heaviest)
                .map_err(|_| RecipeError::value("top", text, &["all", "a number from 1"])),
        }
    }
}

/// The value of a bit with as much weight for it as against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tie {
    /// Clear.
    Zero,
    /// Set.
    One,
}

named_values!(Tie, "tie", { Zero: "0", One: "1" });

/// The fingerprint of a text without features. Such a text is always reported as too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Empty {
    /// `none`: no fingerprint, so such texts match nothing.
    None,
    /// `tie`: every bit has the value of a tie, as in some libraries.
    Tie,
    /// `feature`: the empty string is its only feature, as in PyPI simhash.
    Feature,
}

named_values!(Empty, "empty", { None: "none", Tie: "tie", Feature: "feature" });
