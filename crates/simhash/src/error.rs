//! Why a recipe cannot be read or used.

use crate::lists::ListDigest;

/// Why a recipe cannot be read or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The text does not start as a recipe does.
    #[error("no recipe is named {name:?}; there are: {known}")]
    Name {
        /// What stands where a name should.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A recipe written by a version of this library that pinned other things.
    #[error("recipe of form {form:?}; this build reads {known}")]
    Form {
        /// What the text says.
        form: String,
        /// The form that this build reads.
        known: &'static str,
    },
    /// Not `key=value`, or the key is unknown.
    #[error("recipe has no choice {key:?}; there are: {known}")]
    Key {
        /// What stands where a key should.
        key: String,
        /// The keys there are.
        known: String,
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
        "tokens={tokens} of this build rests on {have}, the recipe needs {wanted}: \
             make the fingerprints again with this build, or query with the build that made them"
    )]
    Tables {
        /// The tokeniser.
        tokens: String,
        /// Versions in the recipe.
        wanted: String,
        /// Versions in this build.
        have: String,
    },
    /// The tokeniser was left out of this build.
    #[error("tokens={tokens} needs the cargo feature \"jieba\", which this build was made without")]
    Unavailable {
        /// The tokeniser.
        tokens: String,
    },
    /// The hash has fewer bits than the fingerprint.
    #[error("hash={hash} has no form of {bits} bits; xxh3, murmur3, md5-head, md5-tail and blake2b have one")]
    HashWidth {
        /// The hash.
        hash: String,
        /// The recipe's width, in bits.
        bits: u32,
    },
    /// A shingle wider than may be.
    #[error("a shingle of {width}; at most 64 are allowed")]
    ShingleWidth {
        /// The width, in words or characters.
        width: usize,
    },
    /// The recipe is of another width than the fingerprints wanted.
    #[error("recipe makes fingerprints of {recipe} bits, not of {wanted}")]
    OtherWidth {
        /// The recipe's width, in bits.
        recipe: u32,
        /// The width wanted, in bits.
        wanted: u32,
    },
    /// A word list that the recipe names is not given, or another one is.
    #[error("recipe needs the {list} with digest {wanted}, {}",
            given.map_or("none is given".to_owned(), |given| format!("the one given has {given}")))]
    List {
        /// Which list: `idf dictionary` or `stop words`.
        list: &'static str,
        /// The digest in the recipe.
        wanted: ListDigest,
        /// The digest of the list given.
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
    /// A value that the key cannot have.
    pub(crate) fn value(key: &'static str, value: &str, known: &[&str]) -> Self {
        Self::Value { key, value: value.to_owned(), known: known.join(", ") }
    }
}
