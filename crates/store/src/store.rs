//! The public handle of a store.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hamdex::Fingerprint;

use crate::background::workers;
use crate::disk::{Disk, RealDisk};
use crate::error::{Error, Unpoisoned};
use crate::health::Event;
use crate::inner::StoreInner;
use crate::log::MAX_OPERATIONS;
use crate::options::{CreateOptions, StoreOptions};
use crate::read::Snapshot;
use crate::write::commit::Outcome;
use crate::write::request::Request;

/// A set of fingerprints, or of (fingerprint, id) pairs, that is open for writing. A clone is another handle of the
/// same store. The store is closed when the last handle is dropped; [`Store::close`] also returns the error, if any.
///
/// Any number of threads may use it. Only one process at a time can have a store open for writing.
#[derive(Clone)]
pub struct Store<F: Fingerprint> {
    open: Arc<Open<F>>,
    deadline: Option<Instant>,
}

/// An open store and its threads.
struct Open<F: Fingerprint> {
    inner: Arc<StoreInner<F>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<F: Fingerprint> Store<F> {
    /// Creates a store in a directory that does not exist yet or is empty.
    ///
    /// # Errors
    /// When the directory is not empty, an option is out of range, or the disk refuses an operation.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        Self::create_on(RealDisk::new(path), create, options)
    }

    /// Opens a store for writing. After a crash, it has every write that was acknowledged as durable.
    ///
    /// # Errors
    /// When the directory is not a store, is damaged, has another width or is in use, or the disk refuses an operation.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }

    /// Opens a store for writing, or creates one where nothing is, or an empty directory. A store that is there keeps
    /// the distance, the design and the other properties that it was created with.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.store");
    /// for id in 0..2 {
    ///     let store = Store::<u64>::open_or_create(&path, &CreateOptions::new(), StoreOptions::new())?;
    ///     store.insert(0x00ff, id)?;
    ///     assert_eq!(store.snapshot().count()?.pairs, id + 1);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::open`] and [`Store::create`]; when the store that is there has names and `create` requests none,
    /// or the reverse, and likewise with shingles; when `create` requests ids and the store has none.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let opened = match Self::open(path, options) {
            Err(Error::NotAStore { .. }) => match Self::create(path, create, options) {
                // Another process may have created it meanwhile.
                Err(exists @ Error::Exists { .. }) => match Self::open(path, options) {
                    Err(Error::NotAStore { .. }) => Err(exists),
                    opened => opened,
                },
                created => return created,
            },
            opened => opened,
        }?;
        opened.check_names(create.names)?;
        opened.check_shingles(create.shingles.is_some())?;
        if create.ids && !opened.inner().schema.identity.has_ids {
            return Err(Error::NoIds { path: path.to_owned() });
        }
        Ok(opened)
    }

    /// Creates a store on any disk: see [`Store::create`].
    ///
    /// # Errors
    /// As for [`Store::create`].
    #[doc(hidden)]
    pub fn create_on(disk: impl Disk, create: &CreateOptions, options: StoreOptions) -> Result<Self, Error> {
        Self::start(StoreInner::create(Box::new(disk), create, options)?)
    }

    /// Opens a store on any disk: see [`Store::open`].
    ///
    /// # Errors
    /// As for [`Store::open`].
    #[doc(hidden)]
    pub fn open_on(disk: impl Disk, options: StoreOptions) -> Result<Self, Error> {
        Self::start(StoreInner::open(Box::new(disk), options)?)
    }

    fn start(inner: StoreInner<F>) -> Result<Self, Error> {
        let open = Open { inner: Arc::new(inner), threads: Mutex::default() };
        open.start("hamdex-flush", workers::flush)?;
        open.start("hamdex-log", workers::log)?;
        open.start("hamdex-memory", workers::memory)?;
        if open.inner.options.merges {
            for _ in 0..workers::MERGE_THREADS {
                open.start("hamdex-merge", workers::merge)?;
            }
        }
        Ok(Self { open: Arc::new(open), deadline: None })
    }

    /// Returns a handle of the same store whose writes fail at a deadline with [`Error::TimedOut`], and without effect,
    /// if they still wait for memory, for the group commit, or because of back-pressure, or search for near
    /// fingerprints. A write that has begun is completed, however long the disk takes. After the deadline, a write
    /// succeeds only if it need neither wait nor search.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// store.with_deadline(Instant::now() + Duration::from_millis(50)).insert(0x00ff, 1)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self { open: Arc::clone(&self.open), deadline: Some(deadline) }
    }

    /// Sets a callback for changes in the health of the store: background work that fails, for the first time or again,
    /// or recovers, and the pressure on writers; and for each sync, flush and merge. Any thread may call it, including
    /// writers: it must return soon, and may call only [`Store::health`] and [`Store::stats`]. It replaces an earlier
    /// callback.
    ///
    /// ```
    /// use hamdex_store::health::Event;
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// store.on_event(|event| match event {
    ///     Event::Failed(failure) => eprintln!("{} failed: {}", failure.work, failure.message),
    ///     event => eprintln!("{event:?}"),
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_event(&self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.inner().background.observe(Some(Arc::new(observer)));
    }

    /// Returns the deadline of this handle.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Commits a request with the deadline of this handle.
    pub(crate) fn commit(&self, request: Request<F>) -> Outcome<F> {
        self.inner().commit(request, self.deadline)
    }

    pub(crate) fn inner(&self) -> &StoreInner<F> {
        &self.open.inner
    }

    /// Returns a snapshot of the set.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(self.inner().view.load_full(), Arc::clone(&self.inner().schema))
    }

    /// Makes all earlier writes durable, at any [`Durability`](crate::Durability).
    ///
    /// # Errors
    /// When the disk refuses it. It is unknown then which writes are durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.inner().check_open()?;
        self.inner().check_held()?;
        self.inner().sync_concurrently()
    }

    /// Makes all earlier writes durable, and closes the store, unless there are other handles. Running flushes and
    /// merges are cancelled, since the log has their pairs. [`Store::shutdown`] closes the store for all handles.
    ///
    /// Dropping the last handle does the same, without returning errors. Writes that were acknowledged as durable are
    /// durable in any case; others may be lost if this fails.
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
    /// When the disk refuses an operation. The store is closed nevertheless.
    pub fn close(self) -> Result<(), Error> {
        let synced = self.sync();
        match Arc::into_inner(self.open) {
            Some(open) => synced.and(open.close()),
            None => synced,
        }
    }

    /// Makes all earlier writes durable, and closes the store for all handles, whose writes then fail with
    /// [`Error::Closed`]. It waits for writes that have begun, and cancels flushes, merges and other long work.
    /// Snapshots can still be queried. Another process may open the store when this returns.
    ///
    /// # Errors
    /// When the disk refuses an operation. The store is closed nevertheless.
    pub fn shutdown(&self) -> Result<(), Error> {
        self.open.close()
    }

    /// Reads the store from the disk again without closing it, so that it accepts writes again after
    /// [`Error::Poisoned`]. Snapshots are unaffected. It waits for running calls, and writes wait for it.
    ///
    /// As after a crash, the store has every write that was acknowledged as durable, and perhaps others.
    ///
    /// # Errors
    /// As for [`Store::open`]. Readers keep the previous view then, and no write is accepted until this succeeds.
    pub fn reopen(&self) -> Result<(), Error> {
        self.inner().reload()
    }

    /// Whether the store is lost to this process: [`Error::Lost`]. Nothing is written to it any more; close it and open
    /// it again to use the store that its path leads to now.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.inner().check_held(), Err(Error::Lost { .. }))
    }

    pub(crate) fn no_ids_left(&self) -> Error {
        Error::NoIdsLeft { path: self.inner().disk.path("") }
    }

    /// Rejects names in a store without names, and pairs without names in a store with names.
    pub(crate) fn check_names(&self, named: bool) -> Result<(), Error> {
        if self.inner().schema.identity.has_names == named { Ok(()) } else { Err(self.names_error()) }
    }

    /// Returns the error of a record that has a name in a store without names, or the reverse.
    pub(crate) fn names_error(&self) -> Error {
        Error::Names { path: self.inner().disk.path(""), has_names: self.inner().schema.identity.has_names }
    }

    /// Rejects insertions with shingles into a store without, and the reverse.
    pub(crate) fn check_shingles(&self, with: bool) -> Result<(), Error> {
        if self.inner().schema.identity.has_shingles == with {
            return Ok(());
        }
        Err(Error::Shingles { path: self.inner().disk.path(""), has_shingles: !with })
    }

    /// Rejects ids in a store without ids, too large batches, and calls after a fork.
    pub(crate) fn check(&self, mut ids: impl Iterator<Item = u64>, count: usize) -> Result<(), Error> {
        self.inner().check_open()?;
        if count > MAX_OPERATIONS {
            return Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS });
        }
        if !self.inner().schema.identity.has_ids && ids.any(|id| id != 0) {
            return Err(Error::NoIds { path: self.inner().disk.path("") });
        }
        Ok(())
    }
}

impl<F: Fingerprint> fmt::Debug for Store<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("disk", &*self.inner().disk).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Open<F> {
    fn start(&self, name: &str, work: fn(&StoreInner<F>)) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&inner));
        let thread = thread.map_err(Error::io("start a thread for it", self.inner.disk.path("")))?;
        self.threads.lock().unpoisoned().push(thread);
        Ok(())
    }

    /// Ends the threads, makes everything durable, and marks the shutdown as clean.
    fn close(&self) -> Result<(), Error> {
        if let Err(error) = self.inner.check_process() {
            // A forked process does not own the store. It has none of its threads, so joining them would never end.
            self.threads.lock().unpoisoned().clear();
            return Err(error);
        }
        if !self.inner.begin_close() {
            return Ok(());
        }
        self.inner.background.stop();
        let running = std::mem::take(&mut *self.threads.lock().unpoisoned());
        running.into_iter().for_each(join);
        self.inner.end_close()
    }
}

/// Joins a thread, unless it is the current one: a callback may drop the last handle.
fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() {
        // A panic has been printed, and the log has everything.
        let _ = thread.join();
    }
}

impl<F: Fingerprint> Drop for Open<F> {
    fn drop(&mut self) {
        // If it fails, the next opening replays more of the log.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout::MANIFEST;
    use crate::write::writer::Durability;

    #[test]
    fn after_a_fork_nothing_is_waited_for_and_nothing_written() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let options = StoreOptions::new().durability(Durability::None);
        let inner = StoreInner::create(Box::new(disk.clone()), &CreateOptions::new(), options).unwrap();
        let before = disk.read(MANIFEST).unwrap();
        let store = Store::<u64>::start(inner.forked()).unwrap();
        assert!(matches!(store.insert(1, 1), Err(Error::Forked { .. })));
        assert!(matches!(store.clone().close(), Err(Error::Forked { .. })));
        // The threads get no signal here, so joining them would never end.
        drop(store);
        assert_eq!(disk.read(MANIFEST).unwrap(), before);
    }
}
