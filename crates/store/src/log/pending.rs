//! Making a log durable while it is written on.

use std::io;

use super::replay::Sealed;
use crate::disk::{Disk, DiskFile};

/// A sync that runs beside the writing.
#[derive(Debug)]
pub struct PendingSync<D: Disk> {
    pub(super) file: D::File,
    pub(super) sealed: Sealed,
}

impl<D: Disk> PendingSync<D> {
    /// Syncs. Returns how much is durable then.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn run(mut self) -> io::Result<Sealed> {
        self.file.sync()?;
        Ok(self.sealed)
    }
}
