//! What all handles and threads of an open store share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hamdex::Engine;

use crate::background::Background;
use crate::disk::Disk;
use crate::error::Error;
use crate::lock::StoreLock;
use crate::options::StoreOptions;
use crate::publisher::Publisher;
use crate::read::pool::SearcherPool;
use crate::shape::Shape;
use crate::state::State;
use crate::write::queue::Queue;
use crate::write::request::{Reply, Request};
use crate::write::writer::Writer;

/// What all handles and threads of a store that is open for writing share.
///
/// Locks are taken in this order: flushing or merging, publisher, queue, writer.
pub(crate) struct Shared<F: Engine, D: Disk> {
    pub(crate) disk: D,
    pub(crate) shape: Arc<Shape>,
    pub(crate) options: StoreOptions,
    /// What readers see.
    pub(crate) state: ArcSwap<State<F, D>>,
    pub(crate) queue: Queue<Request<F>, Result<Reply<F>, Error>>,
    pub(crate) background: Background,
    pub(crate) searchers: SearcherPool<F, D>,
    writer: Mutex<Writer<F, D>>,
    publisher: Mutex<Publisher<D>>,
    next_segment: AtomicU64,
    /// Held by the one who writes recent pairs to a file, and by the one who merges files.
    pub(crate) flushing: Mutex<()>,
    pub(crate) merging: Mutex<()>,
    lock: StoreLock<D>,
}

impl<F: Engine, D: Disk> Shared<F, D> {
    pub(crate) fn new(
        disk: D,
        lock: StoreLock<D>,
        options: StoreOptions,
        publisher: Publisher<D>,
        writer: Writer<F, D>,
        state: State<F, D>,
    ) -> Self {
        let next_segment = AtomicU64::new(publisher.manifest().next_segment);
        Self {
            shape: Arc::new(Shape::of(publisher.manifest())),
            options,
            state: ArcSwap::from_pointee(state),
            queue: Queue::new(),
            background: Background::default(),
            searchers: SearcherPool::new(),
            writer: Mutex::new(writer),
            publisher: Mutex::new(publisher),
            next_segment,
            flushing: Mutex::new(()),
            merging: Mutex::new(()),
            disk,
            lock,
        }
    }

    /// The one who writes. Whoever panics with it leaves no batch in part: the log says what counts.
    pub(crate) fn writer(&self) -> MutexGuard<'_, Writer<F, D>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one who changes the manifest.
    pub(crate) fn publisher(&self) -> MutexGuard<'_, Publisher<D>> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a new segment.
    pub(crate) fn next_segment(&self) -> u64 {
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next segment will have, at least.
    pub(crate) fn peek_next_segment(&self) -> u64 {
        self.next_segment.load(Ordering::Relaxed)
    }

    /// Lets no merge begin or end, as long as it is held.
    pub(crate) fn hold_merges(&self) -> MutexGuard<'_, ()> {
        self.merging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes durable what has been written by now, while others write on.
    ///
    /// # Errors
    /// When the disk refuses it, or has refused something before.
    pub(crate) fn sync_beside(&self) -> Result<(), Error> {
        let Some(pending) = self.writer().begin_sync()? else { return Ok(()) };
        let outcome = pending.run();
        self.writer().end_sync(outcome)
    }

    /// Makes everything durable, and notes in the manifest where the log ends: damage to its end is noticed then.
    pub(crate) fn seal(&self) -> Result<(), Error> {
        let mut publisher = self.publisher();
        let mut writer = self.writer();
        writer.sync()?;
        let mut manifest = publisher.manifest().clone();
        manifest.sealed = Some(writer.log.sealed());
        manifest.next_segment = self.peek_next_segment();
        if manifest == *publisher.manifest() { Ok(()) } else { publisher.replace(manifest) }
    }

    /// Refuses to work after a fork.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        self.lock.check()
    }
}

#[cfg(test)]
impl<F: Engine, D: Disk> Shared<F, D> {
    /// As it is in a process that was forked from the one that opened it.
    pub(crate) fn forked(self) -> Self {
        Self { lock: self.lock.forked(), ..self }
    }
}
