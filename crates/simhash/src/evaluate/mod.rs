//! Evaluation: precision and recall of near-duplicates against a known truth, as in §4 of Manku, Jain and Das Sarma
//! (WWW 2007), for fingerprints and for two other methods as a comparison.

mod distance;
mod sentences;
mod shingling;
mod truth;

pub use distance::{ByDistance, by_distance};
pub use sentences::{BySentences, by_longest_sentences};
pub use shingling::{ByResemblance, by_resemblance};
pub use truth::{Score, Truth};
