//! The sets of the service.
//!
//! - [`served`]: one set, and how it is read
//! - [`fixed`]: index files and sets of shards, which others replace
//! - [`writing`]: changes of a store
//! - [`texts`]: fingerprints and shingles of texts
//! - [`registry`]: all sets by name, and the directory in which new stores are made

mod fixed;
mod registry;
mod served;
mod texts;
mod writing;

pub(crate) use registry::{Sets, check_name};
pub(crate) use served::{Extent, IdKind, Part, Served};
pub(crate) use texts::{Texts, recipe_of};

pub(crate) use writing::write;
