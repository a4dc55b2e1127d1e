//! The sets of the service.
//!
//! - [`served`]: one set, and how it is read
//! - [`fixed`]: index files and sets of shards, which others replace
//! - [`extent`]: the width and the distance of a set
//! - [`finding`]: records by their id
//! - [`reading`]: stores that are open for reading
//! - [`watch`]: files that others overwrite
//! - [`writing`]: changes of a store
//! - [`texts`]: fingerprints and shingles of texts
//! - [`naming`]: the names of sets
//! - [`opening`]: from a path to a set
//! - [`made`]: the stores that the service has made
//! - [`registry`]: all sets by name
//! - [`making`], [`looking`]: stores that are made and deleted; sets that others put into the directory, or take out

mod extent;
mod finding;
mod fixed;
mod looking;
mod made;
mod making;
mod naming;
mod opening;
mod reading;
mod registry;
mod served;
mod texts;
mod watch;
mod writing;

pub(crate) use extent::Extent;
pub(crate) use finding::Key;
pub(crate) use naming::check_name;
pub(crate) use registry::Sets;
pub(crate) use served::{IdKind, Part, Served};
pub(crate) use texts::{TextReader, Texts, recipe_of};

pub(crate) use writing::write;
