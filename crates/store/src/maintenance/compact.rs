//! Bringing the files of a store into another form, by hand.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Progress};

use crate::compaction::merge::Report;
use crate::error::Error;
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Writes all pairs that are recent when this is called to files. Everything written before is durable when this
    /// returns. While merges run in the background, it waits where there are too many files.
    ///
    /// # Errors
    /// When the disk refuses it: nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()
    }

    /// Merges the files that are there when this is called until no merge of them is due: at rest, as queries find it when
    /// nothing has been written for a while. What is recent stays in memory, unless memory was full. Merges that are
    /// paused, or that the options leave out, are done all the same. It returns also while others write.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged: nothing is lost then.
    pub fn settle(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_frozen()?;
        self.inner().merge_until_settled()
    }

    /// Merges everything that is there when this is called into one file, without what has been removed; in steps, if
    /// there are more files than are merged at once. It returns also while others write.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged: nothing has changed then.
    pub fn compact(&self) -> Result<(), Error> {
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// The same, with a callback that is told, from any thread, how far the writing of a file has come; it may stop
    /// the work: see [the engine](hamdex#threads-memory-progress).
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
    /// As for [`Store::compact`]; when the callback has stopped it: nothing has changed then.
    pub fn compact_with(
        &self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()?;
        self.inner().merge_all(&(Arc::new(report) as Report))
    }

    /// Lets no merge begin in the background, or lets them go on. While they are paused, the number of segments has no
    /// bound ([`Health::merges`](crate::Health::merges)).
    pub fn pause_merges(&self, is_paused: bool) {
        self.inner().pause_merges(is_paused);
    }
}
