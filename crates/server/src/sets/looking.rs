//! Sets that appear in the directory of sets, and disappear from it, while it is served.

use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::chain;
use crate::sets::made::Made;
use crate::sets::opening::{durability_of, listed, name_of};
use crate::sets::registry::{Changing, Sets};
use crate::sets::served::{Served, Written};
use crate::sets::watch::Stamp;

/// Looks between two attempts to open a set for which the system is to blame.
const LOOKS_PER_ATTEMPT: u64 = 8;

impl Sets {
    /// Looks for sets that have appeared in the directory, or disappeared, and for files that were overwritten.
    pub(crate) fn look(&self) {
        let mut changing = self.lock_changing();
        if changing.is_closed {
            return;
        }
        changing.looks += 1;
        for set in self.all() {
            set.look();
        }
        let Some(data) = &self.data else { return };
        match (listed(data), Made::read(data)) {
            (Ok(paths), made) => {
                changing.is_unlisted = false;
                self.add_new(&mut changing, &paths, &made.unwrap_or_default());
                self.drop_missing(&mut changing, &paths);
            }
            (Err(error), _) => {
                if !changing.is_unlisted {
                    tracing::error!(path = %data.display(), %error, "cannot list the sets");
                }
                changing.is_unlisted = true;
            }
        }
    }

    /// Opens sets that have appeared, and those that could not be opened before.
    fn add_new(&self, changing: &mut Changing, paths: &[PathBuf], made: &Made) {
        changing.passed_over.retain(|path, _| paths.binary_search(path).is_ok());
        let is_due = changing.looks.is_multiple_of(LOOKS_PER_ATTEMPT);
        for path in paths {
            let stamp = Stamp::of(path);
            if changing.passed_over.get(path).is_some_and(|before| *before == stamp) {
                continue;
            }
            let before = name_of(path).ok().and_then(|name| self.get(&name).ok());
            if let Some(set) = &before {
                if !set.is_found || !(set.may_open_now(is_due) || set.is_gone()) {
                    continue;
                }
                // Another store lies in the place of one that was moved away.
                if set.is_gone() {
                    self.remove(&set.name);
                    close_gone(set);
                }
            }
            match self.opener.open_found(path, durability_of(made, path), before.is_some()) {
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

    /// Drops sets that were missing at two looks in a row: one that is replaced may be missing for a moment.
    fn drop_missing(&self, changing: &mut Changing, paths: &[PathBuf]) {
        let is_missing = |set: &Arc<Served>| set.is_found && paths.binary_search(&set.path).is_err();
        let missing: Vec<_> = self.all().into_iter().filter(is_missing).collect();
        for set in missing.iter().filter(|set| changing.missing.contains(&set.name)) {
            tracing::warn!(set = set.name, path = %set.path.display(), "is gone from the directory of sets");
            self.lock_gone().insert(set.name.clone());
            self.remove(&set.name);
            close_gone(set);
        }
        changing.missing = missing.iter().map(|set| set.name.clone()).collect();
    }
}

/// Closes a store that is not served any more.
pub(super) fn close_gone(set: &Served) {
    // It may be gone, and cannot be sealed then: what was acknowledged is in the log, wherever that is.
    if let Some(Err(error)) = set.written().map(Written::close) {
        tracing::debug!(set = set.name, error = chain(&error), "a store is not closed in order");
    }
}
