//! From a path to a set that is served.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use hamdex::Category;
use hamdex_any::Kind;
use hamdex_store::{AnyStore, Durability, Error as StoreError, StoreOptions};

use crate::failure::{Failure, chain};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::sets::own_stores::{Made, name_of};
use crate::sets::served::Served;

/// The directory that file systems have at their root.
const LOST_AND_FOUND: &str = "lost+found";

/// How sets are opened.
pub(super) struct Opener {
    pub(super) metrics: Arc<Metrics>,
    /// Whether files are read into memory instead of mapped.
    pub(super) in_memory: bool,
    /// Whether stores are opened for reading, without their lock.
    pub(super) read_only: bool,
}

impl Opener {
    /// Opens a set that the operator names. One that is there and cannot be opened is served as such, and the reason is
    /// returned, not logged.
    ///
    /// # Errors
    /// When there is none, or its name is not possible.
    pub(super) fn open_named(&self, path: &Path) -> Result<(Served, Option<Failure>), Failure> {
        let name = name_of(path)?;
        let kind = Kind::of(path)?;
        match self.open(&name, path, kind, Durability::Sync) {
            Ok(set) => Ok((set, None)),
            Err(error) if path.symlink_metadata().is_err() || error.category() == Category::Format => {
                Err(error)
            }
            Err(error) => {
                let reason = Failure::Unavailable { what: chain(&error), category: error.category() };
                Ok((self.unavailable(name, path, kind, error, true), Some(reason)))
            }
        }
    }

    /// Opens what lies in the directory of sets; `None` if it is no set. One that could not be opened before (`is_again`)
    /// is not logged a second time.
    pub(super) fn open_found(&self, path: &Path, durability: Durability, is_again: bool) -> Option<Served> {
        let passed_over = |reason: &str| {
            tracing::warn!(path = %path.display(), reason, "is no set, and not served");
            None
        };
        let Ok(name) = name_of(path) else {
            return passed_over("its name is not UTF-8, so no request can name it");
        };
        if name == LOST_AND_FOUND {
            return None;
        }
        if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return passed_over("it is neither a file nor a directory");
        }
        let kind = match Kind::of(path) {
            Ok(kind) => kind,
            Err(error) => {
                return Some(self.unavailable(name, path, Kind::Shards, error.into(), is_again).found());
            }
        };
        match self.open(&name, path, kind, durability) {
            Ok(set) => Some(set.found()),
            Err(error) if error.category() == Category::Format => passed_over(&chain(&error)),
            Err(error) => Some(self.unavailable(name, path, kind, error, is_again).found()),
        }
    }

    /// Opens what lies in the place of a set now; `None` if it is no set. The reason why it cannot be opened is not logged if
    /// it `is_known`.
    pub(super) fn open_again(&self, set: &Served, made: &Made, is_known: bool) -> Option<Served> {
        if set.is_found {
            return self.open_found(&set.path, durability_of(made, &set.path), is_known);
        }
        let (opened, reason) = self.open_named(&set.path).ok()?;
        if let Some(reason) = reason.filter(|_| !is_known) {
            tracing::error!(error = chain(&reason), "cannot be opened; requests to it fail");
        }
        Some(opened)
    }

    fn open(&self, name: &str, path: &Path, kind: Kind, durability: Durability) -> Result<Served, Failure> {
        let name = name.to_owned();
        match kind {
            Kind::Store if self.read_only => Served::of_reading(name, path, self.in_memory),
            Kind::Store => {
                let store = AnyStore::open(path, self.options(durability))?;
                Ok(self.of_store(name, path, store, durability))
            }
            _ => Served::of_fixed(name, path, self.in_memory),
        }
    }

    /// Returns a store that is open for writing as a set.
    pub(super) fn of_store(
        &self,
        name: String,
        path: &Path,
        store: AnyStore,
        durability: Durability,
    ) -> Served {
        Served::of_store(name, path.to_owned(), store, durability, &self.metrics, self.in_memory)
    }

    /// The options of a store that is open for writing.
    pub(super) fn options(&self, durability: Durability) -> StoreOptions {
        StoreOptions::new().durability(durability).in_memory(self.in_memory)
    }

    /// Returns a set that cannot be opened, with the reason.
    fn unavailable(&self, name: String, path: &Path, kind: Kind, error: Failure, is_again: bool) -> Served {
        if !is_again {
            tracing::error!(path = %path.display(), error = chain(&error), "cannot be opened; requests to it fail");
        }
        Served::broken(name, path.to_owned(), kind, self.in_memory, problem_of(error))
    }
}

/// The problem of a set that cannot be opened.
fn problem_of(error: Failure) -> Problem {
    const REMEDY: &str = "--read-only serves stores for reading, without their lock";
    match error {
        Failure::Store(error @ (StoreError::InUse { .. } | StoreError::Io { doing: "lock it", .. })) => {
            Problem::from(error).with_remedy(REMEDY)
        }
        Failure::Store(error) => error.into(),
        Failure::Set(error) => error.into(),
        other => Problem::internal(chain(&other)),
    }
}

/// Returns the visible entries of the directory of sets, in order.
///
/// # Errors
/// When the system refuses to list it.
pub(super) fn listed(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns how durable the store at a path is to be.
pub(super) fn durability_of(made: &Made, path: &Path) -> Durability {
    name_of(path).map_or(Durability::Sync, |name| made.durability(&name, path))
}
