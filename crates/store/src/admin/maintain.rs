//! Bringing the files of a store into another form, by hand.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Engine, Progress};

use crate::disk::Disk;
use crate::error::Error;
use crate::merge::run::Report;
use crate::store::Store;

impl<F: Engine, D: Disk> Store<F, D> {
    /// Writes all recent pairs to a file. Everything written before is durable when this returns.
    ///
    /// # Errors
    /// When the disk refuses it: nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        self.shared().flush_all()
    }

    /// Merges files until no merge is due, and returns when that is so: at rest, as queries find it when nothing has
    /// been written for a while. What is recent stays in memory, unless memory was full. Merges that are paused, or
    /// that the options leave out, are done all the same.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged: nothing is lost then.
    pub fn settle(&self) -> Result<(), Error> {
        self.shared().check_process()?;
        while self.shared().flush_oldest()? {}
        while self.shared().merge_due()? {}
        Ok(())
    }

    /// Merges everything into one file, without what has been removed.
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
        self.shared().flush_all()?;
        let report: Report = Arc::new(report);
        while self.shared().merge_all(&report)? {}
        Ok(())
    }

    /// Lets no merge begin, or lets them go on.
    pub fn pause_merges(&self, is_paused: bool) {
        self.shared().background.set_paused(is_paused);
    }
}
