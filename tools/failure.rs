//! Why a command ends early, in one line, and with which exit code.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hamdex::{BuildError, DesignError, ReadError};

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An input has something else than was expected.
    #[error("{input}{place}: {what}")]
    Input {
        /// The file, or that it was standard input.
        input: String,
        /// Where in it, as `:line` or ` (byte …)`; empty for the whole.
        place: String,
        what: String,
    },
    #[error("{}: {source}", path.display())]
    Index { path: PathBuf, source: ReadError },
    /// The names beside an index.
    #[error("{}: {what}", path.display())]
    Names { path: PathBuf, what: String },
    #[error("{0}")]
    Build(#[from] BuildError),
    #[error("{0}")]
    Design(#[from] DesignError),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// Arguments that contradict each other or the file.
    #[error("{0}")]
    Usage(String),
    /// What the data itself rules out, or a check of the demo that fails.
    #[error("{0}")]
    Wrong(String),
}

impl Failure {
    /// Says of a [`ReadError`] which file it is about.
    pub(crate) fn index(path: &Path) -> impl FnOnce(ReadError) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Index { path, source }
    }

    /// Whether whoever reads our output has gone, as `head` does: no failure of ours.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Index { source: ReadError::Io(_) | ReadError::Width { .. }, .. } => 1,
            Self::Index { .. } | Self::Names { .. } => 3,
            Self::Usage(_)
            | Self::Design(_)
            | Self::Build(BuildError::Design(_) | BuildError::Option { .. }) => 2,
            _ => 1,
        })
    }
}
