//! Flush: from a frozen memtable to a segment.

use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use hamdex::Fingerprint;

use crate::background::pressure::{self, MAX_FROZEN};
use crate::compaction::publish::{Added, Change};
use crate::error::Error;
use crate::health::{Event, Remedy, Work};
use crate::inner::StoreInner;

/// Interval at which a thread that waits for merges checks for their failure.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl<F: Fingerprint> StoreInner<F> {
    /// Flushes the oldest frozen memtable. Returns whether there was one.
    ///
    /// # Errors
    /// When the disk refuses an operation. The pairs stay in memory and in the log then.
    pub(crate) fn flush_oldest(&self) -> Result<bool, Error> {
        self.flush_first_if(|_| true, self.begin_flush())
    }

    /// Flushes the oldest frozen memtable, if `concerns` is true for the number of its next log.
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
            // All its pairs have been removed.
            self.writer().journal.close(reader.begun);
            self.publish(Change { added: None, dropped: Vec::new(), is_flush: true })?;
            return Ok(true);
        }
        match self.build_segment(&frozen.memtable, &pairs) {
            Ok((segment, entry)) => {
                let added = Added::new(segment, entry, Some(reader));
                self.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: true })?;
                self.throttle.record_flush(pairs.len() as u64, started.elapsed());
                self.background.notify(&Event::Done(Work::Flush, started.elapsed()));
                Ok(true)
            }
            Err(error) => {
                self.writer().journal.close(reader.begun);
                Err(error)
            }
        }
    }

    /// Waits until another segment may be added: while merges run, there are at most [`pressure::MAX_SEGMENTS`].
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
            // Merges of other segments go on if one is damaged.
            let failure = self.background.failure(Work::Merge);
            if let Some(failure) = failure.filter(|failure| failure.remedy != Remedy::Repair) {
                return Err(Error::Full { path: self.disk.path(""), source: failure.source() });
            }
            if !self.background.wait_for_work(&mut seen, POLL_INTERVAL) {
                return Err(Error::Closed { path: self.disk.path("") });
            }
        }
    }

    /// Flushes all pairs and removals that are in memory at the time of this call, so that no log is needed for them.
    ///
    /// # Errors
    /// When the disk refuses an operation.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        // Keeps the number of frozen memtables within its bound, except for a moment if other writers fill one meanwhile.
        let first = self.view.load().frozen.first().map(|frozen| frozen.next_log);
        if let Some(first) = first.filter(|_| self.view.load().frozen.len() >= MAX_FROZEN) {
            self.flush_up_to(first)?;
        }
        self.sync_concurrently()?;
        self.freeze(&mut self.writer())?;
        self.flush_frozen()
    }

    /// Flushes the memtables that are frozen at the time of this call.
    ///
    /// # Errors
    /// When the disk refuses an operation.
    pub(crate) fn flush_frozen(&self) -> Result<(), Error> {
        // Memtables that are frozen later are not waited for.
        let last = self.view.load().frozen.last().map_or(0, |frozen| frozen.next_log);
        self.flush_up_to(last)
    }

    /// Flushes the memtables of logs before one, or waits until other threads have.
    fn flush_up_to(&self, last: u64) -> Result<(), Error> {
        let mut seen = 0;
        while self.view.load().frozen.first().is_some_and(|frozen| frozen.next_log <= last) {
            // The flush thread takes the lock again and again, so a thread that blocks on it might starve.
            let flushing = match self.flushing.try_lock() {
                Ok(flushing) => flushing,
                Err(TryLockError::Poisoned(flushing)) => flushing.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    self.background.wait_for_work(&mut seen, POLL_INTERVAL);
                    continue;
                }
            };
            self.flush_first_if(|next_log| next_log <= last, flushing)?;
        }
        Ok(())
    }
}
