//! Sets that come and go while the directory of sets is served: stores that the service makes and deletes, and sets that
//! others put there or take away.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::StatusCode;
use hamdex::chain;
use hamdex_atomic_file::sync_directory;
use hamdex_store::inspect::foreign_file;
use hamdex_store::{AnyStore, CreateOptions, Durability, StoreOptions, for_any_store};

use crate::problem::{Problem, store_io};
use crate::sets::own_stores::{self, DELETED, Made, check_name, is_free, name_of};
use crate::sets::registry::{Changing, Sets, durability_of, listed};
use crate::sets::served::Served;
use crate::sets::watch::Stamp;
use crate::sets::written::Written;

/// The beginning of the names of stores that are not complete.
const UNFINISHED: &str = ".new-";

impl Sets {
    /// Returns the directory for new stores.
    fn directory(&self) -> Result<&Path, Problem> {
        if self.opener.read_only {
            return Err(Problem::read_only("the service reads stores only (--read-only)"));
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
            fs::remove_dir_all(&unfinished).map_err(store_io("remove it", &unfinished))?;
        }
        let made = AnyStore::create(&unfinished, width, options, StoreOptions::new());
        let moved = made.and_then(|store| {
            for_any_store!(&store, store => store.shutdown())?;
            own_stores::remember(data, name, &unfinished, durability)?;
            fs::rename(&unfinished, &path).map_err(store_io("rename it", &unfinished))?;
            sync_directory(data).map_err(store_io("sync it", data))
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
            fs::remove_dir_all(&deleted).map_err(store_io("remove it", &deleted))?;
        }
        self.remove(name);
        // One that cannot be sealed, as on a full disk, can be deleted all the same.
        close_gone(&set);
        if let Err(error) = fs::rename(&path, &deleted).map_err(store_io("rename it", &path)) {
            let durability = made.durability(name, &path);
            if let Some(set) = self.opener.open_found(&path, durability, false) {
                self.insert(set);
            }
            return Err(error.into());
        }
        sync_directory(data).map_err(store_io("sync it", data))?;
        // The store is deleted. Its files go first, since that makes room for the rest; the next start removes what is left.
        let removed = fs::remove_dir_all(&deleted).map_err(store_io("remove it", &deleted));
        for error in [removed.err(), own_stores::forget(data, name).err()].into_iter().flatten() {
            tracing::warn!(set = name, error = chain(&error), "a deleted store leaves files behind");
        }
        Ok(())
    }
}

/// Looks between two attempts to open a set for which the system is to blame.
const LOOKS_PER_ATTEMPT: u64 = 8;

impl Sets {
    /// Looks for files that were overwritten, for sets that can be opened now, and for sets that have appeared in the
    /// directory, or disappeared.
    pub(crate) fn look(&self) {
        let is_due = {
            let mut changing = self.lock_changing();
            changing.looks += 1;
            changing.looks.is_multiple_of(LOOKS_PER_ATTEMPT)
        };
        // Sets are made and deleted meanwhile.
        self.all().iter().for_each(|set| set.look(is_due));
        let mut changing = self.lock_changing();
        if changing.is_closed {
            return;
        }
        self.all().iter().for_each(|set| self.open_again(&mut changing, set, is_due));
        let Some(data) = &self.data else { return };
        match listed(data) {
            Ok(paths) => {
                changing.is_unlisted = false;
                self.add_new(&mut changing, &paths);
                self.drop_missing(&mut changing, &paths);
            }
            Err(error) => {
                if !changing.is_unlisted {
                    tracing::error!(path = %data.display(), %error, "cannot list the sets");
                }
                changing.is_unlisted = true;
            }
        }
    }

    /// Opens a set requests to which fail, or in whose place another lies.
    fn open_again(&self, changing: &mut Changing, before: &Served, is_due: bool) {
        let is_replaced = before.is_replaced();
        if !is_replaced && !before.may_open_now(is_due) {
            return;
        }
        close_gone(before);
        let stamp = Stamp::of(&before.path);
        let is_known = !is_replaced && before.extent().is_err();
        match self.opener.open_again(before, &self.made(), is_known) {
            Some(set) => {
                if set.extent().is_ok() {
                    tracing::info!(set = set.name, "opened anew");
                }
                self.insert(set);
            }
            None if before.is_found => {
                tracing::warn!(set = before.name, path = %before.path.display(), "is gone: another lies there, no set");
                self.remove_gone(&before.name);
                changing.passed_over.insert(before.path.clone(), stamp);
            }
            // It may be complete at the next look.
            None => {}
        }
    }

    /// Opens sets that have appeared.
    fn add_new(&self, changing: &mut Changing, paths: &[PathBuf]) {
        changing.passed_over.retain(|path, _| paths.binary_search(path).is_ok());
        for path in paths {
            let stamp = Stamp::of(path);
            let is_served = || name_of(path).is_ok_and(|name| self.get(&name).is_ok());
            if changing.passed_over.get(path).is_some_and(|before| *before == stamp) || is_served() {
                continue;
            }
            match self.opener.open_found(path, durability_of(&self.made(), path), false) {
                Some(set) => {
                    changing.passed_over.remove(path);
                    if set.extent().is_ok() {
                        tracing::info!(set = set.name, "found in the directory of sets");
                    }
                    self.insert(set);
                }
                None => drop(changing.passed_over.insert(path.clone(), stamp)),
            }
        }
    }

    fn made(&self) -> Made {
        self.data.as_deref().and_then(|data| Made::read(data).ok()).unwrap_or_default()
    }

    /// Drops sets that were missing at two looks in a row: one that is replaced may be missing for a moment.
    fn drop_missing(&self, changing: &mut Changing, paths: &[PathBuf]) {
        let is_missing = |set: &Arc<Served>| set.is_found && paths.binary_search(&set.path).is_err();
        let missing: Vec<_> = self.all().into_iter().filter(is_missing).collect();
        for set in missing.iter().filter(|set| changing.missing.contains(&set.name)) {
            tracing::warn!(set = set.name, path = %set.path.display(), "is gone from the directory of sets");
            self.remove_gone(&set.name);
            close_gone(set);
        }
        changing.missing = missing.iter().map(|set| set.name.clone()).collect();
    }
}

/// Closes a store that is not served any more.
fn close_gone(set: &Served) {
    // A store that is gone cannot be sealed; its log has the acknowledged writes.
    if let Some(Err(error)) = set.written().map(Written::close) {
        tracing::debug!(set = set.name, error = chain(&error), "a store is not closed in order");
    }
}
