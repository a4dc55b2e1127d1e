//! The near-duplicates of a corpus, as clusters.
//!
//! - [`options`]: options, and the steps in their order
//! - [`method`], [`similarity`]: what makes near-duplicates
//! - [`search`]: in which memory they are searched for
//! - [`corpus`]: what is kept of each document
//! - [`shelf`], [`ids`]: in memory, or in a temporary file
//! - [`spool`]: the texts, if they are kept
//! - [`classes`]: equal documents, of which one is compared
//! - [`groups`]: which classes are together
//! - [`stars`]: near-duplicates of what is kept
//! - [`unions`]: chains of near-duplicates
//! - [`near`], [`crowded`]: by fingerprints
//! - [`similar`], [`links`]: by texts
//! - [`census`], [`prefix`], [`postings`], [`lists`]: how similar texts are found
//! - [`members`]: the members of clusters, and the kept document of each
//! - [`reference`]: what is known already
//! - [`clusters`]: the result

mod census;
mod classes;
pub(crate) mod clusters;
mod corpus;
mod crowded;
mod groups;
mod ids;
mod links;
mod lists;
pub(crate) mod members;
pub(crate) mod method;
mod near;
pub(crate) mod options;
mod postings;
mod prefix;
pub(crate) mod reference;
mod search;
mod shelf;
mod similar;
pub(crate) mod similarity;
mod spool;
mod stars;
mod unions;
