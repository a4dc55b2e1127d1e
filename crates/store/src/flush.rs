//! From memory to a file.

use hamdex::Engine;

use crate::disk::Disk;
use crate::error::Error;
use crate::publish::{Added, Change};
use crate::shared::Shared;

impl<F: Engine, D: Disk> Shared<F, D> {
    /// Writes the oldest frozen pairs to a file. Returns whether there were any.
    ///
    /// # Errors
    /// When the disk refuses it: the pairs stay in memory and in the log then.
    pub(crate) fn flush_oldest(&self) -> Result<bool, Error> {
        let _flushing = self.flushing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut writer = self.writer();
        let Some(frozen) = self.state.load().frozen.first().cloned() else { return Ok(false) };
        let journal_start = writer.open_journal();
        drop(writer);
        let pairs = frozen.recent.to_sorted();
        let outcome = if pairs.is_empty() {
            // All of them have been removed; the file would be empty.
            self.writer().close_journal();
            self.publish(Change { added: None, dropped: Vec::new(), is_flush: true })
        } else {
            match self.build_segment(&frozen.recent, &pairs) {
                Ok((segment, entry)) => {
                    let added = Added { segment, entry, journal_start: Some(journal_start) };
                    self.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: true })
                }
                Err(error) => {
                    self.writer().close_journal();
                    Err(error)
                }
            }
        };
        outcome.map(|()| true)
    }

    /// Writes all recent pairs to a file, so that no log is needed for them.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        self.check_process()?;
        self.freeze(&mut self.writer())?;
        while self.flush_oldest()? {}
        Ok(())
    }
}
