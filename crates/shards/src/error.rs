//! Errors of sets of shards.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::{BuildError, Category, OutputError, ReadError, SetError};

/// The end of the messages about a path that is not replaced.
const ONLY_SETS: &str = "only a set of shards is replaced; name another directory, or remove this one";

/// An error of opening, querying, building or extending a set of shards.
///
/// An error of the operating system is the [source](std::error::Error::source) and not part of the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation of the operating system failed.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no such directory, or it has no manifest of a set.
    #[error("{}: not a set of shards: {}", path.display(), if source.is_some() { "nothing is there" } else { "it has no manifest of one" })]
    NotShards {
        /// The directory.
        path: PathBuf,
        /// [`io::ErrorKind::NotFound`], if there is no such directory.
        source: Option<io::Error>,
    },
    /// The manifest has a later format version.
    #[error("{}: format version {found} is too new: this program knows {supported}; update hamdex", path.display())]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The supported version.
        supported: u64,
    },
    /// The manifest is damaged, or a shard is not the file listed in it.
    #[error("{}: damaged: {what}; restore it from a copy, or build the set again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        what: String,
    },
    /// A shard is missing.
    #[error("{}: is missing; restore it from a copy, or build the set again", path.display())]
    Missing {
        /// The shard.
        path: PathBuf,
    },
    /// The set has fingerprints of another width.
    #[error("{}: holds fingerprints of {found} bits, not {expected}", path.display())]
    Width {
        /// The directory.
        path: PathBuf,
        /// Its width.
        found: u32,
        /// The expected width.
        expected: u32,
    },
    /// A file cannot be added to a set of families.
    #[error("{}: is split into families, and takes no files as they are: build it again from all fingerprints, or keep the files in a set of layout hash", path.display())]
    Families {
        /// The directory of the set.
        path: PathBuf,
    },
    /// A file to be added differs from those of the set.
    #[error("{}: has {found}, and the set {expected}: build all files in the same way", path.display())]
    Unlike {
        /// The file.
        path: PathBuf,
        /// The property of the file.
        found: String,
        /// The property of the set.
        expected: String,
    },
    /// A file to be added is in the set already.
    #[error("{}: is in the set already, as {file}", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The shard with the same file.
        file: String,
    },
    /// Another process adds to the set.
    #[error("{}: another process adds to the set; wait for its end", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The path to be replaced is not a set of shards, or has more in it than its manifest lists.
    #[error("{}: {what}: {ONLY_SETS}", path.display())]
    NotReplaced {
        /// The path.
        path: PathBuf,
        /// A description of what lies there.
        what: String,
    },
    /// A record without an id or name that the options ask for, or with another.
    #[error(
        "either every fingerprint has an id or none has: each fingerprint comes with what the options say: nothing, an id, or an id with a name, shingles or both"
    )]
    UnexpectedRecord,
    /// A name is too long.
    #[error("names of ids: the name of id {id} has more than 4 GiB")]
    NameTooLong {
        /// The id.
        id: u64,
    },
    /// An option is out of its range.
    #[error("{option} cannot be {given}: {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// The given value.
        given: u64,
        /// The possible values.
        expected: String,
    },
    /// More files would be open than the system permits.
    #[error(
        "{wanted} shards need as many open files, and {possible} are permitted: take fewer shards, or raise the limit (`ulimit -n`)"
    )]
    OpenFiles {
        /// Number of shards to be built.
        wanted: u64,
        /// Number of shards that can be built.
        possible: u64,
    },
    /// A shard is damaged, or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A shard cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The directory or the manifest cannot be written, or exists already.
    #[error(transparent)]
    Output(#[from] OutputError),
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
    /// Returns the category of the error.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            // No directory at all: a mistyped path, which a backup does not mend.
            Self::Io { .. } | Self::OpenFiles { .. } | Self::NotShards { source: Some(_), .. } => {
                Category::System
            }
            Self::NotShards { .. } | Self::Newer { .. } => Category::Format,
            Self::Damaged { .. } | Self::Missing { .. } => Category::Damaged,
            Self::Width { .. }
            | Self::Families { .. }
            | Self::Unlike { .. }
            | Self::Twice { .. }
            | Self::UnexpectedRecord
            | Self::NameTooLong { .. } => Category::Input,
            Self::NotReplaced { .. } => Category::Exists,
            Self::InUse { .. } => Category::Unavailable,
            Self::Option { .. } => Category::Usage,
            Self::Read(error) => error.category(),
            Self::Build(error) => error.category(),
            Self::Output(error) => error.into(),
        }
    }

    /// Returns a function that adds the operation and the path to an I/O error.
    pub(crate) fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.as_ref().to_owned(), source }
    }

    /// Creates an error about a damaged file.
    pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), what: what.into() }
    }
}
