//! Options that define near-duplicates.

use std::num::NonZeroUsize;

use hamdex::Fingerprint;
use hamdex_documents::{Clustering, Dedup, Preference, Similarity};

use crate::failure::Failure;
use crate::option_values::{self, Named, named};

/// The default distance of `--check` and `--fingerprints`.
const DEFAULT_DISTANCE: u32 = 3;

/// The definition of near-duplicates, and the choice of the kept document.
#[derive(Debug, clap::Args)]
#[group(id = "method")]
pub(super) struct Options {
    /// Texts are near-duplicates if they share at least this part of their shingles [default: 0.7, unless -k is given]
    ///
    /// X is above 0 and at most 1. If single words are changed, 0.7 allows one in 26, 0.5 one in 13, 0.3 one in 7
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = option_values::share)]
    similarity: Option<f64>,
    /// Fingerprints within this many bits are near-duplicates
    ///
    /// With --similarity, the texts must be similar too. With --against, a document within K bits of a known
    /// fingerprint is known
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Short for -k (3 unless given) and --similarity: jaccard=0.8 is -k 3 --similarity 0.8
    #[arg(long, value_name = "jaccard=X", conflicts_with = "similarity", value_parser = jaccard)]
    check: Option<f64>,
    /// Words per shingle of --similarity and --check; in a script without spaces, characters [default: 5]
    #[arg(long, value_name = "N", value_parser = option_values::shingle_words)]
    check_words: Option<NonZeroUsize>,
    /// How near-duplicates form clusters
    #[arg(long, value_parser = named(CLUSTERS), default_value = "stars")]
    clusters: Clustering,
    /// The document of a cluster that is kept
    ///
    /// The first in the input, the one with the longest text, or the one with the greatest or least value of a field
    /// (with --fingerprints, of a column), as in max:date or min:rank. Values are compared as numbers if all are
    /// numbers. Of equal ones, the first is kept; a document without the field comes last
    #[arg(long, value_name = "first|longest|max:FIELD|min:FIELD", default_value = "first", value_parser = kept)]
    keep: Kept,
}

const CLUSTERS: &Named<Clustering> = &[
    ("stars", "Each document is a near-duplicate of the kept one", Clustering::Stars),
    (
        "linked",
        "Each document is a near-duplicate of another one, so two can be far apart",
        Clustering::Linked,
    ),
];

/// The document of a cluster that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    preference: Preference,
    /// The field whose value decides.
    field: Option<String>,
}

impl Options {
    /// Refuses options that contradict each other.
    pub(super) fn check(&self, of_fingerprints: bool, has_known: bool) -> Result<(), Failure> {
        let refuse = |what: &str| Err(Failure::Usage(what.to_owned()));
        let texts = self.similarity.is_some() || self.check.is_some();
        let is_longest = self.keep.preference == Preference::Longest;
        if of_fingerprints && (texts || self.check_words.is_some() || is_longest) {
            return refuse(
                "--fingerprints has no texts: --similarity, --check, --check-words and --keep longest need them",
            );
        }
        if self.check_words.is_some() && self.distance.is_some() && !texts && !has_known {
            return refuse("-k alone compares no texts: --check-words needs --similarity or --check as well");
        }
        Ok(())
    }

    /// Returns the distance within which fingerprints of a set are known, if they are compared.
    pub(super) fn distance_of_known(&self, of_fingerprints: bool) -> Option<u32> {
        self.distance.or((of_fingerprints || self.check.is_some()).then_some(DEFAULT_DISTANCE))
    }

    /// Sets the options of a search; `F` may be precomputed fingerprints.
    pub(super) fn apply<'a, F: Fingerprint>(
        &self,
        mut dedup: Dedup<'a, F>,
        of_fingerprints: bool,
        has_known: bool,
    ) -> Result<Dedup<'a, F>, Failure> {
        let is_default = of_fingerprints || self.check.is_some();
        let given = self.distance.filter(|_| is_default || !has_known);
        let distance = given.or(is_default.then_some(DEFAULT_DISTANCE));
        if let Some(distance) = distance {
            dedup = dedup.distance(distance);
        }
        let words = self.words();
        let least = self.similarity.or(self.check);
        if least.is_some() || distance.is_none() {
            let least = least.unwrap_or(Similarity::DEFAULT_LEAST);
            dedup = dedup.similarity(Similarity::new(least, words)?);
        }
        Ok(dedup.clusters(self.clusters).prefer(self.keep.preference))
    }

    /// Describes near-duplicates, in a sentence.
    pub(super) fn described(&self) -> String {
        let least = self.similarity.or(self.check);
        let distance = self.distance.or(self.check.map(|_| DEFAULT_DISTANCE));
        let words = self.check_words.unwrap_or(Similarity::DEFAULT_WORDS);
        let near = |bits: u32| format!("their fingerprints are within {bits} bits");
        let similar = |least: f64| format!("they share at least {least} of their shingles of {words} words");
        match (least, distance) {
            (None, Some(bits)) => format!("Documents are near-duplicates if {}.", near(bits)),
            (least, Some(bits)) => {
                let least = least.unwrap_or(Similarity::DEFAULT_LEAST);
                format!("Documents are near-duplicates if {} and {}.", similar(least), near(bits))
            }
            (least, None) => {
                format!(
                    "Documents are near-duplicates if {}.",
                    similar(least.unwrap_or(Similarity::DEFAULT_LEAST))
                )
            }
        }
    }

    /// Returns the field whose value says which document is kept.
    pub(super) fn kept_field(&self) -> Option<&str> {
        self.keep.field.as_deref()
    }

    /// Returns the words per shingle.
    pub(super) fn words(&self) -> NonZeroUsize {
        self.check_words.unwrap_or(Similarity::DEFAULT_WORDS)
    }

    /// Whether clusters are chains of near-duplicates.
    pub(super) fn are_linked(&self) -> bool {
        self.clusters == Clustering::Linked
    }
}

fn jaccard(text: &str) -> Result<f64, String> {
    let value = text.strip_prefix("jaccard=").and_then(|value| option_values::share(value).ok());
    value.ok_or_else(|| "expected jaccard= and a number above 0 and at most 1, as in jaccard=0.8".to_owned())
}

fn kept(text: &str) -> Result<Kept, String> {
    let by = |preference, field: Option<&str>| Kept { preference, field: field.map(str::to_owned) };
    match text.split_once(':') {
        None if text == "first" => Ok(by(Preference::First, None)),
        None if text == "longest" => Ok(by(Preference::Longest, None)),
        Some(("max", field)) if !field.is_empty() => Ok(by(Preference::Greatest, Some(field))),
        Some(("min", field)) if !field.is_empty() => Ok(by(Preference::Least, Some(field))),
        _ => Err("expected first, longest, max:FIELD or min:FIELD".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read() {
        assert_eq!((option_values::share("0.8"), option_values::share("1")), (Ok(0.8), Ok(1.0)));
        assert_eq!(jaccard("jaccard=0.8"), Ok(0.8));
        for wrong in ["0.8", "jaccard=80", "jaccard=", "jaccard=NaN", "jaccard=0", "cosine=0.5"] {
            assert!(jaccard(wrong).unwrap_err().contains("jaccard=0.8"), "{wrong}");
        }
        assert_eq!(kept("max:a:b").unwrap().field.as_deref(), Some("a:b"));
        assert!(["", "last", "max", "max:", "longest:x", "min"].iter().all(|text| kept(text).is_err()));
        for wrong in ["0", "-0.1", "1.01", "NaN", "", "x"] {
            assert!(option_values::share(wrong).is_err(), "{wrong}");
        }
    }
}
