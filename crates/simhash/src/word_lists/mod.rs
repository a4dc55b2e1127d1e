//! Word lists that a recipe may use: inverse document frequencies and stop words.

mod digest;
mod idf;
mod idf_builder;

use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufRead};

pub use digest::{ListDigest, ParseListDigestError};
pub use idf::{IdfDictionary, Unknown};
pub use idf_builder::IdfBuilder;

use crate::case::Case;
use crate::hash::content_digest;

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

/// A list of tokens to drop. They are compared with tokens after case folding: as they are, or folded likewise if the
/// recipe has [`Case::Caseless`].
///
/// ```
/// use hamdex_simhash::word_lists::StopWords;
///
/// let list = StopWords::read("the\nof\n".as_bytes())?;
/// assert!(list.contains("of") && !list.contains("Of"));
/// # Ok::<(), hamdex_simhash::word_lists::ListError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopWords {
    words: HashSet<Box<str>>,
    digest: ListDigest,
}

impl StopWords {
    /// Reads one word per line; white space around it and empty lines are skipped.
    ///
    /// # Errors
    /// When reading fails, or a line is not UTF-8.
    pub fn read(input: impl BufRead) -> Result<Self, ListError> {
        let mut sorted: BTreeSet<Box<str>> = BTreeSet::new();
        for (line, text) in (1..).zip(input.lines()) {
            let text = text.map_err(|source| ListError::Read { line, source })?;
            if !text.trim().is_empty() {
                sorted.insert(Box::from(text.trim()));
            }
        }
        let digest = ListDigest(content_digest(sorted.iter().map(|word| word.as_bytes())));
        Ok(Self { words: sorted.into_iter().collect(), digest })
    }

    /// Returns whether `token` is on the list.
    #[must_use]
    pub fn contains(&self, token: &str) -> bool {
        self.words.contains(token)
    }

    /// Returns the list with its words folded, under the digest of this one.
    pub(crate) fn folded(&self, case: Case) -> Self {
        let mut buffer = String::new();
        let words = self.words.iter().map(|word| Box::from(case.fold(word, &mut buffer))).collect();
        Self { words, digest: self.digest }
    }

    /// Returns the digest that pins this list in a recipe.
    #[must_use]
    pub fn digest(&self) -> ListDigest {
        self.digest
    }

    /// Returns the number of words.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_the_set() {
        let digest = |text: &str| StopWords::read(text.as_bytes()).unwrap().digest();
        assert_eq!(digest("a\nb\n"), digest(" b\r\n\na\nb"));
        assert_ne!(digest("a\nb\n"), digest("a\n"));
        assert_ne!(digest("ab\n"), digest("a\nb\n"));
        assert_eq!(StopWords::read(&b""[..]).unwrap().words(), 0);
    }
}
