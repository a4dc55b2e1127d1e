//! Builds a dictionary of inverse document frequencies from a corpus, in bounded memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::RecipeError;
use crate::extract::{Extractor, Workspace};
use crate::recipe::Recipe;
use crate::word_lists::{IdfDictionary, ListError, StopWords};

/// The longest feature counted, in bytes, so that a hostile text cannot fill the memory.
const LONGEST_WORD_BYTES: usize = 256;

/// Counts in how many documents of a corpus each feature of a recipe occurs.
///
/// The counts are those of lossy counting (Manku and Motwani, "Approximate Frequency Counts over Data
/// Streams", VLDB 2002, §4.2): when more than `max_words` features are held, the rarer half is dropped.
/// A dropped feature was rare; it is unknown to the dictionary and has the weight of the median word.
///
/// Memory: at most `max_words` features and those of one document, each of at most 256 bytes and about
/// 60 bytes of table; English and Chinese words take about 70 bytes each, so a million of them 70 MB.
///
/// ```
/// use hamdex_simhash::word_lists::{IdfBuilder, Unknown};
/// use hamdex_simhash::Recipe;
///
/// let recipe: Recipe = "default shingle=words:1".parse()?;
/// let mut builder = IdfBuilder::new(&recipe, None, 1_000_000)?;
/// for text in ["the hen", "the fox", "the fox and the hen", "the dog"] {
///     builder.add(text);
/// }
/// let dictionary = builder.finish()?;
/// assert_eq!(dictionary.idf("the", Unknown::Median), 0.0);
/// assert!(dictionary.idf("dog", Unknown::Median) > dictionary.idf("fox", Unknown::Median));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IdfBuilder {
    extractor: Extractor,
    workspace: Workspace,
    counts: HashMap<Box<str>, Count>,
    max_words: usize,
    documents: u64,
    forgotten_below: u64,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    documents: u64,
    /// Number of documents that may have been missed before the feature was (again) seen first.
    missed: u64,
}

impl IdfBuilder {
    /// Counts the features that `recipe` cuts from a text (its weights, top and hash are not used), at most
    /// `max_words` of them at a time; 0 counts as 1.
    ///
    /// # Errors
    /// When the recipe takes no text, or its stop words are not those passed.
    pub fn new(recipe: &Recipe, stop: Option<Arc<StopWords>>, max_words: usize) -> Result<Self, RecipeError> {
        Ok(Self {
            extractor: Extractor::new(recipe, stop)?,
            workspace: Workspace::default(),
            counts: HashMap::new(),
            max_words: max_words.max(1),
            documents: 0,
            forgotten_below: 0,
        })
    }

    /// Counts a document, with or without features.
    pub fn add(&mut self, text: &str) {
        self.documents += 1;
        let tokens = self.extractor.extract(text, &mut self.workspace);
        let mut features = Vec::new();
        tokens.shingles(self.extractor.shingle(), |feature| features.push(feature));
        features.sort_unstable();
        features.dedup();
        for feature in features.into_iter().filter(|feature| feature.len() <= LONGEST_WORD_BYTES) {
            if let Some(count) = self.counts.get_mut(feature) {
                count.documents += 1;
            } else {
                let count = Count { documents: 1, missed: self.forgotten_below };
                self.counts.insert(feature.into(), count);
            }
        }
        if self.counts.len() > self.max_words {
            self.forget_the_rarer_half();
        }
    }

    /// Returns the number of documents counted.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the greatest number of documents by which a count can be too low: 0 until a feature is dropped.
    #[must_use]
    pub fn error_documents(&self) -> u64 {
        self.forgotten_below
    }

    /// Returns the dictionary: idf = ln((1 + documents) / (1 + documents with the word)), never negative.
    ///
    /// # Errors
    /// [`ListError::Empty`] when no feature was counted.
    pub fn finish(self) -> Result<IdfDictionary, ListError> {
        let all = (1 + self.documents) as f64;
        let idf = |count: Count| (all / (1 + count.documents) as f64).ln();
        IdfDictionary::from_words(self.counts.into_iter().map(|(word, count)| (word, idf(count))).collect())
    }

    fn forget_the_rarer_half(&mut self) {
        let mut most: Vec<u64> = self.counts.values().map(|count| count.documents + count.missed).collect();
        let middle = most.len() / 2;
        let (_, &mut least_kept, _) = most.select_nth_unstable(middle);
        self.forgotten_below = self.forgotten_below.max(least_kept);
        let below = self.forgotten_below;
        self.counts.retain(|_, count| count.documents + count.missed > below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_lists::Unknown;

    fn builder(max_words: usize) -> IdfBuilder {
        IdfBuilder::new(&"default shingle=words:1".parse().unwrap(), None, max_words).unwrap()
    }

    #[test]
    fn a_word_counts_once_a_document() {
        let mut builder = builder(100);
        for text in ["a a b", "a", ""] {
            builder.add(text);
        }
        assert_eq!((builder.documents(), builder.error_documents()), (3, 0));
        let dictionary = builder.finish().unwrap();
        assert_eq!(dictionary.idf("a", Unknown::Median), (4.0f64 / 3.0).ln());
        assert_eq!(dictionary.idf("b", Unknown::Median), 2.0f64.ln());
    }

    #[test]
    fn memory_is_bounded_and_frequent_words_survive() {
        let mut builder = builder(64);
        for document in 0..2000 {
            builder.add(&format!("often rare{document} odd{document}"));
            assert!(builder.counts.len() <= 64 + 3);
        }
        let (documents, error) = (builder.documents(), builder.error_documents());
        assert!(error > 0 && error < documents / 8, "{error}");
        let dictionary = builder.finish().unwrap();
        assert_eq!(dictionary.idf("often", Unknown::Median), 0.0f64);
    }

    #[test]
    fn an_overlong_word_is_not_counted() {
        let mut builder = builder(10);
        builder.add(&"x".repeat(LONGEST_WORD_BYTES + 1));
        assert!(matches!(builder.finish(), Err(ListError::Empty)));
    }

    #[test]
    fn a_recipe_without_tokeniser_is_refused() {
        let seomoz = Recipe::named("seomoz").unwrap();
        let error = IdfBuilder::new(&seomoz, None, 1).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.starts_with("recipe has tokens=given")));
    }
}
