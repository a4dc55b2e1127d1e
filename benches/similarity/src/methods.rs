//! The scores of each method of finding near-duplicates.

use std::num::NonZeroUsize;

use hamdex_fingerprint::Fingerprint;
use hamdex_simhash::Recipe;

use crate::cosine::by_cosine;
use crate::distance::by_distance;
use crate::sentences::by_longest_sentences;
use crate::shingling::by_resemblance;
use crate::sketch::by_super_shingles;
use crate::truth::{LevelScore, Truth};

/// The greatest distance scored, as in section 4 of the paper.
const MAX_DISTANCE: u32 = 10;

/// Words per shingle, for the methods by shingles.
const SHINGLE_WORDS: NonZeroUsize = NonZeroUsize::new(4).expect("4 is not 0");

/// The greatest number of sentences, for the method by sentences.
const MAX_SENTENCES: usize = 5;

/// A method and its scores at each of its levels.
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) level: &'static str,
    pub(crate) scores: Vec<LevelScore>,
}

/// Scores all methods, that of fingerprints first.
pub(crate) fn all<F: Fingerprint>(
    recipe: &Recipe,
    fingerprints: &[Option<F>],
    texts: &[String],
    truth: &Truth,
) -> Vec<Method> {
    let method = |name: String, level, scores| Method { name, level, scores };
    let words = SHINGLE_WORDS;
    vec![
        method(format!("simhash, {recipe}"), "distance", by_distance(fingerprints, truth, MAX_DISTANCE)),
        method(
            format!("shingles of {words} words, resemblance of at least this many percent"),
            "percent",
            by_resemblance(texts, truth, words),
        ),
        method(
            format!("sketches of shingles of {words} words, at least this many of 6 super-shingles equal"),
            "equal",
            by_super_shingles(texts, truth, words),
        ),
        method(
            "term counts, cosine of at least this many percent".to_owned(),
            "percent",
            by_cosine(texts, truth),
        ),
        method(
            "the n longest sentences are equal".to_owned(),
            "sentences",
            by_longest_sentences(texts, truth, MAX_SENTENCES),
        ),
    ]
}
