//! Merging files: fewer files, and nothing in them that has been removed.
//!
//! - [`claims`]: which merge has which files
//! - [`policy`]: which files to merge next
//! - [`removed_pairs`]: what of a file is left out
//! - [`run`]: merging them

pub(crate) mod claims;
pub(crate) mod policy;
mod removed_pairs;
pub(crate) mod run;
