//! The summary of a build.

use std::path::Path;

use hamdex_atomic_file::{AtomicDirectory, SealedFile};

use crate::error::BuildError;
use crate::format::FileId;

/// The summary of a build.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Fingerprints pushed, or read from a source or from the indexes that are merged, repeats counted.
    pub pushed: u64,
    /// Distinct fingerprints stored.
    pub fingerprints: u64,
    /// Ids stored, a pair of fingerprint and id counted once.
    pub ids: u64,
    /// The name of the design.
    pub design: String,
    /// Bytes of the file.
    pub bytes: u64,
}

/// An index file that is complete and durable, and has no name yet: made by
/// [`Builder::seal`](crate::Builder::seal). Dropped, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "an index that is not published is gone"]
pub struct SealedIndex {
    pub(super) summary: Summary,
    pub(super) file_id: FileId,
    pub(super) file: SealedFile,
}

impl SealedIndex {
    /// Returns the id of the file, by which other files can refer to it.
    #[must_use]
    pub fn file_id(&self) -> FileId {
        self.file_id
    }

    /// Publishes the file under its path.
    ///
    /// # Errors
    /// When the file exists by then, or cannot be named. The target is untouched then, unless
    /// the error is [`BuildError::is_in_place`].
    pub fn publish(self) -> Result<Summary, BuildError> {
        self.file.publish()?;
        Ok(self.summary)
    }

    /// Returns the summary of a build.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Gives the file a name in a directory that is not in place yet, instead of the name that it was built for: so
    /// that files which belong together appear together.
    ///
    /// # Errors
    /// When the name is taken, or cannot be given.
    pub fn put_into(
        self,
        directory: &AtomicDirectory,
        name: impl AsRef<Path>,
    ) -> Result<Summary, BuildError> {
        directory.take(name, self.file)?;
        Ok(self.summary)
    }
}
