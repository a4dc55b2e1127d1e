//! The sets of the service.
//!
//! - [`served`]: one set, and how it is read
//! - [`fixed`]: index files and sets of shards, which others replace
//! - [`reading`]: stores that are open for reading, and records by their id
//! - [`watch`]: files that others overwrite
//! - [`writing`]: changes of a store
//! - [`texts`]: fingerprints and shingles of texts
//! - [`opening`]: from a path to a set
//! - [`made`]: the names of sets, and the stores that the service has made
//! - [`registry`]: all sets by name
//! - [`making`]: stores that are made and deleted; sets that others put into the directory, or take out

mod fixed;
mod made;
mod making;
mod opening;
mod reading;
mod registry;
mod served;
mod texts;
mod watch;
mod writing;

use hamdex::set::Description;

pub(crate) use made::check_name;
pub(crate) use reading::Key;
pub(crate) use registry::Sets;
pub(crate) use served::{IdKind, Part, Served};
pub(crate) use texts::{TextReader, Texts, recipe_of};
pub(crate) use writing::write;

/// The width of the fingerprints of a set, and the distance for which it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) width: u32,
    pub(crate) distance: u32,
}

impl Extent {
    fn of(description: &Description) -> Self {
        Self { width: description.width, distance: description.distance }
    }
}
