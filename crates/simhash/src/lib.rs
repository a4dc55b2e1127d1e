//! Simhash fingerprints of 64 or 128 bits for the texts of documents.
//!
//! A text is cut into features, each feature is hashed, and every bit of the fingerprint is the sign of a
//! vote: each feature votes with its weight for the bit's value in its hash (Charikar's simhash, as in §2 of
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007). Texts that
//! share most of their features have fingerprints that differ in few bits.
//!
//! ```
//! use hamdex_fingerprint::Fingerprint;
//! use hamdex_simhash::{Fingerprinter, Recipe, Scratch};
//!
//! let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default())?;
//! let mut scratch = Scratch::default();
//! let text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money \
//!             in my purse, and nothing particular to interest me on shore, I thought I would sail about \
//!             a little and see the watery part of the world. It is a way I have of driving off the \
//!             spleen and regulating the circulation.";
//! let one = fingerprinter.fingerprint(text, &mut scratch).reliable().expect("long enough");
//! let other = fingerprinter.fingerprint(&text.replace("money", "cash"), &mut scratch).reliable();
//! assert!(one.distance(other.expect("as long")) <= 6);
//! # Ok::<(), hamdex_simhash::RecipeError>(())
//! ```
//!
//! # Recipes
//!
//! Everything that decides a fingerprint's bits is one value, a [`Recipe`]. Its text form pins all of it: store it with
//! the fingerprints. Named recipes compute the same bits as other libraries ([`Recipe::named`]);
//! [`FeatureFingerprinter`] takes features made elsewhere. A text of too few features is reported as
//! [`Outcome::TooShort`]. A recipe names word lists by their digests ([`IdfDictionary`](word_lists::IdfDictionary),
//! [`StopWords`](word_lists::StopWords)); [`IdfBuilder`](word_lists::IdfBuilder) builds a dictionary from a corpus.
//!
//! # The default recipe
//!
//! The features are the words of any language; in scripts without spaces, overlapping pairs of characters. Case,
//! composed or decomposed accents, full-width letters, invisible characters and the form of apostrophes do not matter
//! ([`Case::Caseless`](recipe::Case::Caseless)). The weight is the logarithm of the number of occurrences, and the hash
//! is XXH3. It needs no dictionary and no corpus. Files of `default-1`, the first version, which folds case alone, keep
//! their recipe and answer by it.
//!
//! It was chosen by precision and recall at k = 3 on 1,000 English news articles with 10 altered copies, and
//! an installation manual in English and Chinese, 166 pages each (a group is one page for two machines; in a
//! third of the groups the two differ substantially). Figures are means over 24 seeds of XXH3, since with 10
//! true pairs a lucky seed makes any recipe look good. "Wrong at 8" is the number of false pairs of articles
//! at k = 8, which shows how far apart different articles are. "Long" is the least distance between different
//! texts of about 10,000 English words (`cargo run --release -p hamdex-simhash --example choose`):
//!
//! | features | weight | articles: precision, recall | wrong at 8 | manual, English | manual, Chinese | long |
//! |---|---|---|---|---|---|---|
//! | **words and pairs** | **log** | **1.00, 0.95** | **6.9** | **0.97, 0.66** | **0.97, 0.65** | **4** |
//! | words and pairs | once | 1.00, 0.91 | 0.1 | 0.98, 0.61 | 0.97, 0.62 | 10 |
//! | words and pairs | count | 0.57, 0.98 | 6506 | 0.93, 0.75 | 0.96, 0.71 | 0 |
//! | words, jieba | log | 1.00, 0.95 | 6.9 | 0.97, 0.66 | 0.98, 0.67 | 4 |
//! | 2 words | once | 1.00, 0.80 | 0.0 | 0.99, 0.55 | 0.99, 0.57 | 14 |
//! | 3 words | count | 1.00, 0.66 | 0.0 | 1.00, 0.54 | 0.99, 0.55 | 15 |
//! | 4 characters | log | 1.00, 0.94 | 0.9 | 0.97, 0.66 | 0.98, 0.62 | 2 |
//! | 4 characters | count | 1.00, 0.95 | 51.6 | 0.96, 0.73 | 0.97, 0.67 | 0 |
//! | 5 characters | count | 1.00, 0.91 | 0.4 | 0.96, 0.70 | 0.98, 0.64 | 0 |
//!
//! - With plain counts the most frequent words or letters of a language decide: all long texts look alike.
//! - Wider shingles keep different texts further apart but miss copies: one changed word changes several.
//! - `default weight=once` is the choice for very large collections of long texts.
//! - Jieba gains little here and costs half the speed on Chinese and 25 MB of memory; pairs of characters
//!   are as good.
//!
//! Results of the default recipe, with its own seed, on the articles (`cargo run --release -p hamdex-similarity --
//! --lines articles_1000.train --truth articles_1000.truth`):
//!
//! | k | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | precision | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 0.83 | 0.67 | 0.31 | 0.12 |
//! | recall | 0.20 | 0.30 | 0.80 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |
//!
//! How long must a text be? Share of the articles, cut to this number of different words, whose fingerprint
//! stays within 3 bits when one word is replaced:
//!
//! | words | 8 | 16 | 24 | 32 | 48 | 64 | 96 | 128 |
//! |---|---|---|---|---|---|---|---|---|
//! | share | 0.02 | 0.14 | 0.29 | 0.42 | 0.61 | 0.71 | 0.82 | 0.90 |
//!
//! Below 16 words (`min-features`) hardly anything but exact copies is found, so such texts are reported as
//! too short, together with the value that they have.
//!
//! # Speed
//!
//! Threads share a [`Fingerprinter`]; each has its own [`Scratch`]. MiB/s on one core of a busy two-core
//! machine (`cargo bench -p hamdex-simhash`); a Chinese character is 3 bytes:
//!
//! | recipe | articles | manual, English | manual, Chinese |
//! |---|---|---|---|
//! | `default` | 116 | 69 | 21–31 |
//! | `default shingle=words:3 weight=count` | 107 | 62 | 24–36 |
//! | `default tokens=words+jieba` | 103 | 54 | 14 |
//! | `text-dedup` | 114 | 72 | 47–69 |
//! | `simhash-py` | 6–8 | 7 | 6–11 |
//!
//! The vote itself costs about 5 ns per feature ([`FeatureFingerprinter::hashes`]), or 35 ns with weights in doubles
//! ([`FeatureFingerprinter::weighted_hashes`]).
//!
//! # Features
//!
//! `jieba` (default): the tokenisers `jieba` and `words+jieba`. Without it, recipes that name them are refused.

/// Implements the text forms of an option whose values have plain names. The error of another text names the key, and the
/// `known` values, or those with a name here.
macro_rules! named_values {
    ($option:ident, $key:literal, { $($value:ident: $name:literal),+ $(,)? }) => {
        $crate::named_values!($option, $key, { $($value: $name),+ }, known: [$($name),+]);
    };
    ($option:ident, $key:literal, { $($value:ident: $name:literal),+ $(,)? }, known: $known:expr) => {
        impl std::fmt::Display for $option {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$value => $name,)+
                })
            }
        }

        impl std::str::FromStr for $option {
            type Err = $crate::RecipeError;

            fn from_str(text: &str) -> Result<Self, $crate::RecipeError> {
                match text {
                    $($name => Ok(Self::$value),)+
                    _ => Err($crate::RecipeError::value($key, text, &$known)),
                }
            }
        }
    };
}

pub(crate) use named_values;

mod case;
mod extract;
mod fingerprinter;
mod hash;
mod idf_builder;
pub mod recipe;
mod resemblance;
mod shingle;
mod stem;
mod tokenise;
mod vote;
pub mod word_lists;

pub use fingerprinter::{FeatureFingerprinter, Fingerprinter, Lists, Outcome, Scratch};
pub use recipe::Recipe;
pub use resemblance::{SHINGLE_BITS, Shingler, Shingles, resemblance};

/// The error of reading or using a recipe: its text says what is wrong, and what is possible instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(pub(crate) String);

impl RecipeError {
    /// Creates an error about a value that the key does not accept.
    pub(crate) fn value(key: &'static str, value: &str, known: &[&str]) -> Self {
        Self(format!("{key}={value:?} is not one of: {}", known.join(", ")))
    }

    /// Creates an error about a word list that is missing, or is not the one that the recipe names.
    pub(crate) fn list(list: &str, wanted: impl ToString, given: Option<impl ToString>) -> Self {
        let given = given.map_or("and none was passed".to_owned(), |given| {
            format!("not the one with {}", given.to_string())
        });
        Self(format!("recipe needs the {list} with digest {}, {given}", wanted.to_string()))
    }
}
