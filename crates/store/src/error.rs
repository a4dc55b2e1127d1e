//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::{BuildError, Category, DesignError, ReadError, ReadErrorKind, SetError};

/// Why a store cannot be opened, read or written.
///
/// An error of the operating system is the [source](std::error::Error::source), and not in the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The directory has no manifest, or a file of that name that is none.
    #[error("{}: not a store: it has no manifest of one", path.display())]
    NotAStore {
        /// The directory.
        path: PathBuf,
    },
    /// There is something where a store is to be created.
    #[error("{}: exists already, and is not an empty directory; name another one", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The file was written by a later version of the format.
    #[error("{}: format version {found} is too new: this program knows {supported}; update hamdex", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The version that this program knows.
        supported: u64,
    },
    /// Some bytes are not those that were written, or a file is missing.
    #[error("{}: damaged{}: {what}; restore the store from a backup, or save what can be had with a repair", path.display(), at(*offset))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file, in bytes from its start, where that is known.
        offset: Option<u64>,
        /// What does not fit.
        what: String,
    },
    /// A file that counts is not there.
    #[error("{}: is missing; restore the store from a backup, or save what can be had with a repair", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Another process, or another handle in this one, writes to the store.
    #[error("{}: in use by {holder}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who holds the store, as far as is known.
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
    /// An earlier write or sync failed, so it is not known what the disk has.
    #[error("{}: an earlier write failed, so it is not known what the disk has; nothing more is written until the store is opened again", path.display())]
    Poisoned {
        /// The file whose write failed.
        path: PathBuf,
        /// What the operating system said then.
        source: io::Error,
    },
    /// The store has been closed, by another handle perhaps.
    #[error("{}: has been closed; open it again", path.display())]
    Closed {
        /// The directory.
        path: PathBuf,
    },
    /// The deadline of a write has passed before it began. Nothing has been written.
    #[error("{}: the deadline of a write has passed; nothing has been written", path.display())]
    TimedOut {
        /// The directory.
        path: PathBuf,
    },
    /// As many writes wait as may wait. This one has not been taken.
    #[error("{}: {waiting} writes wait already; submit this one again when some of them are done", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
        /// How many writes wait.
        waiting: usize,
    },
    /// A store was to be copied into itself.
    #[error("{}: is within the store that is to be copied; name a directory outside it", path.display())]
    BackupInside {
        /// The directory of the copy.
        path: PathBuf,
    },
    /// Memory is full, and cannot be written to a file.
    #[error("{}: memory is full, and cannot be written to a file; nothing is lost, and writing goes on as soon as that has been mended", path.display())]
    Full {
        /// The directory.
        path: PathBuf,
        /// Why it cannot.
        source: Arc<Self>,
    },
    /// There are more operations in a batch than a log takes at once.
    #[error("a batch of {count} operations is too large; write at most {max} at once")]
    BatchTooLarge {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// There are no fingerprints of this width.
    #[error("a width of {width} bits: fingerprints have 64 or 128")]
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
    /// A pair without a name in a store with names, or the other way round.
    #[error("{}: {}", path.display(), if *has_names { "this store has names: it gives the ids, and everything is inserted with its name" } else { "this store has no names" })]
    Names {
        /// The directory.
        path: PathBuf,
        /// Whether the store has names.
        has_names: bool,
    },
    /// A store with names has given all ids that there are.
    #[error("{}: no ids are left", path.display())]
    NoIdsLeft {
        /// The directory.
        path: PathBuf,
    },
    /// A file to be taken in has ids where the store has none, or the other way round.
    #[error("{}: {}", path.display(), if *has_ids { "has ids, and the store has none" } else { "has no ids, and the store has" })]
    IngestIds {
        /// The file.
        path: PathBuf,
        /// Whether it has ids.
        has_ids: bool,
    },
    /// A file to be taken in has names where the store has none, or the other way round.
    #[error("{}: {}", path.display(), if *has_names { "has names, and the store has none; create a store with names for it" } else { "has no names, and the store has; insert what it holds, with names" })]
    IngestNames {
        /// The file.
        path: PathBuf,
        /// Whether it has names.
        has_names: bool,
    },
    /// Another writer of the same group met an error, which says more.
    #[error("{what}")]
    OfGroup {
        /// The error and its causes.
        what: String,
    },
    /// A file of the store is damaged, or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file of the store cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is no such design.
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
            Self::Io { .. } => Category::System,
            Self::NotAStore { .. } | Self::Newer { .. } => Category::Format,
            Self::Exists { .. } => Category::Exists,
            Self::Damaged { .. } | Self::Missing { .. } => Category::Damaged,
            Self::InUse { .. }
            | Self::Forked { .. }
            | Self::Poisoned { .. }
            | Self::Closed { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Full { .. }
            | Self::NoIdsLeft { .. }
            | Self::OfGroup { .. } => Category::Unavailable,
            Self::BatchTooLarge { .. } | Self::BackupInside { .. } | Self::Design(_) => Category::Usage,
            Self::NoWidth { .. }
            | Self::NoIds { .. }
            | Self::Names { .. }
            | Self::IngestIds { .. }
            | Self::IngestNames { .. }
            | Self::Width { .. } => Category::Input,
            Self::Read(error) => error.category(),
            Self::Build(error) => error.category(),
        }
    }

    /// Returns what turns an I/O error into one about this file.
    pub(crate) fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.as_ref().to_owned(), source }
    }

    /// Damage at a place of a file.
    pub(crate) fn damaged(
        path: impl Into<PathBuf>,
        offset: impl Into<Option<u64>>,
        what: impl Into<String>,
    ) -> Self {
        Self::Damaged { path: path.into(), offset: offset.into(), what: what.into() }
    }

    /// The error and its causes, on one line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        text
    }

    /// The same for one more of those who met it together.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Io { doing, path, source } => Self::Io { doing, path: path.clone(), source: again(source) },
            Self::Poisoned { path, source } => Self::Poisoned { path: path.clone(), source: again(source) },
            Self::Full { path, source } => Self::Full { path: path.clone(), source: Arc::clone(source) },
            Self::Closed { path } => Self::Closed { path: path.clone() },
            other => Self::OfGroup { what: other.chain() },
        }
    }

    /// Whether bytes are lost, as a repair understands it: they are not those that were written, are gone, or are where
    /// the disk cannot read any more. Whatever else the system refuses says nothing of them, nor does a later version.
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
                        | ReadErrorKind::Damaged { .. }
                        | ReadErrorKind::Width { .. }
                ),
            },
            _ => false,
        }
    }

    /// Whether a file was not there. To a reading process that means: read the manifest again.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        match self {
            Self::Missing { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// The same error of the operating system, for one more who is to know of it.
pub(crate) fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Whether the disk cannot read what it holds.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    /// `EIO`, on all systems of this kind.
    const INPUT_OUTPUT: i32 = 5;
    cfg!(unix) && error.raw_os_error() == Some(INPUT_OUTPUT)
}

fn at(offset: Option<u64>) -> String {
    offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default()
}
