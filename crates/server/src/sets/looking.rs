//! Sets that appear in the directory of sets, and disappear from it, while it is served.

use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::chain;
use crate::sets::made::Made;
use crate::sets::naming::name_of;
use crate::sets::opening::{durability_of, listed};
use crate::sets::registry::{Changing, Sets};
use crate::sets::served::{Served, Written};
use crate::sets::watch::Stamp;

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
pub(super) fn close_gone(set: &Served) {
    // It may be gone, and cannot be sealed then: what was acknowledged is in the log, wherever that is.
    if let Some(Err(error)) = set.written().map(Written::close) {
        tracing::debug!(set = set.name, error = chain(&error), "a store is not closed in order");
    }
}
