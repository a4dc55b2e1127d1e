//! Flushes and merges on request.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Progress, ProgressCallback};

use crate::error::Error;
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Flushes the memtables to segments. Every write before this call is durable when it returns. It waits for merges
    /// if there are too many segments.
    ///
    /// # Errors
    /// When the disk refuses an operation. Nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()
    }

    /// Merges the segments of the time of this call until no merge of them is due, as background merges do when nothing
    /// is written for a while. Pairs in memory stay there, unless memory was full. It merges even if merges are paused
    /// or disabled, and returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn settle(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_frozen()?;
        self.inner().merge_until_settled()
    }

    /// Merges everything that was written before this call into one segment, without the removed pairs. Many segments
    /// are merged in steps. It returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn compact(&self) -> Result<(), Error> {
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// Compacts the store with a progress callback, which any thread may call and which may cancel the work: see [the
    /// engine](hamdex#threads-memory-progress).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.store");
    /// let store = Store::<u64>::create(path, &CreateOptions::new(), StoreOptions::new())?;
    /// store.insert(0x00ff, 1)?;
    /// store.flush()?;
    /// store.insert(0xff00, 2)?;
    /// store.compact_with(|progress| {
    ///     println!("{:?}: {} of {:?}", progress.phase, progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(store.stats().segments.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::compact`]; when the callback cancels it. Merges that have ended stay.
    pub fn compact_with(
        &self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()?;
        self.inner().merge_all(&(Arc::new(report) as ProgressCallback))
    }

    /// Pauses or resumes background merges. While they are paused, the number of segments is unbounded
    /// ([`Health::merges`](crate::health::Health::merges)).
    pub fn pause_merges(&self, is_paused: bool) {
        self.inner().pause_merges(is_paused);
    }
}
