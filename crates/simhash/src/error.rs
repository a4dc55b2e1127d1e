//! Errors of recipes.

use crate::list_digest::ListDigest;

/// An error of reading or using a recipe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The text does not start with a form or the name of a recipe.
    #[error("no recipe is named {name:?}; there are: {known}")]
    Name {
        /// The text found in place of a name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The recipe was written by an incompatible version of this library.
    #[error("recipe of form {form:?}; this build reads {known}")]
    Form {
        /// The form of the text.
        form: String,
        /// The form that this build reads.
        known: &'static str,
    },
    /// A word is not `key=value`, or its key is unknown.
    #[error("recipe has no key {key:?}; there are: {known}")]
    Key {
        /// The text found in place of a key.
        key: String,
        /// The keys that exist.
        known: String,
    },
    /// A key occurs twice.
    #[error("recipe names {key} twice")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// Keys are missing in the full form.
    #[error("recipe lacks {keys}")]
    Missing {
        /// The keys.
        keys: String,
    },
    /// A value that the key does not accept.
    #[error("{key}={value:?} is not one of: {known}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The values that it accepts.
        known: String,
    },
    /// The recipe pins other versions of the tables of its parts than this build has.
    #[error(
        "this build has the tables {have}, the recipe needs {wanted}: \
             make the fingerprints again with this build, or query with the build that made them"
    )]
    Tables {
        /// Versions in the recipe.
        wanted: String,
        /// Versions in this build.
        have: String,
    },
    /// This build does not include the tokeniser.
    #[error("tokens={tokens} needs the cargo feature \"jieba\", which this build does not have")]
    Unavailable {
        /// The tokeniser.
        tokens: String,
    },
    /// The hash has fewer bits than the fingerprint.
    #[error(
        "hash={hash} has no form of {bits} bits; xxh3, murmur3, md5-head, md5-tail, blake2b, times33 and python2 have one"
    )]
    HashWidth {
        /// The hash.
        hash: String,
        /// The recipe's width, in bits.
        bits: u32,
    },
    /// A shingle wider than [`Shingle::MAX_WIDTH`](crate::recipe::Shingle::MAX_WIDTH).
    #[error("a shingle of {width} words or characters; at most 64 are allowed")]
    ShingleWidth {
        /// The width, in words or characters.
        width: usize,
    },
    /// The recipe and the fingerprints differ in width.
    #[error("recipe makes fingerprints of {recipe} bits, not of {wanted}")]
    OtherWidth {
        /// The recipe's width, in bits.
        recipe: u32,
        /// The width wanted, in bits.
        wanted: u32,
    },
    /// A word list that the recipe names is missing, or another one was passed.
    #[error("recipe needs the {list} with digest {wanted}, {}",
            given.map_or("and none was passed".to_owned(), |given| format!("not the one with {given}")))]
    List {
        /// The list: `idf dictionary` or `stop words`.
        list: &'static str,
        /// The digest in the recipe.
        wanted: ListDigest,
        /// The digest of the list that was passed.
        given: Option<ListDigest>,
    },
    /// The recipe takes features, not texts.
    #[error(
        "recipe has tokens=given: it takes features, not text; \
             name a tokeniser, for example with tokens=words shingle=words:4"
    )]
    NotForText,
}

impl RecipeError {
    /// Creates an error about a value that the key does not accept.
    pub(crate) fn value(key: &'static str, value: &str, known: &[&str]) -> Self {
        Self::Value { key, value: value.to_owned(), known: known.join(", ") }
    }
}
