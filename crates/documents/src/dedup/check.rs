//! Confirming pairs by the resemblance of their texts.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_simhash::{Shingle, Shingler, Shingles};

use crate::dedup::spool::Spooled;
use crate::error::Error;

/// Shingles of this many documents are kept for the next pair; then all are dropped.
const CACHED_DOCUMENTS: usize = 256;

/// Confirms that two documents with near fingerprints are near-duplicates: by the resemblance of their texts as
/// sets of shingles (Broder, "On the resemblance and containment of documents", SEQUENCES 1997).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check {
    min_jaccard: f64,
    words: NonZeroUsize,
}

impl Check {
    /// A check by the least share of common shingles, from 0 to 1, and the number of words per shingle.
    ///
    /// # Errors
    /// When either is out of its range.
    pub fn new(min_jaccard: f64, words: NonZeroUsize) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&min_jaccard) {
            let what = format!("{min_jaccard} is not from 0 to 1");
            return Err(Error::Option { option: "least share of shingles", what });
        }
        if words.get() > Shingle::MAX_WIDTH {
            let what = format!("{words} are more than {}", Shingle::MAX_WIDTH);
            return Err(Error::Option { option: "words per shingle", what });
        }
        Ok(Self { min_jaccard, words })
    }
}

/// Confirms pairs by their texts, read from a temporary file.
pub(crate) struct Checker<'a> {
    check: Check,
    texts: &'a Spooled,
    shingler: Shingler,
    cached: HashMap<u32, Shingles>,
    /// Pairs that were not confirmed.
    pub(crate) refused: u64,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(check: Check, texts: &'a Spooled) -> Self {
        let shingler = Shingler::new(check.words);
        Self { check, texts, shingler, cached: HashMap::new(), refused: 0 }
    }

    pub(crate) fn confirms(&mut self, one: u32, other: u32) -> Result<bool, Error> {
        if self.cached.len() + 2 > CACHED_DOCUMENTS {
            self.cached.clear();
        }
        for document in [one, other] {
            if !self.cached.contains_key(&document) {
                let text = self.texts.get(document)?;
                self.cached.insert(document, self.shingler.shingles(&text));
            }
        }
        let resemblance = self.cached[&one].resemblance(&self.cached[&other]);
        let is_confirmed = resemblance >= self.check.min_jaccard;
        self.refused += u64::from(!is_confirmed);
        Ok(is_confirmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_are_thresholds() {
        let words = NonZeroUsize::new(4).unwrap();
        assert!([0.0, 0.8, 1.0].iter().all(|&share| Check::new(share, words).is_ok()));
        for wrong in [-0.1, 1.1, 80.0, f64::NAN] {
            assert!(Check::new(wrong, words).unwrap_err().to_string().contains("from 0 to 1"));
        }
        assert!(Check::new(0.5, NonZeroUsize::MAX).unwrap_err().to_string().contains("words per shingle"));
    }
}
