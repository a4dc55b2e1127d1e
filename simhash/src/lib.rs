//! Texts to simhash fingerprints.

mod case;
pub mod evaluate;
mod extract;
mod fingerprinter;
mod given;
mod hash;
mod lists;
mod outcome;
mod recipe;
mod shingle;
mod tokenise;
mod vote;
mod weigh;

pub use case::Case;
pub use fingerprinter::{Fingerprinter, Lists, Scratch};
pub use given::FeatureFingerprinter;
pub use hash::Hash;
pub use lists::{IdfBuilder, IdfDictionary, ListDigest, ListError, ParseListDigestError, StopWords, Unknown};
pub use outcome::Outcome;
pub use recipe::{Empty, Recipe, RecipeError, Tie, Top, Weight, Width};
pub use shingle::Shingle;
pub use tokenise::Tokeniser;
pub use vote::{Tally, WeightedTally};
