//! The error type, and locks after a panic.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use hamdex::{BuildError, Category, DesignError, ReadError, ReadErrorKind, SetError, chain};

use crate::disk::Lost;

/// The error of an operation on a store.
///
/// An error of the operating system is the [source](std::error::Error::source), not part of the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no such directory, or it has no manifest, or a file of that name that is no manifest.
    #[error("{}: not a store: {}", path.display(), if source.is_some() { "nothing is there" } else { "it has no manifest of one" })]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// [`io::ErrorKind::NotFound`], if there is no such directory.
        source: Option<io::Error>,
    },
    /// The directory of a new store is not empty.
    #[error("{}: exists already, and is not an empty directory; choose another", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The file was written by a later version of the format.
    #[error("{}: format version {found} is too new: this program supports {supported}; update hamdex", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that this program supports.
        supported: u64,
    },
    /// Some bytes of a file are not the ones that were written.
    #[error("{}: damaged{}: {what}; restore the store from a backup, or salvage it with `repair`", path.display(), at(*offset))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset in the file, in bytes, if it is known.
        offset: Option<u64>,
        /// The kind of damage.
        what: String,
    },
    /// A file that the store needs is missing.
    #[error("{}: is missing; restore the store from a backup, or salvage it with `repair`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Too little of a manifest and its copy can be read to repair a store.
    #[error("{}: too little of it and its copy can be read to repair the store; restore the store from a backup, or query and merge its segments, which are index files without the latest records, and with removed ones", path.display())]
    Irreparable {
        /// The manifest.
        path: PathBuf,
    },
    /// Another process, or another handle in this one, has the store open for writing.
    #[error("{}: in use by {holder}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The holder, as far as it is known.
        holder: String,
    },
    /// The store was opened by the process that this one was forked from.
    #[error("{}: was opened by process {opened_by}; after a fork, open the store again", path.display())]
    Forked {
        /// The directory.
        path: PathBuf,
        /// The process that opened it.
        opened_by: u32,
    },
    /// An earlier write or sync failed, so the contents of the disk are unknown.
    #[error("{}: an earlier write failed, so the contents of the disk are unknown; reopen the store to write to it again", path.display())]
    Poisoned {
        /// The file whose write failed.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory of the store, its lock or its log was moved, removed or replaced while this process had it open.
    /// Another process may write to the files that are there now, so this one neither changes nor acknowledges anything.
    #[error("{}: {what}; this process leaves it alone from now on: close it, and open it again", path.display())]
    Lost {
        /// The directory.
        path: PathBuf,
        /// The part that is not in its place.
        what: String,
    },
    /// The store has been closed, perhaps by another handle.
    #[error("{}: the store is closed; open it again", path.display())]
    Closed {
        /// The directory.
        path: PathBuf,
    },
    /// The deadline of a write passed before the write began. Nothing was written.
    #[error("{}: the deadline of the write has passed; nothing was written", path.display())]
    TimedOut {
        /// The directory.
        path: PathBuf,
    },
    /// The target of a backup lies inside the store.
    #[error("{}: lies inside the store that is to be copied; choose a directory outside it", path.display())]
    BackupInside {
        /// The directory of the copy.
        path: PathBuf,
    },
    /// A segment cannot have a second name for a checkpoint.
    #[error("{}: cannot link it; a checkpoint lies on the file system of the store, and that has hard links: make a backup instead", path.display())]
    CannotLink {
        /// The new name.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Memory is full and cannot be flushed.
    #[error("{}: memory is full and cannot be flushed; nothing is lost, and writes continue once the cause is fixed", path.display())]
    Full {
        /// The directory.
        path: PathBuf,
        /// The error of the flush.
        source: Arc<Self>,
    },
    /// A batch has more operations than a record of the log can have.
    #[error("a batch of {count} operations is too large; write at most {max} at once")]
    BatchTooLarge {
        /// The number of operations.
        count: usize,
        /// The greatest possible number.
        max: usize,
    },
    /// The width is not supported.
    #[error("unsupported width {width}; use 64 or 128")]
    NoWidth {
        /// The width.
        width: u32,
    },
    /// An id was given to a store without ids.
    #[error("{}: this store has no ids; the id of every fingerprint must be 0", path.display())]
    NoIds {
        /// The directory.
        path: PathBuf,
    },
    /// Documents with shingles were given to a store without them, or the reverse.
    #[error("{}: {}", path.display(), if *has_shingles { "this store keeps shingles: every document is inserted with them" } else { "this store keeps no shingles" })]
    Shingles {
        /// The directory of the store.
        path: PathBuf,
        /// Whether the store has shingles.
        has_shingles: bool,
    },
    /// A replacement was asked of a store without look-ups.
    #[error("{}: this store has no look-ups by id; create one with look-ups", path.display())]
    NoLookups {
        /// The store.
        path: PathBuf,
    },
    /// A name is too long.
    #[error(
        "the name of record {number} of the batch has {bytes} bytes; a name has at most {}",
        hamdex::MAX_NAME_BYTES
    )]
    NameTooLong {
        /// The number of the record in the batch, from 0.
        number: usize,
        /// The length of its name.
        bytes: usize,
    },
    /// The shingles of a document are not a set.
    #[error("the shingles of document {document} of the batch do not ascend, or exceed their bits")]
    InvalidShingles {
        /// Its number in the batch, from 0.
        document: usize,
    },
    /// A pair without a name was given to a store with names, or the reverse.
    #[error("{}: {}", path.display(), if *has_names { "this store has names: it assigns the ids, and every fingerprint is inserted with a name" } else { "this store has no names" })]
    Names {
        /// The directory.
        path: PathBuf,
        /// Whether the store has names.
        has_names: bool,
    },
    /// A store with names has assigned all ids.
    #[error("{}: no ids are left", path.display())]
    NoIdsLeft {
        /// The directory.
        path: PathBuf,
    },
    /// A file to be ingested has ids, names or shingles and the store has none, the reverse, or other shingles.
    #[error("{}: {what}", path.display())]
    Ingest {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: &'static str,
    },
    /// The group commit failed; another writer of the group has the error itself.
    #[error("{what}")]
    OfGroup {
        /// The error and its causes.
        what: String,
    },
    /// A file of the store is damaged, or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A segment cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The design does not exist.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The store holds fingerprints of another width than expected.
    #[error("{}: holds fingerprints of {found} bits, not {expected}", path.display())]
    Width {
        /// The directory.
        path: PathBuf,
        /// The store's width.
        found: u32,
        /// The width expected.
        expected: u32,
    },
}

impl From<Error> for SetError {
    fn from(error: Error) -> Self {
        match error {
            Error::Read(error) => error.into(),
            error => Self::new(error.category(), error),
        }
    }
}

impl Error {
    /// The kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            // No directory at all: a mistyped path, which a backup does not mend.
            Self::Io { .. } | Self::NotAStore { source: Some(_), .. } => Category::System,
            Self::NotAStore { .. } | Self::Newer { .. } => Category::Format,
            Self::Exists { .. } => Category::Exists,
            Self::Damaged { .. } | Self::Missing { .. } | Self::Irreparable { .. } => Category::Damaged,
            Self::InUse { .. }
            | Self::Forked { .. }
            | Self::Poisoned { .. }
            | Self::Lost { .. }
            | Self::Closed { .. }
            | Self::TimedOut { .. }
            | Self::Full { .. }
            | Self::NoIdsLeft { .. }
            | Self::OfGroup { .. } => Category::Unavailable,
            Self::BatchTooLarge { .. }
            | Self::BackupInside { .. }
            | Self::CannotLink { .. }
            | Self::Design(_) => Category::Usage,
            Self::NoWidth { .. }
            | Self::NoIds { .. }
            | Self::Names { .. }
            | Self::Shingles { .. }
            | Self::InvalidShingles { .. }
            | Self::NameTooLong { .. }
            | Self::NoLookups { .. }
            | Self::Ingest { .. }
            | Self::Width { .. } => Category::Input,
            Self::Read(error) => error.category(),
            Self::Build(error) => error.category(),
        }
    }

    /// Returns a function that wraps an I/O error with a file.
    pub(crate) fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| match Lost::of(&source) {
            Some(Lost { path, what }) => Self::Lost { path: path.clone(), what: what.clone() },
            None => Self::Io { doing, path: path.as_ref().to_owned(), source },
        }
    }

    /// Returns the error of damage at an offset of a file.
    pub(crate) fn damaged(
        path: impl Into<PathBuf>,
        offset: impl Into<Option<u64>>,
        what: impl Into<String>,
    ) -> Self {
        Self::Damaged { path: path.into(), offset: offset.into(), what: what.into() }
    }

    /// Returns the same error for another writer of a group.
    pub(crate) fn clone_for_group(&self) -> Self {
        match self {
            Self::Io { doing, path, source } => {
                Self::Io { doing, path: path.clone(), source: clone_io_error(source) }
            }
            Self::Poisoned { path, source } => {
                Self::Poisoned { path: path.clone(), source: clone_io_error(source) }
            }
            Self::Full { path, source } => Self::Full { path: path.clone(), source: Arc::clone(source) },
            Self::Closed { path } => Self::Closed { path: path.clone() },
            Self::Lost { path, what } => Self::Lost { path: path.clone(), what: what.clone() },
            other => Self::OfGroup { what: chain(other) },
        }
    }

    /// Whether a repair has to treat it as damage: bytes are wrong, missing, or unreadable by the disk. Other refusals
    /// of the system, and a newer format version, are not damage.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::NotAStore { .. } | Self::Damaged { .. } | Self::Missing { .. } => true,
            Self::Io { source, .. } => is_unreadable(source),
            Self::Read(error) | Self::Build(BuildError::Input(error)) => match error.kind() {
                ReadErrorKind::Io(source) => is_unreadable(source),
                kind => matches!(
                    kind,
                    ReadErrorKind::NotHamdex
                        | ReadErrorKind::Truncated { .. }
                        | ReadErrorKind::Lost
                        | ReadErrorKind::Damaged { .. }
                        | ReadErrorKind::Width { .. }
                ),
            },
            _ => false,
        }
    }
}

/// Returns a copy of an error of the operating system.
pub(crate) fn clone_io_error(error: &io::Error) -> io::Error {
    match (error.raw_os_error(), Lost::of(error)) {
        (Some(number), _) => io::Error::from_raw_os_error(number),
        (None, Some(lost)) => lost.clone().into(),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Whether the disk cannot read some of its bytes.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    /// `EIO`, on all systems of this kind.
    const INPUT_OUTPUT: i32 = 5;
    cfg!(unix) && error.raw_os_error() == Some(INPUT_OUTPUT)
}

fn at(offset: Option<u64>) -> String {
    offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default()
}

/// The outcome of a lock, or of a wait under it.
pub(crate) trait Unpoisoned<T> {
    /// Returns the guard, also after a panic under the lock: no critical section can leave a partial change.
    fn unpoisoned(self) -> T;
}

impl<T> Unpoisoned<T> for Result<T, PoisonError<T>> {
    fn unpoisoned(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
