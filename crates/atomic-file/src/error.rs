//! What can go wrong with an output.

use std::io;
use std::path::{Path, PathBuf};

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is something of this name, and no permission to replace it.
    #[error("{}: exists already", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The output is one of the inputs.
    #[error("{}: is the input {}: write to another file", path.display(), input.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The input, as it was named; a directory, if the output lies in it.
        input: PathBuf,
    },
    /// The name stands for something that cannot be written or replaced.
    #[error("{}: {what}; name a file", path.display())]
    NotAFile {
        /// The output.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The operating system refused something. There is no new file.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The output.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is complete and has its name, but its directory could not be synced: if the system crashes
    /// now, the name may be lost.
    #[error("{}: is complete and in place, but its directory cannot be synced to disk", path.display())]
    NotDurable {
        /// The output.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The directory is complete and has its name, but the directory around it could not be synced: if the system crashes
    /// now, the one that it replaced may have the name again, so that is kept.
    #[error("{}: is complete and in place, but its directory cannot be synced to disk, so what it replaced is kept: it is {}", path.display(), old.display())]
    Kept {
        /// The output.
        path: PathBuf,
        /// What it replaced.
        old: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The directory is complete and has its name, and what it replaced could not be removed.
    #[error("{}: is complete and in place, but what it replaced cannot be removed: it is {}", path.display(), old.display())]
    NotRemoved {
        /// The output.
        path: PathBuf,
        /// What it replaced.
        old: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// Returns what turns an I/O error into one about this file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Whether the output is complete and in place in spite of the error.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        matches!(self, Self::NotDurable { .. } | Self::Kept { .. } | Self::NotRemoved { .. })
    }
}
