//! Evaluation: precision and recall of near-duplicates against a known truth, as in §4 of Manku, Jain and Das Sarma
//! (WWW 2007), for fingerprints and for other methods as a comparison.

mod cosine;
mod distance;
mod pages;
mod sentences;
mod shingling;
mod sketch;
mod truth;

pub use cosine::by_cosine;
pub use distance::by_distance;
pub use pages::pages_that_differ;
pub use sentences::by_longest_sentences;
pub use shingling::by_resemblance;
pub use sketch::by_super_shingles;
pub use truth::{LevelScore, Score, Truth};
