//! The sets of the service, and the changes of a store.
//!
//! - [`served`]: one set, and how it is read
//! - [`fixed`]: index files and sets of shards, which others replace or overwrite
//! - [`reading`]: stores that are open for reading, and records by their id
//! - [`texts`]: fingerprints and shingles of texts
//! - [`own_stores`]: the names of sets, and the stores that the service has made
//! - [`registry`]: all sets by name, and from a path to a set
//! - [`making`]: stores that are made and deleted; sets that others put into the directory, or take out

mod fixed;
mod making;
mod own_stores;
mod reading;
mod registry;
mod served;
mod texts;

use std::time::Instant;

use hamdex::Fingerprint;
use hamdex::set::Description;
use hamdex_store::{Error, Store, for_any_store};

use crate::problem::Problem;
use crate::sets::served::Written;

pub(crate) use own_stores::check_name;
pub(crate) use reading::Key;
pub(crate) use registry::Sets;
pub(crate) use served::{IdKind, Part, Served};
pub(crate) use texts::{TextReader, Texts, recipe_of};

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

/// Calls `write` with a handle that gives up at the deadline. A store that refuses writes since an earlier one failed
/// is read from the disk again, as after a crash, and the write is made once more.
///
/// # Errors
/// That of the write.
pub(crate) fn write<F: Fingerprint, T>(
    store: &Store<F>,
    deadline: Instant,
    write: impl Fn(&Store<F>) -> Result<T, Error>,
) -> Result<T, Problem> {
    let store = store.with_deadline(deadline);
    match write(&store) {
        Err(Error::Poisoned { path, .. }) => {
            tracing::warn!(path = %path.display(), "an earlier write failed: the store is read from the disk again");
            store.reopen()?;
            Ok(write(&store)?)
        }
        outcome => Ok(outcome?),
    }
}

impl Written {
    /// Makes everything durable and closes the store.
    ///
    /// # Errors
    /// When the disk refuses it.
    fn close(&self) -> Result<(), Error> {
        for_any_store!(&self.store, store => store.shutdown())
    }
}
