//! Clusters, against a search that compares every document with every other.
//!
//! - [`common`]: corpora, and the clusters by definition
//! - [`clusters`]: that they are the same
//! - [`crowds`]: many near-equal documents
//! - [`conditions`]: memory, threads, temporary files, reports

mod clusters;
mod common;
mod conditions;
mod crowds;
