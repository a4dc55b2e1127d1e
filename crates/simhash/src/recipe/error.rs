//! Why a recipe cannot be read or used.

use crate::hash::Hash;
use crate::lists::ListDigest;
use crate::recipe::Recipe;
use crate::tokenise::Tokeniser;

/// Why a recipe cannot be read or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The text does not start as a recipe does.
    #[error("no recipe is named {name:?}; there are: {}", Recipe::NAMES.join(", "))]
    Name {
        /// What stands where a name should.
        name: String,
    },
    /// A recipe written by a version of this library that pinned other things.
    #[error("recipe of form {form:?}; this build reads {}", Recipe::FORM)]
    Form {
        /// What the text says.
        form: String,
    },
    /// Not `key=value`, or the key is unknown.
    #[error("recipe has no choice {key:?}; there are: {}", Recipe::KEYS.join(", "))]
    Key {
        /// What stands where a key should.
        key: String,
    },
    /// The same key twice.
    #[error("recipe names {key} twice")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// The full form, with keys left out.
    #[error("recipe does not say {keys}")]
    Missing {
        /// The keys.
        keys: String,
    },
    /// A value that the key cannot have.
    #[error("{key}={value:?} is none of: {known}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The values there are.
        known: String,
    },
    /// The tokeniser rests on other versions of its tables than this build has.
    #[error(
        "tokens={tokens} of this build rests on {have}, the recipe asks for {asked}: \
             make the fingerprints anew with this build, or ask with the build that made them"
    )]
    Tables {
        /// The tokeniser.
        tokens: Tokeniser,
        /// Versions in the recipe.
        asked: String,
        /// Versions in this build.
        have: String,
    },
    /// The tokeniser was left out of this build.
    #[error("tokens={tokens} needs the cargo feature \"jieba\", which this build was made without")]
    Unavailable {
        /// The tokeniser.
        tokens: Tokeniser,
    },
    /// The hash has fewer bits than the fingerprint.
    #[error("hash={hash} has no form of {bits} bits; xxh3, murmur3, md5-head, md5-tail and blake2b have one")]
    HashWidth {
        /// The hash.
        hash: Hash,
        /// The recipe's width, in bits.
        bits: u32,
    },
    /// A shingle wider than may be.
    #[error("a shingle of {width}; at most 64 are allowed")]
    ShingleWidth {
        /// The width, in words or characters.
        width: usize,
    },
    /// The recipe is of another width than the fingerprints asked for.
    #[error("recipe makes fingerprints of {recipe} bits, {asked} are asked for")]
    OtherWidth {
        /// The recipe's width, in bits.
        recipe: u32,
        /// The width asked for, in bits.
        asked: u32,
    },
    /// A word list that the recipe names was not handed over, or another one was.
    #[error("recipe needs the {list} with digest {wanted}, {}",
            given.map_or("none is given".to_owned(), |given| format!("the one given has {given}")))]
    List {
        /// Which list: `idf dictionary` or `stop words`.
        list: &'static str,
        /// The digest in the recipe.
        wanted: ListDigest,
        /// The digest of the list handed over.
        given: Option<ListDigest>,
    },
    /// A text for a recipe that takes features.
    #[error(
        "recipe has tokens=given: it takes features, not text; \
             name a tokeniser, for example with tokens=words shingle=words:4"
    )]
    NotForText,
}

impl RecipeError {
    pub(crate) fn value(key: &'static str, value: &str, known: &[&str]) -> Self {
        Self::Value { key, value: value.to_owned(), known: known.join(", ") }
    }
}
