//! Word lists that a recipe may use: inverse document frequencies and stop words.

mod build;
mod digest;
mod error;
mod idf;
mod stop;

pub use build::IdfBuilder;
pub use digest::{ListDigest, ParseListDigestError};
pub use error::ListError;
pub use idf::{IdfDictionary, Unknown};
pub use stop::StopWords;
