//! The shared part of an open store: its view, its locks and the order in which they are taken, and the files of one moment,
//! which long reads pin.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use hamdex::{Fingerprint, Report};

use crate::background::{self, Background, Throttle};
use crate::compaction::policy::Claims;
use crate::disk::Disk;
use crate::disk::lock::StoreLock;
use crate::error::{Error, Unpoisoned};
use crate::health::{Event, Work};
use crate::log::Sealed;
use crate::manifest::Manifest;
use crate::manifest::Schema;
use crate::manifest::file::CurrentManifest;
use crate::manifest::leftovers::StaleFiles;
use crate::options::StoreOptions;
use crate::read::searcher::SearcherPool;
use crate::recovery::Opened;
use crate::view::View;
use crate::write::queue::Queue;
use crate::write::request::{Reply, Request};
use crate::write::writer::Writer;

/// The shared part of a store that is open for writing, which all its handles and threads use.
///
/// Locks are taken in this order: activity, foreground merge, flushing, manifest, queue, writer. No large file is read
/// or written while the lock of the manifest or of the writer is held.
pub(crate) struct StoreInner<F: Fingerprint> {
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) options: StoreOptions,
    /// The current view.
    pub(crate) view: ArcSwap<View<F>>,
    /// The manifest on the disk.
    pub(crate) manifest: ArcSwap<Manifest>,
    pub(crate) queue: Queue<Request<F>, Result<Reply<F>, Error>>,
    pub(crate) background: Background,
    pub(crate) throttle: Throttle,
    /// The throttle for overdue runs of the memtable.
    pub(crate) run_throttle: Throttle,
    pub(crate) searchers: SearcherPool<F>,
    pub(crate) claims: Claims,
    pub(crate) stale_files: StaleFiles,
    /// A copy of the writer's, so that statistics need not wait for the writer.
    unsynced_since: Mutex<Option<Instant>>,
    writer: Mutex<Writer<F>>,
    current: Mutex<CurrentManifest>,
    next_segment: AtomicU64,
    /// Segments from this number on are young: added since merges began to run.
    young_from: AtomicU64,
    /// Held during a flush.
    pub(crate) flushing: Mutex<()>,
    /// Held shared by every call that uses files, so that closing the store can wait for all of them.
    activity: RwLock<()>,
    is_closed: AtomicBool,
    lock: Mutex<Option<StoreLock>>,
}

impl<F: Fingerprint> StoreInner<F> {
    pub(crate) fn new(
        disk: Box<dyn Disk>,
        lock: StoreLock,
        options: StoreOptions,
        opened: Opened<F>,
    ) -> Self {
        let Opened { current, writer, view } = opened;
        let manifest = current.manifest().clone();
        Self {
            schema: Arc::new(Schema::of(&manifest)),
            options,
            view: ArcSwap::from_pointee(view),
            queue: Queue::new(),
            background: Background::default(),
            throttle: Throttle::default(),
            run_throttle: Throttle::default(),
            searchers: SearcherPool::new(),
            claims: Claims::default(),
            stale_files: StaleFiles::default(),
            unsynced_since: Mutex::new(None),
            writer: Mutex::new(writer),
            current: Mutex::new(current),
            next_segment: AtomicU64::new(manifest.next_segment),
            young_from: AtomicU64::new(manifest.next_segment),
            manifest: ArcSwap::from_pointee(manifest),
            flushing: Mutex::new(()),
            activity: RwLock::new(()),
            is_closed: AtomicBool::new(false),
            disk,
            lock: Mutex::new(Some(lock)),
        }
    }

    /// Locks the writer. A panic under the lock leaves no partial batch, since the log decides.
    pub(crate) fn writer(&self) -> MutexGuard<'_, Writer<F>> {
        self.writer.lock().unpoisoned()
    }

    /// Locks the manifest, for its replacement.
    pub(crate) fn lock_manifest(&self) -> MutexGuard<'_, CurrentManifest> {
        self.current.lock().unpoisoned()
    }

    /// Locks out other flushes.
    pub(crate) fn begin_flush(&self) -> MutexGuard<'_, ()> {
        self.flushing.lock().unpoisoned()
    }

    /// Replaces the manifest.
    pub(crate) fn replace_manifest(
        &self,
        current: &mut CurrentManifest,
        manifest: Manifest,
    ) -> Result<(), Error> {
        current.replace(manifest)?;
        self.manifest.store(Arc::new(current.manifest().clone()));
        Ok(())
    }

    /// Removes stale files. The next writer removes what a failure leaves.
    pub(crate) fn remove_files(&self, names: Vec<String>) {
        names.iter().for_each(|name| drop(self.disk.remove(name)));
    }

    /// Allocates the number of a new segment.
    pub(crate) fn next_segment(&self) -> u64 {
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a lower bound of the number of the next segment.
    pub(crate) fn peek_next_segment(&self) -> u64 {
        self.next_segment.load(Ordering::Relaxed)
    }

    /// Whether merges keep the number of segments within its bound.
    pub(crate) fn is_merging(&self) -> bool {
        self.options.merges && !self.background.is_paused()
    }

    /// Pauses or resumes background merges.
    pub(crate) fn pause_merges(&self, is_paused: bool) {
        if !is_paused && self.background.is_paused() {
            self.young_from.store(self.peek_next_segment(), Ordering::Relaxed);
        }
        self.background.set_paused(is_paused);
    }

    /// Returns the number of segments, and of the young ones among them.
    pub(crate) fn segment_counts(&self) -> (usize, usize) {
        let view = self.view.load();
        let young_from = self.young_from.load(Ordering::Relaxed);
        let young = view.segments.iter().filter(|live| live.segment.oldest_input() >= young_from);
        (view.segments.len(), young.count())
    }

    /// Returns the load of memory and segments; at 1, writers wait.
    pub(crate) fn load(&self) -> f64 {
        let view = self.view.load();
        let fill = view.memtable.bytes() as f64 / self.options.memtable_bytes() as f64;
        let memory = background::memory_load(view.frozen.len(), fill);
        if !self.is_merging() {
            return memory;
        }
        let (segments, young) = self.segment_counts();
        memory.max(background::segment_load(segments, young))
    }

    /// Syncs the log up to its present end, while writers continue.
    ///
    /// # Errors
    /// When the disk refuses it, or the log is poisoned.
    pub(crate) fn sync_concurrently(&self) -> Result<(), Error> {
        let Some(pending) = self.writer().begin_sync()? else { return Ok(()) };
        let started = Instant::now();
        let outcome = pending.run();
        let took = started.elapsed();
        let mut writer = self.writer();
        let ended = writer.end_sync(outcome);
        self.record_unsynced(&writer);
        drop(writer);
        if ended.is_ok() {
            self.background.notify(&Event::Done(Work::Sync, took));
        }
        ended
    }

    /// Records the time of the oldest unsynced write.
    pub(crate) fn record_unsynced(&self, writer: &Writer<F>) {
        *self.unsynced_since.lock().unpoisoned() = writer.unsynced_since();
    }

    /// Returns the age of the oldest unsynced write.
    pub(crate) fn unsynced(&self) -> Option<Duration> {
        let since = *self.unsynced_since.lock().unpoisoned();
        since.map(|since| since.elapsed())
    }

    /// Begins a call that uses files. Closing the store waits for its end.
    ///
    /// # Errors
    /// When the store is closed or lost, or this is a forked process.
    pub(crate) fn begin(&self) -> Result<RwLockReadGuard<'_, ()>, Error> {
        let activity = self.activity.read().unpoisoned();
        self.check_open()?;
        self.check_held()?;
        Ok(activity)
    }

    /// Returns the report of a caller's work, which is also cancelled when the store is closed or read again.
    pub(crate) fn until_closed(&self, report: &Report) -> Report {
        report.clone().cancellation(self.background.cancellation())
    }

    /// Checks that the store is not closed, and that this is not a forked process.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed { path: self.disk.path("") });
        }
        self.check_process()
    }

    /// Checks that the directory and the lock are where another process would look for them.
    ///
    /// # Errors
    /// When they are others now: [`Error::Lost`].
    pub(crate) fn check_held(&self) -> Result<(), Error> {
        self.disk.check_held().map_err(Error::io("look for it", self.disk.path("")))
    }

    /// Checks that this is not a forked process.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        let lock = self.lock.lock().unpoisoned();
        lock.as_ref().map_or(Ok(()), StoreLock::check)
    }

    /// Writes a status line into the lock file, for other processes.
    pub(crate) fn set_status(&self, line: &str) {
        if let Some(lock) = &*self.lock.lock().unpoisoned() {
            lock.set_status(line);
        }
    }

    /// Rejects further calls. Returns whether the store was open before.
    pub(crate) fn begin_close(&self) -> bool {
        !self.is_closed.swap(true, Ordering::AcqRel)
    }

    /// Waits for running calls, makes everything durable, records the end of the log in the manifest, so that damage to
    /// it is detected, and releases the lock.
    ///
    /// # Errors
    /// When the disk refuses an operation. The lock is released nevertheless.
    pub(crate) fn end_close(&self) -> Result<(), Error> {
        let _activity = self.activity.write().unpoisoned();
        let sealed = self.seal();
        *self.lock.lock().unpoisoned() = None;
        sealed
    }

    fn seal(&self) -> Result<(), Error> {
        let mut current = self.lock_manifest();
        let mut writer = self.writer();
        writer.sync()?;
        let mut manifest = current.manifest().clone();
        manifest.sealed = Some(writer.log.sealed());
        manifest.next_segment = self.peek_next_segment();
        if manifest == *current.manifest() {
            return Ok(());
        }
        self.replace_manifest(&mut current, manifest)
    }

    /// Replaces the contents of memory by those of the disk.
    ///
    /// # Errors
    /// As for opening a store. No write is accepted then until a later attempt succeeds.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.background.cancel_running();
        // Running calls need files that the manifest does not name yet. Merges go on until flushes have ended, which
        // may wait for them.
        let _activity = self.activity.write().unpoisoned();
        self.check_open()?;
        self.check_held()?;
        let _flushing = self.begin_flush();
        let _foreground = self.block_merges();
        let mut current = self.lock_manifest();
        let mut writer = self.writer();
        // The log is about to be replaced: nothing may be written to the old one, even after a failure.
        writer.log.forbid_writes_before_reading();
        let mut opened = Opened::load(&*self.disk, self.options, true)?;
        opened.view.continue_from(&self.view.load());
        let next = opened.current.manifest().next_segment;
        self.next_segment.fetch_max(next, Ordering::Relaxed);
        self.manifest.store(Arc::new(opened.current.manifest().clone()));
        self.view.store(Arc::new(opened.view));
        (*current, *writer) = (opened.current, opened.writer);
        drop((current, writer));
        self.searchers.clear();
        self.claims.forget_damage();
        self.background.forget_failures();
        self.background.signal_work();
        Ok(())
    }
}

#[cfg(test)]
impl<F: Fingerprint> StoreInner<F> {
    /// Returns the store as a forked process has it.
    pub(crate) fn forked(self) -> Self {
        let lock = self.lock.into_inner().unwrap().map(StoreLock::forked);
        Self { lock: Mutex::new(lock), ..self }
    }
}

/// A consistent set of the files of a store, which stay as long as this is held.
pub(crate) struct Pinned<'s, F: Fingerprint> {
    inner: &'s StoreInner<F>,
    pub(crate) manifest: Arc<Manifest>,
    /// The end of the logs, which are durable up to there.
    pub(crate) end: Sealed,
    /// Keeps the segments.
    _state: Arc<View<F>>,
}

impl<F: Fingerprint> StoreInner<F> {
    /// Pins the files of this moment, with every write before.
    ///
    /// # Errors
    /// When the disk refuses to sync the log.
    pub(crate) fn pin(&self) -> Result<Pinned<'_, F>, Error> {
        // Most of the log is synced while writers go on.
        self.sync_concurrently()?;
        // Manifest and view match as long as nothing is published.
        let _publisher = self.lock_manifest();
        let end = {
            let mut writer = self.writer();
            writer.sync()?;
            writer.log.sealed()
        };
        self.stale_files.pin();
        Ok(Pinned { inner: self, manifest: self.manifest.load_full(), end, _state: self.view.load_full() })
    }
}

impl<F: Fingerprint> Drop for Pinned<'_, F> {
    fn drop(&mut self) {
        self.inner.remove_files(self.inner.stale_files.unpin());
    }
}
