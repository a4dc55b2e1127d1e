//! The store as its users have it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hamdex::Fingerprint;

use crate::background::workers;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::health::Event;
use crate::inner::StoreInner;
use crate::log::MAX_OPERATIONS;
use crate::options::{CreateOptions, StoreOptions};
use crate::read::snapshot::Snapshot;
use crate::view::Written;
use crate::write::batch::Operation;
use crate::write::commit::Outcome;
use crate::write::reply::Reply;
use crate::write::request::Request;

/// A set of fingerprints, or of pairs of fingerprint and id, that is open for writing. Cloning gives another handle
/// of the same store; when the last one is dropped, the store is closed. [`Store::close`] does that, too, and says what
/// went wrong.
///
/// Any number of threads may use it. One process at a time has a store open for writing.
pub struct Store<F: Fingerprint> {
    open: Arc<Open<F>>,
    deadline: Option<Instant>,
}

/// An open store and its threads.
struct Open<F: Fingerprint> {
    inner: Arc<StoreInner<F>>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    running: Vec<JoinHandle<()>>,
    /// Serves writes with callbacks, once there are any.
    writer: Option<JoinHandle<()>>,
}

impl<F: Fingerprint> Store<F> {
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

    /// As [`Store::create`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::create`].
    pub fn create_on(disk: impl Disk, create: &CreateOptions, options: StoreOptions) -> Result<Self, Error> {
        Self::start(StoreInner::create(Box::new(disk), create, options)?)
    }

    /// As [`Store::open`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::open`].
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

    /// A handle of the same store whose writes give up at a deadline, with [`Error::TimedOut`] and nothing written: while
    /// they wait for memory, for their turn, or since writers are slowed down. A write that has begun is ended, however
    /// long the disk takes for it. With a deadline that has passed, a write takes place only if it need not wait.
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

    /// Calls a function with each change in the health of the store: work in the background that fails, for the first time
    /// or again, or succeeds again, and the pressure on writers. It is called from any thread, also by writes: it must
    /// return soon, and call nothing of the store but [`Store::health`] and [`Store::stats`]. [`Store::health`] has the same at any time. A later function replaces an earlier one.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Event, Store, StoreOptions};
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

    /// Commits a request by the deadline of this handle.
    pub(crate) fn commit(&self, request: Request<F>) -> Outcome<F> {
        self.inner().commit(request, self.deadline)
    }

    /// Takes a batch of operations, and returns without waiting for it: `done` is called with its outcome, from any
    /// thread, when it is as durable as the store's options say. It must return soon, and must not write to the store.
    /// Batches take effect in the order in which they were submitted.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use hamdex_store::{CreateOptions, Operation, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// let (done, outcome) = mpsc::channel();
    /// store.submit(vec![Operation::Insert(0x00ff, 1)], move |written| drop(done.send(written)))?;
    /// assert_eq!(outcome.recv()??.inserted, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the operations do not fit the store, 4,096 writes wait already ([`Error::Busy`]), or the store has been closed:
    /// `done` is not called then.
    pub fn submit(
        &self,
        operations: Vec<Operation<F>>,
        done: impl FnOnce(Result<Written, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        self.check_operations(&operations)?;
        self.open.start_writer()?;
        self.inner().submit(Request::Batch(operations), |outcome| {
            done(outcome.map(|reply| match reply {
                Reply::Written(written) => written,
                _ => unreachable!("a batch needs no search and no ids"),
            }));
        })
    }

    pub(crate) fn inner(&self) -> &StoreInner<F> {
        &self.open.inner
    }

    /// One moment of the set, for as long as it is held.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(self.inner().view.load_full(), Arc::clone(&self.inner().schema))
    }

    /// Makes everything that has been written durable, whatever [`Durability`](crate::Durability) says.
    ///
    /// # Errors
    /// When the disk refuses it: it is not known then what is durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.inner().check_open()?;
        self.inner().sync_beside()
    }

    /// Makes everything that has been written durable, and closes the store, unless there are other handles: then it
    /// stays open for them. Flushes and merges on their way are cancelled: the log has what they were to write.
    /// [`Store::shutdown`] closes it for all handles.
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
            Some(open) => synced.and(open.close()),
            None => synced,
        }
    }

    /// Makes everything that has been written durable, and closes the store for all handles: their writes fail from then on
    /// with [`Error::Closed`]. Writes that have begun are waited for; flushes, merges and other long work are cancelled.
    /// Snapshots can still be queried. Another process may open the store when this has returned.
    ///
    /// # Errors
    /// When the disk refuses it. The store is closed all the same.
    pub fn shutdown(&self) -> Result<(), Error> {
        self.open.close()
    }

    /// Reads the store from the disk again, without closing it: after a failure of which it is not known what the disk has
    /// ([`Error::Poisoned`]), it can be written to again. Snapshots stay as they are. It waits for calls that have begun,
    /// and writes wait for it.
    ///
    /// Writes that were acknowledged as durable are there again; of others, as much as the disk has, as after a crash.
    ///
    /// # Errors
    /// As for [`Store::open`]; what can be read stays as it was then, and nothing is written until this succeeds.
    pub fn reopen(&self) -> Result<(), Error> {
        self.inner().reload()
    }

    pub(crate) fn no_ids_left(&self) -> Error {
        Error::NoIdsLeft { path: self.inner().disk.path("") }
    }

    /// Refuses names where there are none, and their lack where there are.
    pub(crate) fn check_names(&self, named: bool) -> Result<(), Error> {
        if self.inner().schema.identity.has_names == named {
            return Ok(());
        }
        Err(Error::Names { path: self.inner().disk.path(""), has_names: !named })
    }

    /// Refuses ids where there are none, too much at once, and work after a fork.
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

impl<F: Fingerprint> Clone for Store<F> {
    fn clone(&self) -> Self {
        Self { open: Arc::clone(&self.open), deadline: self.deadline }
    }
}

impl<F: Fingerprint> fmt::Debug for Store<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("disk", &*self.inner().disk).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Open<F> {
    fn spawn(&self, name: &str, work: fn(&StoreInner<F>)) -> Result<JoinHandle<()>, Error> {
        let inner = Arc::clone(&self.inner);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&inner));
        thread.map_err(Error::io("start a thread for it", self.inner.disk.path("")))
    }

    fn start(&self, name: &str, work: fn(&StoreInner<F>)) -> Result<(), Error> {
        let thread = self.spawn(name, work)?;
        self.threads().running.push(thread);
        Ok(())
    }

    /// Starts the thread that serves writes with callbacks, if it does not run yet.
    fn start_writer(&self) -> Result<(), Error> {
        let mut threads = self.threads();
        if threads.writer.is_none() {
            threads.writer = Some(self.spawn("hamdex-write", workers::write)?);
        }
        Ok(())
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the threads, makes everything durable, and notes that the end was clean.
    fn close(&self) -> Result<(), Error> {
        if let Err(error) = self.inner.check_process() {
            // In a forked process the store is not its own. Its threads are not there, and would be waited for in vain.
            self.threads().running.clear();
            return Err(error);
        }
        // Writes with callbacks that have been taken are served before.
        self.inner.queue.close();
        let writer = self.threads().writer.take();
        writer.into_iter().for_each(join);
        if !self.inner.begin_close() {
            return Ok(());
        }
        self.inner.background.stop();
        let running = std::mem::take(&mut self.threads().running);
        running.into_iter().for_each(join);
        self.inner.end_close()
    }
}

/// Waits for the end of a thread, unless it is this one: a callback may drop the last handle.
fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() {
        // A panic has been printed, and the log has everything.
        let _ = thread.join();
    }
}

impl<F: Fingerprint> Drop for Open<F> {
    fn drop(&mut self) {
        // If it fails, the next one reads more of the log.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout::MANIFEST;
    use crate::write::durability::Durability;

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
        // Its threads are told nothing here, so to wait for them would take for ever.
        drop(store);
        assert_eq!(disk.read(MANIFEST).unwrap(), before);
    }
}
