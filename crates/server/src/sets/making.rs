//! Stores that the service makes and deletes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::http::StatusCode;
use hamdex_atomic_file::sync_directory;
use hamdex_store::inspect::foreign_file;
use hamdex_store::{AnyStore, CreateOptions, Durability, Error as StoreError, StoreOptions, for_any_store};

use crate::failure::chain;
use crate::problem::Problem;
use crate::sets::looking::close_gone;
use crate::sets::made::{self, DELETED, Made};
use crate::sets::naming::{check_name, is_free};
use crate::sets::registry::Sets;
use crate::sets::served::Served;

/// The beginning of the names of stores that are not complete.
const UNFINISHED: &str = ".new-";

impl Sets {
    /// Returns the directory for new stores.
    fn directory(&self) -> Result<&Path, Problem> {
        if self.opener.read_only {
            let detail = "the service reads stores only (--read-only)";
            return Err(Problem::new(StatusCode::CONFLICT, "read_only", detail));
        }
        self.data.as_deref().ok_or_else(|| {
            let detail = "the service has no directory for new stores; start it with --data";
            Problem::unprocessable("no_data_directory", detail)
        })
    }

    /// Makes a store, which is complete when it appears under its name.
    ///
    /// # Errors
    /// When there is no directory for new stores, the name is not possible or taken, an option is wrong, or the disk
    /// refuses something.
    pub(crate) fn create(
        &self,
        name: &str,
        width: u32,
        options: &CreateOptions,
        durability: Durability,
    ) -> Result<Arc<Served>, Problem> {
        let data = self.directory()?;
        check_name(name)?;
        let _changing = self.lock_changing();
        let path = data.join(name);
        // One that was in the directory, and is there no more, gives its name up.
        let is_taken = self.get(name).is_ok_and(|set| !set.is_found);
        if is_taken || !is_free(&path) {
            return Err(Problem::new(StatusCode::CONFLICT, "exists", format!("{name:?} exists already")));
        }
        if let Some(gone) = self.remove(name) {
            close_gone(&gone);
        }
        let unfinished = data.join(format!("{UNFINISHED}{name}"));
        // Left by a service that was killed.
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(StoreIo("remove it", &unfinished).wrap())?;
        }
        let made = AnyStore::create(&unfinished, width, options, StoreOptions::new());
        let moved = made.and_then(|store| {
            for_any_store!(&store, store => store.shutdown())?;
            made::remember(data, name, &unfinished, durability)?;
            fs::rename(&unfinished, &path).map_err(StoreIo("rename it", &unfinished).wrap())?;
            sync_directory(data).map_err(StoreIo("sync it", data).wrap())
        });
        if let Err(error) = moved {
            // Leftover files do not hinder the next attempt.
            drop(fs::remove_dir_all(&unfinished));
            return Err(error.into());
        }
        let store = AnyStore::open(&path, self.opener.options(durability))?;
        Ok(self.insert(self.opener.of_store(name.to_owned(), &path, store, durability).found()))
    }

    /// Deletes a store that [`Sets::create`] has made, here or in an earlier run.
    ///
    /// # Errors
    /// When there is none of that name, it is another's, it has files that are not its own, or the disk refuses
    /// something. Nothing is deleted then.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let data = self.directory()?;
        let _changing = self.lock_changing();
        let set = self.get(name)?;
        let refused = |detail: String| Problem::new(StatusCode::CONFLICT, "not_made_here", detail);
        let made = Made::read(data).map_err(|error| Problem::internal(chain(&error)))?;
        let path = data.join(name);
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        if set.is_gone() {
            return Err(set.gone());
        }
        if !set.is_found || set.written().is_none() || is_link || !made.has(name, &path) {
            return Err(refused(format!(
                "{name:?} was not made by PUT of this service, which deletes nothing else; move it out of its directory"
            )));
        }
        if let Some(foreign) = foreign_file(&path)? {
            return Err(refused(format!(
                "{}: is no file of a store, and would be deleted with it; move it away",
                foreign.display()
            )));
        }
        let deleted = data.join(format!("{DELETED}{name}"));
        // Left by a service that was killed.
        if deleted.exists() {
            fs::remove_dir_all(&deleted).map_err(StoreIo("remove it", &deleted).wrap())?;
        }
        self.remove(name);
        // One that cannot be sealed, as on a full disk, can be deleted all the same.
        close_gone(&set);
        if let Err(error) = fs::rename(&path, &deleted).map_err(StoreIo("rename it", &path).wrap()) {
            let durability = made.durability(name, &path);
            if let Some(set) = self.opener.open_found(&path, durability, false) {
                self.insert(set);
            }
            return Err(error.into());
        }
        sync_directory(data).map_err(StoreIo("sync it", data).wrap())?;
        // The store is deleted. Its files go first, since that makes room for the rest; the next start removes what is left.
        let removed = fs::remove_dir_all(&deleted).map_err(StoreIo("remove it", &deleted).wrap());
        for error in [removed.err(), made::forget(data, name).err()].into_iter().flatten() {
            tracing::warn!(set = name, error = chain(&error), "a deleted store leaves files behind");
        }
        Ok(())
    }
}

/// An error of the operating system while a store is made.
struct StoreIo<'p>(&'static str, &'p Path);

impl StoreIo<'_> {
    fn wrap(self) -> impl FnOnce(std::io::Error) -> StoreError {
        let (doing, path) = (self.0, self.1.to_owned());
        move |source| StoreError::Io { doing, path, source }
    }
}
