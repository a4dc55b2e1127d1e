//! The near-duplicates of a corpus, as clusters.
//!
//! Input of a search:
//! - [`options`]: its options
//! - [`similarity`]: the least similarity of near-duplicates
//! - [`reference`](mod@reference): known fingerprints, whose near-duplicates are dropped first
//! - [`resources`]: memory, temporary files and progress
//!
//! Its steps:
//! - [`run`]: all steps, in their order
//! - [`corpus`]: the features of every document
//! - [`spill`]: sequences in memory, or in a temporary file
//! - [`classes`]: equal documents, of which one is compared
//! - [`grouping`]: the classes of each cluster
//! - [`fingerprints`], [`texts`]: near-duplicates by distance, and by similarity
//! - [`members`]: the members of clusters, and the kept document of each
//! - [`clusters`]: the result

mod classes;
pub(crate) mod clusters;
mod corpus;
mod fingerprints;
mod grouping;
pub(crate) mod members;
pub(crate) mod options;
pub(crate) mod reference;
pub(crate) mod resources;
mod run;
pub(crate) mod similarity;
mod spill;
mod texts;
