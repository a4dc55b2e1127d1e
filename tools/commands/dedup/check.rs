//! A second look at candidates: how much their texts resemble each other.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_simhash::{Shingler, Shingles};

use crate::commands::dedup::spool::Spooled;
use crate::failure::Failure;

/// Shingles of so many documents are kept for the next pair; then all are dropped.
const KEPT: usize = 256;

/// What `--check` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    /// The least share of shingles in common.
    jaccard: f64,
}

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.strip_prefix("jaccard=").and_then(|value| value.parse::<f64>().ok());
        match value.filter(|value| (0.0..=1.0).contains(value)) {
            Some(jaccard) => Ok(Self { jaccard }),
            None => Err("expected jaccard= and a number from 0 to 1, as in jaccard=0.8".to_owned()),
        }
    }
}

/// Confirms pairs by the texts, read back from where they were put.
pub(super) struct Check {
    least: f64,
    texts: Spooled,
    shingler: Shingler,
    kept: HashMap<u32, Shingles>,
    pub(super) refused: u64,
}

impl Check {
    pub(super) fn new(threshold: Threshold, width: NonZeroUsize, texts: Spooled) -> Self {
        Self {
            least: threshold.jaccard,
            texts,
            shingler: Shingler::new(width),
            kept: HashMap::new(),
            refused: 0,
        }
    }

    /// The texts, for what else they are needed for.
    pub(super) fn into_texts(self) -> Spooled {
        self.texts
    }

    pub(super) fn confirms(&mut self, one: u32, other: u32) -> Result<bool, Failure> {
        if self.kept.len() + 2 > KEPT {
            self.kept.clear();
        }
        for document in [one, other] {
            if !self.kept.contains_key(&document) {
                let text = self.texts.get(document)?;
                self.kept.insert(document, self.shingler.shingles(&text));
            }
        }
        let is_confirmed = self.kept[&one].resemblance(&self.kept[&other]) >= self.least;
        self.refused += u64::from(!is_confirmed);
        Ok(is_confirmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read() {
        assert_eq!("jaccard=0.8".parse(), Ok(Threshold { jaccard: 0.8 }));
        for wrong in ["0.8", "jaccard=80", "jaccard=", "jaccard=NaN", "cosine=0.5"] {
            assert!(wrong.parse::<Threshold>().unwrap_err().contains("jaccard=0.8"), "{wrong}");
        }
    }
}
