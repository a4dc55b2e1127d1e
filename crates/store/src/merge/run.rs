//! Merging files.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Engine, Merger, Progress};

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::SegmentEntry;
use crate::merge::policy::{self, Size};
use crate::merge::removed_pairs::RemovedPairs;
use crate::priority;
use crate::publish::{Added, Change};
use crate::segment::{LiveSegment, Segment};
use crate::shared::Shared;

/// Who is told how far a merge has come, and may stop it.
pub(crate) type Report = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

impl<F: Engine, D: Disk> Shared<F, D> {
    /// Merges the files that are due, if any are. Returns whether there were any.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged: the files stay as they are then.
    pub(crate) fn merge_due(&self) -> Result<bool, Error> {
        self.merge(None, |segments| {
            let size =
                |live: &LiveSegment<F, D>| Size { pairs: live.segment.pairs(), removed: live.removed.len() };
            let sizes: Vec<Size> = segments.iter().map(size).collect();
            policy::choose(&sizes)
        })
    }

    /// Merges all files into one without anything that has been removed. Returns whether there was something to do.
    ///
    /// # Errors
    /// As for [`Shared::merge_due`].
    pub(crate) fn merge_all(&self, report: &Report) -> Result<bool, Error> {
        self.merge(Some(report), |segments| {
            let is_done = segments.len() <= 1 && segments.iter().all(|live| live.removed.is_empty());
            (!is_done).then(|| (0..segments.len()).collect())
        })
    }

    /// Writes a file anew without what has been removed from it. Returns how many pairs that were; 0 where the file
    /// is gone, as a merge has done it.
    ///
    /// # Errors
    /// As for [`Shared::merge_due`].
    pub(crate) fn rewrite(&self, number: u64) -> Result<u64, Error> {
        let mut removed = 0;
        self.merge(None, |segments| {
            let at = segments.iter().position(|live| live.segment.number == number)?;
            removed = segments[at].removed.len();
            Some(vec![at])
        })?;
        Ok(removed)
    }

    fn merge(
        &self,
        report: Option<&Report>,
        choose: impl FnOnce(&[LiveSegment<F, D>]) -> Option<Vec<usize>>,
    ) -> Result<bool, Error> {
        let _merging = self.merging.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut writer = self.writer();
        let state = self.state.load_full();
        let Some(chosen) = choose(&state.segments) else { return Ok(false) };
        let journal_start = writer.open_journal();
        drop(writer);
        let inputs: Vec<LiveSegment<F, D>> =
            chosen.into_iter().map(|at| state.segments[at].clone()).collect();
        drop(state);
        let dropped = inputs.iter().map(|live| live.segment.number).collect();
        if inputs.iter().all(|live| live.len() == 0) {
            self.writer().close_journal();
            self.publish(Change { added: None, dropped, is_flush: false })?;
            return Ok(true);
        }
        let level = self.level_above(&inputs);
        match self.merge_into_segment(&inputs, level, report) {
            Ok((segment, entry)) => {
                let added = Added { segment, entry, journal_start: Some(journal_start) };
                self.publish(Change { added: Some(added), dropped, is_flush: false })?;
            }
            Err(error) => {
                self.writer().close_journal();
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Writes what is left of the inputs to one new file. Files of one design are merged without sorting.
    fn merge_into_segment(
        &self,
        inputs: &[LiveSegment<F, D>],
        level: u32,
        report: Option<&Report>,
    ) -> Result<(Arc<Segment<F, D>>, SegmentEntry), Error> {
        let removed = inputs.iter().map(RemovedPairs::of).collect::<Result<Vec<_>, _>>()?;
        self.new_segment(level, |mut options, mut output| {
            options = match report.cloned() {
                Some(report) => options.progress(move |progress| report(progress)),
                // Nobody waits for it.
                None => options.threads(priority::threads(self.options.threads)),
            };
            let mut merger = Merger::new(inputs.iter().map(|live| &**live.index()))?.options(options);
            if removed.iter().any(|removed| !removed.is_empty()) {
                merger = merger.filter(|input, fingerprint, id| {
                    !removed[input].contains((fingerprint, id.unwrap_or_default()))
                });
            }
            F::merge_to(merger, &mut output)?;
            Ok(output)
        })
    }

    /// One more than the greatest level of these.
    fn level_above(&self, inputs: &[LiveSegment<F, D>]) -> u32 {
        let publisher = self.publisher();
        let entries = publisher.manifest().segments.iter();
        let of_inputs = entries.filter(|entry| inputs.iter().any(|live| live.segment.number == entry.number));
        of_inputs.map(|entry| entry.level).max().unwrap_or(0) + 1
    }
}
