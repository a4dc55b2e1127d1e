//! The store as its users have it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use hamdex::Engine;

use crate::disk::{Disk, RealDisk};
use crate::durability::Durability;
use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::options::{CreateOptions, StoreOptions};
use crate::read::snapshot::Snapshot;
use crate::shared::Shared;
use crate::workers;

/// A set of fingerprints, or of pairs of fingerprint and id, that is open for writing. Cloning gives another handle
/// of the same store; when the last one is dropped, the store is closed. [`Store::close`] does that, too, and says what
/// went wrong.
///
/// Any number of threads may use it. One process at a time has a store open for writing.
pub struct Store<F: Engine, D: Disk = RealDisk> {
    open: Arc<Open<F, D>>,
}

/// An open store and its threads.
struct Open<F: Engine, D: Disk> {
    shared: Arc<Shared<F, D>>,
    threads: Vec<JoinHandle<()>>,
    is_closed: bool,
}

impl<F: Engine> Store<F> {
    /// Creates a store in a directory that does not exist yet, or is empty.
    ///
    /// # Errors
    /// When there is something already, an option is out of its range, or the disk refuses it.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        Self::create_on(RealDisk::new(path), create, options)
    }

    /// Opens a store for writing. What was acknowledged as durable before a crash is there again.
    ///
    /// # Errors
    /// When it is no store, is damaged, holds another width, is in use, or the disk refuses it.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }
}

impl<F: Engine, D: Disk> Store<F, D> {
    /// As [`Store::create`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::create`].
    pub fn create_on(disk: D, create: &CreateOptions, options: StoreOptions) -> Result<Self, Error> {
        Self::start(Shared::create(disk, create, options)?)
    }

    /// As [`Store::open`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open_on(disk: D, options: StoreOptions) -> Result<Self, Error> {
        Self::start(Shared::open(disk, options)?)
    }

    fn start(shared: Shared<F, D>) -> Result<Self, Error> {
        let shared = Arc::new(shared);
        let mut open = Open { shared, threads: Vec::new(), is_closed: false };
        open.spawn("hamdex-flush", workers::flush)?;
        if open.shared.options.merges {
            open.spawn("hamdex-merge", workers::merge)?;
        }
        if let Durability::Interval(_) = open.shared.options.durability {
            open.spawn("hamdex-sync", workers::sync)?;
        }
        Ok(Self { open: Arc::new(open) })
    }

    pub(crate) fn shared(&self) -> &Shared<F, D> {
        &self.open.shared
    }

    /// One moment of the set, for as long as it is held.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F, D> {
        Snapshot::new(self.shared().state.load_full(), Arc::clone(&self.shared().shape))
    }

    /// Makes everything that has been written durable, whatever [`Durability`] says.
    ///
    /// # Errors
    /// When the disk refuses it: it is not known then what is durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.shared().check_process()?;
        self.shared().sync_beside()
    }

    /// Makes everything that has been written durable, and closes the store, unless there are other handles: then it
    /// stays open for them. A merge on its way is waited for.
    ///
    /// To drop the last handle does the same, and says nothing of what fails. What was acknowledged as durable before
    /// is durable either way; what was not may be lost where this fails.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Durability, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.store");
    /// let options = StoreOptions::new().durability(Durability::None);
    /// let store = Store::<u64>::create(&path, &CreateOptions::new(), options)?;
    /// store.insert(0x00ff, 1)?;
    /// store.close()?;
    /// assert!(Store::<u64>::open(&path, options)?.snapshot().contains(0x00ff)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the disk refuses it. The store is closed all the same; the next to open it finds what the disk has.
    pub fn close(self) -> Result<(), Error> {
        let synced = self.sync();
        match Arc::into_inner(self.open) {
            Some(mut open) => synced.and(open.close()),
            None => synced,
        }
    }

    pub(crate) fn no_ids_left(&self) -> Error {
        Error::NoIdsLeft { path: self.shared().disk.path("") }
    }

    /// Refuses names where there are none, and their lack where there are.
    pub(crate) fn check_names(&self, named: bool) -> Result<(), Error> {
        if self.shared().shape.identity.has_names == named {
            return Ok(());
        }
        Err(Error::Names { path: self.shared().disk.path(""), has_names: !named })
    }

    /// Refuses ids where there are none, too much at once, and work after a fork.
    pub(crate) fn check(&self, mut ids: impl Iterator<Item = u64>, count: usize) -> Result<(), Error> {
        self.shared().check_process()?;
        if count > MAX_OPERATIONS {
            return Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS });
        }
        if !self.shared().shape.identity.has_ids && ids.any(|id| id != 0) {
            return Err(Error::NoIds { path: self.shared().disk.path("") });
        }
        Ok(())
    }
}

impl<F: Engine, D: Disk> Clone for Store<F, D> {
    fn clone(&self) -> Self {
        Self { open: Arc::clone(&self.open) }
    }
}

impl<F: Engine, D: Disk> fmt::Debug for Store<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("disk", &self.shared().disk).finish_non_exhaustive()
    }
}

impl<F: Engine, D: Disk> Open<F, D> {
    fn spawn(&mut self, name: &str, work: fn(&Shared<F, D>)) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared));
        self.threads.push(thread.map_err(Error::io("start a thread for it", self.shared.disk.path("")))?);
        Ok(())
    }

    /// Ends the threads, makes everything durable, and notes that the end was clean.
    fn close(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        if let Err(error) = self.shared.check_process() {
            // In a forked process the store is not its own. Its threads are not there, and would be waited for in vain.
            self.threads.clear();
            return Err(error);
        }
        self.shared.background.stop();
        for thread in self.threads.drain(..) {
            // A panic has been printed, and the log has everything.
            let _ = thread.join();
        }
        self.shared.seal()
    }
}

impl<F: Engine, D: Disk> Drop for Open<F, D> {
    fn drop(&mut self) {
        // If it fails, the next one reads more of the log.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::MANIFEST;

    #[test]
    fn after_a_fork_nothing_is_waited_for_and_nothing_written() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let options = StoreOptions::new().durability(Durability::None);
        let shared = Shared::create(disk.clone(), &CreateOptions::new(), options).unwrap();
        let before = disk.read(MANIFEST).unwrap();
        let store = Store::<u64>::start(shared.forked()).unwrap();
        assert!(matches!(store.insert(1, 1), Err(Error::Forked { .. })));
        assert!(matches!(store.clone().close(), Err(Error::Forked { .. })));
        // Its threads are told nothing here, so to wait for them would take for ever.
        drop(store);
        assert_eq!(disk.read(MANIFEST).unwrap(), before);
    }
}
