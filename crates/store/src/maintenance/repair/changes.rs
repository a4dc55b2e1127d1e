//! The changes of a repair, announced before the first of them.

use crate::disk::Disk;
use crate::error::Error;
use crate::maintenance::repair::evidence::Evidence;
use crate::maintenance::repair::report::{KeptReport, Repaired};

/// The right to make new files. Before the first one, the report in the store says which numbers they have, so that an
/// interrupted repair does not take its own files for those of the store.
pub(super) struct Changes<'d> {
    pub(super) disk: &'d dyn Disk,
    /// The report of an earlier repair that was not told, with the numbers of this one.
    announced: KeptReport,
    has_begun: bool,
    next_segment: u64,
}

impl<'d> Changes<'d> {
    pub(super) fn new(disk: &'d dyn Disk, evidence: &Evidence, generation: u64, first_segment: u64) -> Self {
        let repaired = evidence.earlier.as_ref().map(|earlier| earlier.repaired.clone()).unwrap_or_default();
        let first_own = evidence.first_own_segment().unwrap_or(first_segment);
        let announced = KeptReport { generation, first_segment: first_own, repaired };
        Self { disk, announced, has_begun: false, next_segment: first_segment }
    }

    /// Announces changes, unless that was done before.
    ///
    /// # Errors
    /// When the operating system refuses an operation.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if !self.has_begun {
            self.announced.write(self.disk)?;
            self.has_begun = true;
        }
        Ok(())
    }

    /// Returns the number of a new segment.
    ///
    /// # Errors
    /// As for [`Self::begin`].
    pub(super) fn new_segment(&mut self) -> Result<u64, Error> {
        self.begin()?;
        self.next_segment += 1;
        Ok(self.next_segment - 1)
    }

    /// Returns a number above those of all segments.
    pub(super) fn next_segment(&self) -> u64 {
        self.next_segment
    }

    /// Keeps the report in the store until it was told.
    ///
    /// # Errors
    /// When the operating system refuses an operation.
    pub(super) fn keep(&mut self, repaired: Repaired) -> Result<(), Error> {
        self.announced.repaired = repaired;
        self.has_begun = true;
        self.announced.write(self.disk)
    }
}
