//! The loss of a store: its path no longer leads to the files that a process holds.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason for which a process leaves a store alone. It is the cause of an [`io::Error`].
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    /// The directory.
    pub(crate) path: PathBuf,
    /// The file or directory that another has replaced.
    pub(crate) what: String,
}

impl Lost {
    /// Returns the reason of an error, if it is the loss of a store.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        Self::other(lost)
    }
}
