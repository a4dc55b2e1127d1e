//! The documents of a set that are similar to texts, found by its lists of shingles.

use std::num::NonZeroUsize;

use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{Fingerprint, FingerprintSet, Report, SetSearcher, shingles};
use hamdex_simhash::Shingler;

use crate::dedup::known_shingles::check_definition;
use crate::dedup::reference::of_set;
use crate::error::Error;

/// A set that keeps the shingles of its documents, to find the ones that are similar to texts.
///
/// ```
/// use hamdex::similar::{Condition, Measure};
/// use hamdex_documents::SimilarTexts;
/// use hamdex_simhash::Shingler;
/// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
///
/// let directory = tempfile::tempdir()?;
/// let mut shingler = Shingler::new(5.try_into()?);
/// let create = CreateOptions::new().shingles(shingler.definition());
/// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
/// let text = "Call me Ishmael. Some years ago, never mind how long precisely";
/// let shingles = shingler.shingles(text);
/// store.put([Record::document(0x00ff, "moby-dick", shingles.hashes())], When::always())?;
///
/// let snapshot = store.snapshot();
/// let mut searcher = SimilarTexts::of(&snapshot)?.searcher();
/// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
/// let similar = searcher.find(&format!("{text}!"), &condition, 10)?.expect("it has words");
/// assert_eq!(similar[0].similarity, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct SimilarTexts<'s, F> {
    set: &'s dyn FingerprintSet<F>,
    words: NonZeroUsize,
}

/// Finds the documents that are similar to texts; one per thread. Made by [`SimilarTexts::searcher`].
pub struct TextSearcher<'s, F> {
    searcher: Box<dyn SetSearcher<F> + Send + 's>,
    shingler: Shingler,
}

impl<'s, F: Fingerprint> SimilarTexts<'s, F> {
    /// Takes a set. Texts are cut into shingles as its documents were.
    ///
    /// # Errors
    /// When the set has no shingles, or this version makes no such shingles.
    pub fn of(set: &'s dyn FingerprintSet<F>) -> Result<Self, Error> {
        let description = set.describe();
        let stored = description.metadata.get(shingles::KEY);
        let words = stored.and_then(|stored| Shingler::words_of(&String::from_utf8_lossy(stored)));
        let words = words.unwrap_or(crate::Similarity::DEFAULT_WORDS);
        check_definition(&description, words)?;
        Ok(Self { set, words })
    }

    /// Returns the number of words per shingle.
    #[must_use]
    pub fn words(&self) -> NonZeroUsize {
        self.words
    }

    /// Returns a searcher. Each thread needs its own.
    #[must_use]
    pub fn searcher(&self) -> TextSearcher<'s, F> {
        TextSearcher { searcher: self.set.open_searcher(), shingler: Shingler::new(self.words) }
    }
}

impl<F: Fingerprint> TextSearcher<'_, F> {
    /// Sets the progress callback and the cancellations of searches that read many blocks, from now on.
    pub fn set_report(&mut self, report: Report) {
        self.searcher.set_report(report);
    }

    /// Returns the documents that meet a condition with a text, each once: the most similar first, then by id; at most
    /// `limit`. `None` for a blank text, which is similar to nothing.
    ///
    /// # Errors
    /// When the set cannot be read, or the search is cancelled.
    pub fn find(
        &mut self,
        text: &str,
        condition: &Condition,
        limit: usize,
    ) -> Result<Option<Vec<SimilarDocument>>, Error> {
        let shingles = self.shingler.shingles(text);
        if shingles.hashes().is_empty() {
            return Ok(None);
        }
        self.searcher.similar(shingles.hashes(), condition, limit).map(Some).map_err(of_set)
    }
}
