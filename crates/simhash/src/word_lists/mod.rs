//! Word lists that a recipe may use: inverse document frequencies and stop words.

mod digest;
mod idf;
mod idf_builder;
mod stop;

pub use digest::{ListDigest, ParseListDigestError};
pub use idf::{IdfDictionary, Unknown};
pub use idf_builder::IdfBuilder;
pub use stop::StopWords;

use std::io;

/// An error of reading a word list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The file cannot be read, or is not UTF-8.
    #[error("line {line}: cannot read it")]
    Read {
        /// The line, counted from 1.
        line: usize,
        /// The cause.
        source: io::Error,
    },
    /// A line of a dictionary is not a word and a weight.
    #[error("line {line}: expected a word, a space and a number from 0 to 1e100, found {found:?}")]
    Entry {
        /// The line, counted from 1.
        line: usize,
        /// The line's text.
        found: String,
    },
    /// The dictionary has no words, and so no median.
    #[error("the dictionary has no words")]
    Empty,
}
