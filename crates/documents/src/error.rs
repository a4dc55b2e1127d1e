//! What can go wrong, apart from single documents.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::{BuildError, DesignError, ReadError};

use crate::format::Format;
use crate::problem::{Field, Place, Problem};

/// Why documents cannot be read, searched or written. The cause, where there is one, is the error's source
/// and not part of its text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input cannot be opened, or not be read to its end.
    #[error("{input}: cannot read it")]
    Read {
        /// The input, as messages name it.
        input: String,
        /// What the operating system or the decompressor said.
        source: io::Error,
    },
    /// An input is not of the format that it should have.
    #[error("{input}: not {}", format.with_article())]
    NotFormat {
        /// The input, as messages name it.
        input: String,
        /// The format expected.
        format: Format,
        /// What its decoder said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A table ends early or is damaged.
    #[error("{place}: cannot read the rows from here on")]
    Damaged {
        /// The first row that cannot be read.
        place: Place,
        /// What the decoder said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A table has no column of this name.
    #[error("{place}: no column is named {column:?}; there are: {}", columns.join(", "))]
    MissingColumn {
        /// The input, or its first record.
        place: Place,
        /// For documents: what the column was to hold.
        field: Option<Field>,
        /// The name wanted.
        column: String,
        /// The names of the columns there are.
        columns: Vec<String>,
    },
    /// A column holds neither texts nor whole numbers.
    #[error("{input}: a column of texts or whole numbers is needed; {column:?} holds {found}")]
    ColumnType {
        /// The input, as messages name it.
        input: String,
        /// The column.
        column: String,
        /// The type of its values.
        found: String,
    },
    /// The file's format has no columns.
    #[error("{input}: {format} has no named columns")]
    NotATable {
        /// The input, as messages name it.
        input: String,
        /// Its format.
        format: Format,
    },
    /// A document is wrong, and reading was to end at the first one ([`Documents::strict`]).
    ///
    /// [`Documents::strict`]: crate::Documents::strict
    #[error("{place}: {problem}")]
    Document {
        /// Where it is.
        place: Place,
        /// What is wrong.
        problem: Problem,
    },
    /// Files of a directory can be read as texts or HTML pages only.
    #[error("{}: is a directory; its files are read as text or HTML, not as {format}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The format that was set.
        format: Format,
    },
    /// The crate was built without its feature `parquet`.
    #[error("{input}: this build of hamdex was made without Parquet and Arrow (cargo feature parquet)")]
    WithoutParquet {
        /// The file, as messages name it.
        input: String,
    },
    /// The name of a table to be written does not say its format.
    #[error("{}: the name must end in .jsonl, .csv or .parquet", path.display())]
    UnknownEnding {
        /// The file to be written.
        path: PathBuf,
    },
    /// A temporary file cannot be made, written or read.
    #[error("{}: cannot {doing}", directory.display())]
    Temporary {
        /// What was attempted.
        doing: &'static str,
        /// The directory of temporary files.
        directory: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread {
        /// What the operating system said.
        source: io::Error,
    },
    /// An option that cannot be.
    #[error("{option}: {what}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Documents are numbered in 32 bits.
    #[error("more than 4,294,967,295 documents: take them in parts")]
    TooManyDocuments,
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] hamdex_atomic_file::Error),
    /// The index of a search cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No design of an index serves the distance.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// An index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
    /// An index names its documents in a file beside it, and that file is not there.
    #[error("{}: cannot open the names of the documents", path.display())]
    NamesMissing {
        /// The file of names.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file of names is damaged or belongs to another index.
    #[error("{}: {what}", path.display())]
    Names {
        /// The file of names.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The caller's receiver of documents has stopped the reading.
    #[error("reading was stopped by its receiver")]
    Stopped,
}

impl Error {
    /// Returns what turns an I/O error of temporary files into an error about their directory.
    pub(crate) fn temporary(doing: &'static str, directory: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let directory = directory.to_owned();
        move |source| Self::Temporary { doing, directory, source }
    }
}
