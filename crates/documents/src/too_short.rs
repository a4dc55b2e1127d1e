//! Documents without a reliable fingerprint.

use hamdex_simhash::Outcome;

/// The number of documents whose ids are kept.
const MAX_EXAMPLES: usize = 20;

/// Counts the documents that are too short for a reliable fingerprint, and keeps the ids of the first ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TooShort {
    count: u64,
    examples: Vec<(String, usize)>,
}

impl TooShort {
    /// Counts a document if it is too short.
    pub fn note<F>(&mut self, id: &str, outcome: &Outcome<F>) {
        if let Outcome::TooShort { features, .. } = outcome {
            self.count += 1;
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push((id.to_owned(), *features));
            }
        }
    }

    /// Returns the number of such documents.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the ids of the first ones, at most 20, and the number of features of each.
    #[must_use]
    pub fn examples(&self) -> &[(String, usize)] {
        &self.examples
    }
}
