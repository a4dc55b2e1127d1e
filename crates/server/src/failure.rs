//! The error type of starting and ending the service.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::{Category, SetError};

/// The reason why the service does not start, or does not end in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Options that contradict each other or are out of range.
    #[error("{0}")]
    Usage(String),
    /// A file with unexpected contents.
    #[error("{}: {what}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The fault, and the remedy.
        what: String,
    },
    /// The operating system refused something.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// None of the sets can be opened.
    #[error("{what}")]
    Unavailable {
        /// The reason of the first.
        what: String,
        /// Its kind.
        category: Category,
    },
    /// A set cannot be opened.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A store cannot be opened or closed.
    #[error(transparent)]
    Store(#[from] hamdex_store::Error),
}

impl Failure {
    /// Returns a function that wraps an I/O error with a file.
    pub(crate) fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.as_ref().to_owned(), source }
    }

    /// Returns the error of contents of a file.
    pub(crate) fn input(path: &Path, what: impl Into<String>) -> Self {
        Self::Input { path: path.to_owned(), what: what.into() }
    }

    /// The kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Usage(_) => Category::Usage,
            Self::Input { .. } => Category::Input,
            Self::Io { .. } | Self::Listen { .. } => Category::System,
            Self::Unavailable { category, .. } => *category,
            Self::Set(error) => error.category(),
            Self::Store(error) => error.category(),
        }
    }
}
