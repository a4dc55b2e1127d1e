//! Options that define near-duplicates.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_documents::{Clustering, Dedup, Preference, Similarity};

use crate::failure::Failure;

/// The default distance of `--check` and `--fingerprints`.
const DEFAULT_DISTANCE: u32 = 3;

/// The definition of near-duplicates, and the choice of the kept document.
#[derive(Debug, clap::Args)]
#[group(id = "method")]
pub(super) struct Options {
    /// Texts are near-duplicates if they share at least this much of their shingles, above 0 and at most 1:
    /// with single words changed, 0.7 is one word in 26, 0.5 one in 13, 0.3 one in 7 [default: 0.7, unless -k
    /// is given]
    #[arg(long, value_name = "X", value_parser = share)]
    similarity: Option<f64>,
    /// Fingerprints within this many bits are near-duplicates; with --similarity, texts must be similar too
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Short for -k (3 unless given) and --similarity: jaccard=0.8 is -k 3 --similarity 0.8
    #[arg(long, value_name = "jaccard=X", conflicts_with = "similarity", value_parser = jaccard)]
    check: Option<f64>,
    /// Words per shingle of --similarity and --check; in a script without spaces, characters [default: 5]
    #[arg(long, value_name = "N", value_parser = shingle_width)]
    check_words: Option<NonZeroUsize>,
    /// How near-duplicates form clusters
    #[arg(long, value_enum, default_value = "stars")]
    clusters: Clusters,
    /// The document of a cluster that is kept
    #[arg(long, value_enum, default_value = "first")]
    keep: Kept,
}

/// The ways in which near-duplicates form clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clusters {
    /// Each document is a near-duplicate of the kept one
    Stars,
    /// Each document is a near-duplicate of another one, so two can be far apart
    Linked,
}

/// The document of a cluster that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// The first in the input
    First,
    /// The one with the longest text; the first of equally long ones
    Longest,
}

impl Options {
    /// Refuses options that contradict each other.
    pub(super) fn check(&self, of_fingerprints: bool) -> Result<(), Failure> {
        let refuse = |what: &str| Err(Failure::Usage(what.to_owned()));
        let texts = self.similarity.is_some() || self.check.is_some();
        if of_fingerprints && (texts || self.check_words.is_some() || self.keep == Kept::Longest) {
            return refuse(
                "--fingerprints has no texts: --similarity, --check, --check-words and --keep longest need them",
            );
        }
        if self.check_words.is_some() && self.distance.is_some() && !texts {
            return refuse("-k alone compares no texts: --check-words needs --similarity or --check as well");
        }
        Ok(())
    }

    /// Sets the options of a search; `F` may be precomputed fingerprints.
    pub(super) fn apply<'a, F: Fingerprint>(
        &self,
        mut dedup: Dedup<'a, F>,
        of_fingerprints: bool,
    ) -> Result<Dedup<'a, F>, Failure> {
        let is_default = of_fingerprints || self.check.is_some();
        let distance = self.distance.or(is_default.then_some(DEFAULT_DISTANCE));
        if let Some(distance) = distance {
            dedup = dedup.distance(distance);
        }
        let words = self.check_words.unwrap_or(Similarity::DEFAULT_WORDS);
        let least = self.similarity.or(self.check);
        if least.is_some() || distance.is_none() {
            let least = least.unwrap_or(Similarity::DEFAULT_LEAST);
            dedup = dedup.similarity(Similarity::new(least, words)?);
        }
        Ok(dedup
            .clusters(match self.clusters {
                Clusters::Stars => Clustering::Stars,
                Clusters::Linked => Clustering::Linked,
            })
            .prefer(match self.keep {
                Kept::First => Preference::First,
                Kept::Longest => Preference::Longest,
            }))
    }

    /// Whether clusters are chains of near-duplicates.
    pub(super) fn are_linked(&self) -> bool {
        self.clusters == Clusters::Linked
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0 and at most 1, as in 0.8".to_owned())
}

fn jaccard(text: &str) -> Result<f64, String> {
    let value = text.strip_prefix("jaccard=").and_then(|value| share(value).ok());
    value.ok_or_else(|| "expected jaccard= and a number above 0 and at most 1, as in jaccard=0.8".to_owned())
}

fn shingle_width(text: &str) -> Result<NonZeroUsize, String> {
    let max = hamdex_simhash::Shingle::MAX_WIDTH;
    let width = text.parse::<NonZeroUsize>().ok().filter(|width| width.get() <= max);
    width.ok_or_else(|| format!("expected a number from 1 to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read() {
        assert_eq!((share("0.8"), share("1")), (Ok(0.8), Ok(1.0)));
        assert_eq!(jaccard("jaccard=0.8"), Ok(0.8));
        for wrong in ["0.8", "jaccard=80", "jaccard=", "jaccard=NaN", "jaccard=0", "cosine=0.5"] {
            assert!(jaccard(wrong).unwrap_err().contains("jaccard=0.8"), "{wrong}");
        }
        for wrong in ["0", "-0.1", "1.01", "NaN", "", "x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
