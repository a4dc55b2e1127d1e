//! The near-duplicates of a corpus, as clusters.
//!
//! Input of a search:
//! - [`options`]: its options
//! - [`similarity`]: the least similarity of near-duplicates
//! - [`reference`](mod@reference): known documents, whose near-duplicates are dropped first
//! - [`known`]: documents that are known already
//! - [`known_shingles`]: the documents of a set that has their shingles
//! - [`resources`]: memory, temporary files and progress
//!
//! Its steps:
//! - [`run`]: all steps, in their order
//! - [`corpus`]: the features of every document
//! - [`spill`]: sequences in memory, or in a temporary file
//! - [`weights`]: the preference among documents
//! - [`classes`]: equal documents, of which one is compared
//! - [`grouping`]: the classes of each cluster
//! - [`fingerprints`], [`texts`]: near-duplicates by distance, and by similarity
//! - [`clusters`]: the result: the members of clusters, and the kept document of each
//!
//! - [`decide`]: which documents are new to a set, also when they take the place of earlier ones

mod classes;
pub(crate) mod clusters;
mod corpus;
pub(crate) mod decide;
mod fingerprints;
mod grouping;
pub(crate) mod known;
pub(crate) mod known_shingles;
pub(crate) mod options;
pub(crate) mod reference;
pub(crate) mod resources;
mod run;
pub(crate) mod similarity;
mod spill;
pub(crate) mod texts;
mod weights;
