//! Output files that are written atomically and overwrite nothing by accident.
//!
//! The rules for every file that a program writes:
//!
//! - **Inputs are never overwritten.** An output that is the same file as an input ([`Inputs`]) is refused, whatever
//!   the names: symbolic links, hard links, redirected standard input, a file in a directory that is read.
//! - **Nothing is replaced without permission** ([`CreateOptions::overwrite`]).
//! - **Files are complete or absent.** The file gets its name when it has been written and synced; until then the name
//!   is free, or refers to the existing file. On Linux it is anonymous until then, so a killed process leaves nothing.
//!   On other systems, and on file systems without anonymous files, it has a temporary name in the same directory,
//!   which is removed unless the process is killed.
//! - **Durable.** File and directory are synced before [`AtomicFile::finish`] returns.
//! - **Permissions are kept.** A file that replaces another one takes its mode and, if the system permits it,
//!   its owner and group. A new file has mode 0666 less the process's mask. Access control lists and
//!   extended attributes are not copied.
//! - **Symbolic links are followed.** The link stays; the file that it points to is created or replaced.
//! - **Streams are written to.** A character device, a FIFO and an open descriptor (`/dev/stdout`,
//!   `/dev/fd/3`) are written directly, without permission: there is nothing to replace. A block device
//!   has data, so it needs permission.
//! - Anything else (a directory, a socket) is refused.
//!
//! Several files can be published together in a directory: [`AtomicDirectory`].
//!
//! ```
//! use std::io::Write;
//! use hamdex_atomic_file::{AtomicFile, Inputs};
//!
//! let directory = tempfile::tempdir()?;
//! let (input, output) = (directory.path().join("in.txt"), directory.path().join("out.txt"));
//! std::fs::write(&input, "three\nlines\nhere\n")?;
//!
//! let inputs = Inputs::of([&input]);
//! let mut file = AtomicFile::options().inputs(&inputs).create(&output)?;
//! writeln!(file, "3 lines")?;
//! assert!(!output.exists());
//! file.finish()?;
//! assert_eq!(std::fs::read_to_string(&output)?, "3 lines\n");
//!
//! assert!(AtomicFile::options().create(&output).is_err(), "it exists");
//! assert!(AtomicFile::options().inputs(&inputs).overwrite(true).create(&input).is_err(), "it is an input");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directory;
mod file;
mod inputs;
mod target;
mod unfinished;

use std::io;
use std::path::{Path, PathBuf};

pub use directory::AtomicDirectory;
pub use file::{AtomicFile, CreateOptions, Pieces, SealedFile, link_or_copy};
pub use inputs::{Identity, Inputs};
pub use target::{STANDARD_OUTPUT, read_exact_at, temporary_directory};
pub use unfinished::sync_directory;

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
