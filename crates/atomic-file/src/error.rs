//! Errors of outputs.

use std::io;
use std::path::{Path, PathBuf};

/// An error of writing an output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path exists, and replacing it is not permitted.
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
    /// The new directory would be in an input.
    #[error("{}: lies in the input {}: name another directory", path.display(), input.display())]
    InInput {
        /// The output.
        path: PathBuf,
        /// The input, as it was named.
        input: PathBuf,
    },
    /// The path is something that cannot be written or replaced.
    #[error("{}: {what}; name a file", path.display())]
    NotAFile {
        /// The output.
        path: PathBuf,
        /// The kind of file that it is.
        what: &'static str,
    },
    /// An operation of the operating system failed. There is no new file.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is complete and in place, but its directory could not be synced: after a system crash, its name may be
    /// lost.
    #[error("{}: is complete and in place, but its directory cannot be synced to disk", path.display())]
    NotDurable {
        /// The output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory is complete and in place, but its parent could not be synced: after a system crash, the name may
    /// refer to the replaced directory again, which is therefore kept.
    #[error("{}: is complete and in place, but its directory cannot be synced to disk, so the replaced directory is kept: {}", path.display(), old.display())]
    Kept {
        /// The output.
        path: PathBuf,
        /// The replaced directory.
        old: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory is complete and in place, but the replaced one could not be removed.
    #[error("{}: is complete and in place, but the replaced directory cannot be removed: {}", path.display(), old.display())]
    NotRemoved {
        /// The output.
        path: PathBuf,
        /// The replaced directory.
        old: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Returns a function that adds the operation and the path to an I/O error.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Returns whether the output is complete and in place in spite of the error.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        matches!(self, Self::NotDurable { .. } | Self::Kept { .. } | Self::NotRemoved { .. })
    }
}
