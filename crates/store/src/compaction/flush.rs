//! From memory to a file.

use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use hamdex::Fingerprint;

use crate::background::pressure::{self, MAX_FROZEN};
use crate::compaction::publish::{Added, Change};
use crate::error::Error;
use crate::health::{Remedy, Work};
use crate::inner::StoreInner;

/// How often a thread that waits for merges looks whether they fail.
const LOOK: Duration = Duration::from_millis(100);

impl<F: Fingerprint> StoreInner<F> {
    /// Writes the oldest frozen pairs to a file. Returns whether there were any.
    ///
    /// # Errors
    /// When the disk refuses it: the pairs stay in memory and in the log then.
    pub(crate) fn flush_oldest(&self) -> Result<bool, Error> {
        self.flush_first_if(|_| true, self.begin_flush())
    }

    /// The same, if their number is one of those that `concerns` says.
    fn flush_first_if(
        &self,
        concerns: impl FnOnce(u64) -> bool,
        _flushing: MutexGuard<'_, ()>,
    ) -> Result<bool, Error> {
        let oldest = |view: &crate::view::View<F>| view.frozen.first().cloned();
        let Some(first) = oldest(&self.view.load()) else { return Ok(false) };
        if !concerns(first.next_log) {
            return Ok(false);
        }
        if first.memtable.len() > 0 {
            self.wait_for_fewer_segments()?;
        }
        let mut writer = self.writer();
        let Some(frozen) = oldest(&self.view.load()) else { return Ok(false) };
        let reader = writer.open_journal();
        drop(writer);
        let started = Instant::now();
        let pairs = frozen.memtable.to_sorted();
        if pairs.is_empty() {
            // All of them have been removed; the file would be empty.
            self.writer().journal.close(reader.begun);
            self.publish(Change { added: None, dropped: Vec::new(), is_flush: true })?;
            return Ok(true);
        }
        match self.build_segment(&frozen.memtable, &pairs) {
            Ok((segment, entry)) => {
                let added = Added { segment, entry, journal: Some(reader) };
                self.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: true })?;
                self.throttle.record_flush(pairs.len() as u64, started.elapsed());
                Ok(true)
            }
            Err(error) => {
                self.writer().journal.close(reader.begun);
                Err(error)
            }
        }
    }

    /// Waits until one more segment may be added: while merges run, there are at most [`pressure::MAX_SEGMENTS`].
    ///
    /// # Errors
    /// When merges fail, or the store is being closed.
    pub(crate) fn wait_for_fewer_segments(&self) -> Result<(), Error> {
        let mut seen = 0;
        loop {
            let (segments, young) = self.segment_counts();
            if !self.is_merging() || pressure::has_room_for_segment(segments, young) {
                return Ok(());
            }
            // A damaged segment does not keep the others from being merged.
            let failure = self.background.failure(Work::Merge);
            if let Some(failure) = failure.filter(|failure| failure.remedy != Remedy::Repair) {
                return Err(Error::Full { path: self.disk.path(""), source: failure.source() });
            }
            if !self.background.wait_for_work(&mut seen, LOOK) {
                return Err(Error::Closed { path: self.disk.path("") });
            }
        }
    }

    /// Writes all pairs that are recent when this is called to files, so that no log is needed for them.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        self.flush_after(|| self.freeze(&mut self.writer()))
    }

    /// The same, also where nothing is recent: logs say what was removed, and have to go as well.
    pub(crate) fn flush_logs(&self) -> Result<(), Error> {
        self.flush_after(|| self.freeze_always(&mut self.writer()))
    }

    fn flush_after(&self, freeze: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        // One more memtable than may wait is in memory otherwise, or for a moment if others fill it meanwhile.
        let first = self.view.load().frozen.first().map(|frozen| frozen.next_log);
        if let Some(first) = first.filter(|_| self.view.load().frozen.len() >= MAX_FROZEN) {
            self.flush_up_to(first)?;
        }
        self.sync_beside()?;
        freeze()?;
        self.flush_frozen()
    }

    /// Writes the pairs to files that wait for it when this is called.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(crate) fn flush_frozen(&self) -> Result<(), Error> {
        // Others may fill memory meanwhile: that is not waited for.
        let last = self.view.load().frozen.last().map_or(0, |frozen| frozen.next_log);
        self.flush_up_to(last)
    }

    /// Writes the memtables of logs before one to files, or waits until others have.
    fn flush_up_to(&self, last: u64) -> Result<(), Error> {
        let mut seen = 0;
        while self.view.load().frozen.first().is_some_and(|frozen| frozen.next_log <= last) {
            // The thread that flushes takes the lock again and again: who waited for it might never have it.
            let flushing = match self.flushing.try_lock() {
                Ok(flushing) => flushing,
                Err(TryLockError::Poisoned(flushing)) => flushing.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    self.background.wait_for_work(&mut seen, LOOK);
                    continue;
                }
            };
            self.flush_first_if(|next_log| next_log <= last, flushing)?;
        }
        Ok(())
    }
}
