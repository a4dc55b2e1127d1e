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

/// Runs the same code with a store of either width.
macro_rules! for_store {
    ($any:expr, $store:ident => $work:expr) => {
        match $any {
            ::hamdex_store::AnyStore::Bits64($store) => $work,
            ::hamdex_store::AnyStore::Bits128($store) => $work,
        }
    };
}
pub(crate) use for_store;
pub(crate) use writing::write;
