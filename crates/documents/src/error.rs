//! Errors, apart from problems with single documents.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::{BuildError, Category, DesignError, ReadError, SetError};

use crate::format::Format;
use crate::problem::{Field, Place, Problem, SomeNames};

/// An error of reading, searching or writing documents. Its cause, if there is one, is its source and not part
/// of its text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input cannot be opened or read to its end.
    #[error("{input}: cannot read it")]
    Read {
        /// The name of the input.
        input: String,
        /// The error of the operating system or the decompressor.
        source: io::Error,
    },
    /// An archive or a table is damaged, or does not have the expected format.
    #[error("{place}: {what}")]
    Damaged {
        /// The file, or the first row that cannot be read.
        place: Place,
        /// The part that cannot be read.
        what: &'static str,
        /// The error of the decoder.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A table has no column of this name.
    #[error("{place}: no column is named {column:?}; there are: {}", columns.join(", "))]
    MissingColumn {
        /// The input, or its first record.
        place: Place,
        /// For documents: the part of a document that the column holds.
        field: Option<Field>,
        /// The requested name.
        column: String,
        /// The names of the existing columns.
        columns: Vec<String>,
    },
    /// The type of a column is not supported.
    #[error("{input}: the column {column:?} has the type {found}; expected {expected}")]
    ColumnType {
        /// The name of the input.
        input: String,
        /// The column.
        column: String,
        /// The types that are read.
        expected: &'static str,
        /// The type of its values.
        found: String,
    },
    /// The file's format has no columns.
    #[error("{input}: {format} has no named columns")]
    NotATable {
        /// The name of the input.
        input: String,
        /// Its format.
        format: Format,
    },
    /// A problem with a document, which ends strict reading ([`Documents::strict`]).
    ///
    /// [`Documents::strict`]: crate::Documents::strict
    #[error("{place}: {problem}")]
    Document {
        /// Its place.
        place: Place,
        /// The problem.
        problem: Problem,
    },
    /// Files of directories and archives that should hold documents cannot be read whole
    /// ([`Documents::skip_unreadable`](crate::Documents::skip_unreadable)). All others were read.
    #[error("{names} cannot be read whole")]
    Unread {
        /// The names of the files.
        names: SomeNames,
    },
    /// An input cannot be copied as it is asked for.
    #[error("{input}: {what}")]
    Copy {
        /// The name of the input.
        input: String,
        /// The kind of the obstacle.
        kind: CopyErrorKind,
        /// The obstacle.
        what: String,
    },
    /// Inputs changed between the two passes over them.
    #[error("the inputs changed while they were read; nothing is written")]
    Changed,
    /// The crate was built without its feature `parquet`.
    #[error("{input}: this build of hamdex does not support Parquet and Arrow (cargo feature parquet)")]
    WithoutParquet {
        /// The name of the file.
        input: String,
    },
    /// The name of an output table has no known ending.
    #[error(
        "{}: the name must end in .jsonl, .csv, .tsv (also with .zst or .gz), .parquet or .arrow",
        path.display()
    )]
    UnknownEnding {
        /// The output file.
        path: PathBuf,
    },
    /// A temporary file cannot be created, written or read.
    #[error("{}: cannot {doing}", directory.display())]
    Temporary {
        /// The operation that failed.
        doing: &'static str,
        /// The directory of temporary files.
        directory: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread {
        /// The error of the operating system.
        source: io::Error,
    },
    /// An option has an invalid value.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// Why its value is invalid.
        reason: String,
    },
    /// The set keeps fingerprints alone, and texts are to be compared.
    #[error("it keeps no shingles of its documents, so texts cannot be compared with them")]
    NoShingles,
    /// The set keeps other shingles than texts are cut into.
    #[error("its shingles are made in another way: {stored:?} instead of {wanted:?}")]
    OtherShingles {
        /// How they are made.
        stored: String,
        /// How the new ones are made.
        wanted: String,
    },
    /// No document has a value in the field that says which one is kept
    /// ([`Preference::Greatest`](crate::Preference::Greatest)).
    #[error("no document has the field that says which one is kept")]
    NoValues,
    /// There are more documents than 32-bit numbers.
    #[error("more than 4,294,967,295 documents; process them in parts")]
    TooManyDocuments,
    /// The memory limit is too small for the data that every document needs in memory.
    #[error(
        "{documents} documents cannot be compared in {} MiB of memory: it takes {} MiB",
        allowed >> 20,
        bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The number of documents.
        documents: u64,
        /// The smallest sufficient memory limit, in bytes.
        bytes: u64,
        /// The memory limit, in bytes.
        allowed: u64,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] hamdex_atomic_file::Error),
    /// The index for a search cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No design supports the distance.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// An index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
    /// The known fingerprints of [`Dedup::against`](crate::Dedup::against) cannot be read.
    #[error("{source}")]
    Reference {
        /// The error of the reference.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The inputs of known documents hold no document that can be used.
    #[error(
        "no known document was found, and {skipped} skipped: name files or folders of documents, an index, a store or a set of shards"
    )]
    NoKnownDocument {
        /// The number of documents and files that were skipped.
        skipped: u64,
    },
    /// The caller stopped the work.
    #[error("stopped by the caller")]
    Stopped,
}

/// Why an input cannot be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyErrorKind {
    /// The rows of two inputs do not fit into one table: the columns of one have no names.
    OtherColumns,
    /// The output has no room for the columns of an input, which have no names
    /// ([`Documents::drop_columns`](crate::Documents::drop_columns)).
    LostColumns,
    /// A value does not fit into the type that its column has in a copy of all inputs: a time out of the range of a finer
    /// unit, an integer that is not a fraction of 64 bits.
    Value,
    /// The values of a column would be text in the output, and none is known for their type.
    NoText,
    /// The inputs have too many different columns for one table.
    ManyColumns,
    /// An input cannot be copied to a file of its own format
    /// ([`Documents::copyable_as_files`](crate::Documents::copyable_as_files)), or would have the name of another one.
    NoFile,
    /// Columns with types cannot be copied to a stream of text.
    NoStream,
}

impl Error {
    /// Returns the category of the error.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Read { .. } | Self::Temporary { .. } | Self::Thread { .. } => Category::System,
            Self::Memory { .. } => Category::Memory,
            Self::Design(_) | Self::Option { .. } | Self::UnknownEnding { .. } => Category::Usage,
            Self::Output(error) => error.into(),
            Self::Build(error) => error.category(),
            Self::Index(error) => error.category(),
            Self::Reference { source } => {
                source.downcast_ref::<SetError>().map_or(Category::Input, SetError::category)
            }
            Self::Stopped => Category::Stopped,
            _ => Category::Input,
        }
    }

    /// Creates the error of an input that cannot be copied.
    pub(crate) fn copy(kind: CopyErrorKind, input: &str, what: impl Into<String>) -> Self {
        Self::Copy { input: input.to_owned(), kind, what: what.into() }
    }

    /// Creates the error of an option.
    pub(crate) fn option(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Option { option, reason: reason.into() }
    }

    /// Creates the error of an input that cannot be copied to a file of its own.
    pub(crate) fn no_file_form(input: &str, what: &str) -> Self {
        let what = format!(
            "{what} cannot be written file by file, as JSON, CSV, TSV, Parquet, Arrow and texts can; one file can take \
             its documents"
        );
        Self::copy(CopyErrorKind::NoFile, input, what)
    }

    /// Returns a function that adds the directory to an I/O error of a temporary file.
    pub(crate) fn temporary(doing: &'static str, directory: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let directory = directory.to_owned();
        move |source| Self::Temporary { doing, directory, source }
    }
}
