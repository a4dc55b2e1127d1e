//! Errors, one type for each family of operations.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hamdex_atomic_file::Error as OutputError;

use crate::category::Category;
use crate::design::DesignError;
use crate::progress::Stopped;
use hamdex_fingerprint::Fingerprint;

/// An error of opening, querying or verifying an index, with the path of the file.
///
/// An error of the operating system is the [source](std::error::Error::source), and not in the text.
#[derive(Debug)]
pub struct ReadError {
    path: Option<Box<Path>>,
    kind: ReadErrorKind,
}

/// The kinds of [`ReadError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system refused to read the file.
    #[error("cannot read it")]
    Io(#[source] io::Error),
    /// The file does not begin as a hamdex file does.
    #[error("not a hamdex file")]
    NotHamdex,
    /// The file was written by a later major version.
    #[error("format version {found} is too new: this reader knows {supported}; update hamdex")]
    TooNew {
        /// The file's major version.
        found: u16,
        /// The one that this reader knows.
        supported: u16,
    },
    /// The file was written by an earlier major version.
    #[error("format version {found} is too old: this reader knows {supported}; build the index again")]
    TooOld {
        /// The file's major version.
        found: u16,
        /// The one that this reader knows.
        supported: u16,
    },
    /// The file needs features that this reader lacks.
    #[error("needs features that this reader lacks (bits {bits:#x}); update hamdex")]
    UnknownFeatures {
        /// The unknown bits of the file's required features.
        bits: u64,
    },
    /// The file ends too early, or its end was never written.
    #[error(
        "truncated, or appended to: its {length} bytes do not end with a trailer; copy or build it again"
    )]
    Truncated {
        /// Its length, in bytes.
        length: u64,
    },
    /// The file was truncated, or its storage failed, after it was opened: see
    /// [`Mapping::survive_lost_pages`](crate::Mapping::survive_lost_pages).
    #[error(
        "was cut off, or cannot be read any more, since it was opened; replace a file by a rename (mv), never in place (cp)"
    )]
    Lost,
    /// Some bytes differ from the bytes written.
    #[error("damaged at {place}: {what}; restore it from a copy or build it again")]
    Damaged {
        /// The place of the damage.
        place: Place,
        /// The fault.
        what: String,
    },
    /// The index holds fingerprints of another width than expected.
    #[error("holds fingerprints of {found} bits, not {expected}")]
    Width {
        /// The file's width.
        found: u32,
        /// The width expected.
        expected: u32,
    },
    /// The system refuses to start a single thread.
    #[error("cannot start a thread")]
    Threads(#[source] io::Error),
    /// The index has no shingles, so its documents cannot be compared as texts.
    #[error(
        "keeps no shingles to search by, so its documents cannot be compared as texts; build it from documents"
    )]
    NoShingles,
    /// An earlier version wrote the file, with shingles by document rather than by shingle.
    #[error(
        "was written by an earlier version, which kept shingles in another form; build it again from the documents"
    )]
    OldShingles,
    /// A distance exceeds the width of the fingerprints.
    #[error("no two fingerprints of {width} bits are {distance} bits apart: at most {width}")]
    DistanceTooLarge {
        /// The distance.
        distance: u32,
        /// The width of the fingerprints, in bits.
        width: u32,
    },
    /// The work was cancelled.
    #[error("stopped by the caller")]
    Stopped,
    /// The system refuses the minimum of memory for the work.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The size of the allocation, in bytes.
        bytes: u64,
    },
}

impl ReadError {
    pub(crate) fn damaged(place: Place, what: impl fmt::Display) -> Self {
        ReadErrorKind::Damaged { place, what: what.to_string() }.into()
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> &ReadErrorKind {
        &self.kind
    }

    /// Returns whether the caller has stopped the work.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self.kind(), ReadErrorKind::Stopped)
    }

    /// Returns the kind, without the path.
    #[must_use]
    pub fn into_kind(self) -> ReadErrorKind {
        self.kind
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        match &self.kind {
            ReadErrorKind::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => Category::Memory,
            ReadErrorKind::Io(_) | ReadErrorKind::Threads(_) => Category::System,
            ReadErrorKind::OutOfMemory { .. } => Category::Memory,
            ReadErrorKind::Width { .. } | ReadErrorKind::NoShingles | ReadErrorKind::OldShingles => {
                Category::Input
            }
            ReadErrorKind::DistanceTooLarge { .. } => Category::Usage,
            ReadErrorKind::NotHamdex
            | ReadErrorKind::TooNew { .. }
            | ReadErrorKind::TooOld { .. }
            | ReadErrorKind::UnknownFeatures { .. } => Category::Format,
            ReadErrorKind::Truncated { .. } | ReadErrorKind::Lost | ReadErrorKind::Damaged { .. } => {
                Category::Damaged
            }
            ReadErrorKind::Stopped => Category::Stopped,
        }
    }

    /// Returns the file; `None` for an index that was opened from bytes.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the same error, of this file.
    pub(crate) fn of_file(self, path: Option<&Path>) -> Self {
        Self { path: path.map(Into::into), ..self }
    }
}

impl From<Stopped> for ReadError {
    fn from(_: Stopped) -> Self {
        ReadErrorKind::Stopped.into()
    }
}

impl From<ReadErrorKind> for ReadError {
    fn from(kind: ReadErrorKind) -> Self {
        Self { path: None, kind }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, &self.kind) {
            // It is about the question, not about a file.
            (_, kind @ ReadErrorKind::DistanceTooLarge { .. }) => kind.fmt(f),
            (None, kind @ (ReadErrorKind::NoShingles | ReadErrorKind::OldShingles)) => {
                write!(f, "the set {kind}")
            }
            (Some(path), kind) => write!(f, "{}: {kind}", path.display()),
            (None, kind) => write!(f, "index in memory: {kind}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // Its text is in ours.
        self.kind.source()
    }
}

/// Checks that a distance does not exceed the width of the fingerprints, as every query does: for programs that refuse
/// it before other work.
///
/// # Errors
/// [`ReadErrorKind::DistanceTooLarge`].
pub fn check_distance<F: Fingerprint>(distance: u32) -> Result<(), ReadError> {
    if distance <= F::BITS {
        return Ok(());
    }
    Err(ReadErrorKind::DistanceTooLarge { distance, width: F::BITS }.into())
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The first page.
    Header,
    /// The last bytes.
    Trailer,
    /// The footer.
    Footer,
    /// A block.
    Block {
        /// The table, 0-based.
        table: usize,
        /// The block in it.
        block: u64,
        /// Its offset in the file, in bytes.
        offset: u64,
    },
    /// A table as a whole.
    Table {
        /// The table, 0-based.
        table: usize,
    },
    /// The keys of a table.
    Keys {
        /// The table, 0-based.
        table: usize,
    },
    /// The filter of a table.
    Filter {
        /// The table, 0-based.
        table: usize,
    },
    /// A section of a kind that this version does not know.
    Section {
        /// The number of the kind.
        kind: u32,
    },
    /// The ids.
    Ids,
    /// The marks of which ids belong to which fingerprint.
    IdStarts,
    /// The directory of ids by block.
    IdDirectory,
    /// The directory of names.
    NameDirectory,
    /// The names of ids.
    Names,
    /// The directory of shingles.
    ShingleDirectory,
    /// The shingles of documents.
    Shingles,
    /// A block of pairs of shingle and document.
    ShingleBlock {
        /// The block.
        block: u64,
        /// Its offset in the file, in bytes.
        offset: u64,
    },
    /// The keys of these blocks.
    ShingleKeys,
    /// The look-up of fingerprints by id.
    IdLookup,
    /// The look-up of ids by name.
    NameLookup,
    /// The user's metadata.
    Metadata,
    /// Unused bytes between sections.
    Padding {
        /// The offset of the first one that is not zero.
        offset: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => write!(f, "the header"),
            Self::Trailer => write!(f, "the trailer"),
            Self::Footer => write!(f, "the footer"),
            Self::Block { table, block, offset } => write!(f, "table {table}, block {block} (byte {offset})"),
            Self::Table { table } => write!(f, "table {table}"),
            Self::Keys { table } => write!(f, "the keys of table {table}"),
            Self::Filter { table } => write!(f, "the filter of table {table}"),
            Self::Section { kind } => write!(f, "the section of kind {kind}"),
            Self::Ids => write!(f, "the ids"),
            Self::IdStarts => write!(f, "the id marks"),
            Self::IdDirectory => write!(f, "the id directory"),
            Self::NameDirectory => write!(f, "the name directory"),
            Self::Names => write!(f, "the names"),
            Self::ShingleDirectory => write!(f, "the shingle directory"),
            Self::Shingles => write!(f, "the shingles"),
            Self::ShingleBlock { block, offset } => write!(f, "the shingles, block {block} (byte {offset})"),
            Self::ShingleKeys => write!(f, "the keys of the shingles"),
            Self::IdLookup => write!(f, "the look-up of ids"),
            Self::NameLookup => write!(f, "the look-up of names"),
            Self::Metadata => write!(f, "the metadata"),
            Self::Padding { offset } => write!(f, "byte {offset}, between sections"),
        }
    }
}

/// A column of a file: data that every id has once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdColumn {
    /// A name.
    Names,
    /// The shingles of a document.
    Shingles,
}

impl fmt::Display for IdColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Names => "names",
            Self::Shingles => "shingles",
        })
    }
}

/// An error of a build. The output is untouched then, unless the error is
/// [`BuildError::is_in_place`]; temporary files are gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The operating system refused something.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The output exists already, is not a file, or cannot be created, written or synced.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The writer that the index goes to has failed.
    #[error("cannot write the index")]
    Write {
        /// Its error.
        source: io::Error,
    },
    /// The design is refused.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// An option is out of its range.
    #[error("{option} cannot be {given}: {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// The value given.
        given: String,
        /// The values allowed.
        expected: String,
    },
    /// A fingerprint came without an id, and the index has ids.
    #[error(
        "either every fingerprint has an id or none has: this index has ids: give one with each fingerprint"
    )]
    IdMissing,
    /// A fingerprint came with an id, and the index has none.
    #[error(
        "either every fingerprint has an id or none has: this index has no ids: they are an option of the build"
    )]
    IdUnexpected,
    /// Some of the indexes to merge have ids, and others have none.
    #[error(
        "either every fingerprint has an id or none has: some of the indexes to merge have ids, and others have none"
    )]
    IdsInSome,
    /// A name, or a set of shingles, was given to an index that has none.
    #[error("{column} of ids: this index has none: they are an option of the build")]
    ColumnUnexpected {
        /// The column that was given.
        column: IdColumn,
    },
    /// The names, or the sets of shingles, of ids are out of order.
    #[error("{column} of ids: that of id {id} comes after that of id {last}: ids must ascend")]
    ColumnUnsorted {
        /// The column that is out of order.
        column: IdColumn,
        /// The id.
        id: u64,
        /// The id before it.
        last: u64,
    },
    /// An id has no name, or no set of shingles, and the index has them.
    #[error("{column} of ids: id {id} has none: either every id of an index has {column} or none has")]
    ColumnMissing {
        /// The column that is missing.
        column: IdColumn,
        /// The id.
        id: u64,
    },
    /// Some of the indexes to merge have names, or shingles, and others have none.
    #[error("{column} of ids: some of the indexes to merge have them, and others have none")]
    ColumnInSome {
        /// The column that some of them have.
        column: IdColumn,
    },
    /// An id has different names in the indexes to merge.
    #[error(
        "names of ids: id {id} is {:?} in one index and {:?} in another",
        String::from_utf8_lossy(names[0].as_slice()),
        String::from_utf8_lossy(names[1].as_slice())
    )]
    NamesDiffer {
        /// The id.
        id: u64,
        /// Its names in two of the indexes.
        names: [Vec<u8>; 2],
    },
    /// An id has different shingles in the indexes to merge.
    #[error("shingles of ids: those of id {id} differ from one index to another")]
    ShinglesDiffer {
        /// The id.
        id: u64,
    },
    /// The shingles of a document are not a set of numbers of 48 bits.
    #[error("shingles of ids: those of id {id} do not ascend, or exceed {bits} bits", bits = crate::shingles::BITS)]
    InvalidShingles {
        /// The id.
        id: u64,
    },
    /// A name is too long.
    #[error("names of ids: that of id {id} has {bytes} bytes; a name has at most {max}", max = crate::names::MAX_NAME_BYTES)]
    NameTooLong {
        /// The id.
        id: u64,
        /// The length of its name.
        bytes: usize,
    },
    /// The renumbered ids of the indexes to merge exceed 64 bits.
    #[error("ids: renumbered, they exceed 64 bits")]
    IdsTooLarge,
    /// An index that is merged cannot be read.
    #[error(transparent)]
    Input(ReadError),
    /// Sorted input is out of order.
    #[error("not sorted: number {number}, counted from 0, is below the one before it")]
    Unsorted {
        /// The number of the first that is below the one before it.
        number: u64,
    },
    /// An input that is read several times was not the same each time.
    #[error("{what} has changed between two readings: it must return the same each time")]
    Changed {
        /// The input.
        what: &'static str,
    },
    /// The system refuses to start a single thread.
    #[error("cannot start a thread")]
    Threads {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The build was cancelled.
    #[error("the build was stopped by the caller; there is no output")]
    Stopped,
    /// The system refuses memory.
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// Number of bytes that were refused.
        bytes: u64,
    },
}

impl From<Stopped> for BuildError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl From<ReadError> for BuildError {
    /// An input whose reading is stopped is not one that cannot be read.
    fn from(error: ReadError) -> Self {
        if error.is_stop() { Self::Stopped } else { Self::Input(error) }
    }
}

impl BuildError {
    /// Returns the kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Output(error) => error.into(),
            Self::Input(error) => error.category(),
            Self::Design(_) | Self::Option { .. } => Category::Usage,
            Self::IdMissing
            | Self::IdUnexpected
            | Self::IdsInSome
            | Self::IdsTooLarge
            | Self::ColumnUnexpected { .. }
            | Self::ColumnUnsorted { .. }
            | Self::ColumnMissing { .. }
            | Self::ColumnInSome { .. }
            | Self::NamesDiffer { .. }
            | Self::NameTooLong { .. }
            | Self::ShinglesDiffer { .. }
            | Self::InvalidShingles { .. }
            | Self::Unsorted { .. }
            | Self::Changed { .. } => Category::Input,
            Self::OutOfMemory { .. } => Category::Memory,
            Self::Io { .. } | Self::Write { .. } | Self::Threads { .. } => Category::System,
            Self::Stopped => Category::Stopped,
        }
    }

    /// Returns whether the file is complete and in place in spite of the error: only its directory could not be
    /// synced, so a crash of the system might still lose it.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        matches!(self, Self::Output(error) if error.is_in_place())
    }
}

/// An error of a [`FingerprintSet`](crate::FingerprintSet): that of an index, a store or a set of shards,
/// unchanged.
#[derive(Debug)]
pub struct SetError {
    category: Category,
    error: Box<dyn std::error::Error + Send + Sync>,
}

impl SetError {
    /// Wraps an error of this category.
    pub fn new(category: Category, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { category, error: Box::new(error) }
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        self.category
    }

    /// Returns the error of type `E`, if it is one.
    ///
    /// # Errors
    /// The error as it was, if it is of another type.
    pub fn downcast<E: std::error::Error + 'static>(self) -> Result<E, Self> {
        match self.error.downcast() {
            Ok(error) => Ok(*error),
            Err(error) => Err(Self { error, ..self }),
        }
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for SetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl From<ReadError> for SetError {
    fn from(error: ReadError) -> Self {
        Self::new(error.category(), error)
    }
}

impl From<Stopped> for SetError {
    fn from(stopped: Stopped) -> Self {
        ReadError::from(stopped).into()
    }
}

impl From<BuildError> for SetError {
    fn from(error: BuildError) -> Self {
        Self::new(error.category(), error)
    }
}
