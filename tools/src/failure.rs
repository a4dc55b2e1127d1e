//! The error type of the command: one line and an exit code.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use hamdex::{BuildError, Category, DesignError, OutputError, ReadError, ReadErrorKind, SetError, chain};
use hamdex_atomic_file::STANDARD_OUTPUT;

use crate::documents::notices::of_error;

/// The reason why a command fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An input with unexpected contents.
    #[error("{input}{place}: {what}")]
    Input {
        /// The file, or standard input.
        input: String,
        /// The place in it, as `:line` or ` (byte …)`; empty for the whole.
        place: String,
        what: String,
    },
    #[error(transparent)]
    Index(#[from] ReadError),
    /// A damaged block that is shown nevertheless.
    #[error("{}: block {block} of {table} is damaged; restore the file from a copy or build it again", path.display())]
    Block { path: PathBuf, table: String, block: u64 },
    /// A set of another kind than those below.
    #[error(transparent)]
    Set(SetError),
    /// Documents, their names, or tables of results.
    #[error(transparent)]
    Documents(#[from] hamdex_documents::Error),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Store(#[from] hamdex_store::Error),
    #[error(transparent)]
    Shards(#[from] hamdex_shards::Error),
    /// The network service.
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] hamdex_server::Failure),
    /// A failure after a part of the work was done, and stays.
    #[error("{failure}")]
    Partly { failure: Box<Failure>, done: String },
    /// An output file.
    #[error(transparent)]
    File(#[from] OutputError),
    /// A failure after the output is complete and in place.
    #[error("{}: is complete and in place, but something failed after that", path.display())]
    InPlace { path: PathBuf, source: Box<Failure> },
    #[error(transparent)]
    Design(#[from] DesignError),
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
    #[error("{}: cannot {doing}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// The system refuses the one thread that is needed.
    #[error("cannot start a thread")]
    Thread(#[source] Box<dyn Error + Send + Sync>),
    /// Arguments that contradict each other or the file.
    #[error("{0}")]
    Usage(String),
    /// A store was repaired, with records lost or back.
    #[error("{0}")]
    Incomplete(String),
    /// Data that rules out the operation, or a failed check of the demo.
    #[error("{0}")]
    Wrong(String),
}

impl Failure {
    /// Returns the failure, its causes and the remedy, on one line.
    pub(crate) fn line(&self) -> String {
        let mut line = match self {
            Self::Partly { failure, done } => format!("{}; {done}", failure.line()),
            Self::Documents(error) => of_error(error),
            other => chain(other),
        };
        line.push_str(self.hint());
        line.replace(['\n', '\r'], " ")
    }

    /// Returns the remedy that the command offers: libraries know no options.
    fn hint(&self) -> &'static str {
        use hamdex_documents::Error::{Build, Index, Memory, Thread};
        use hamdex_shards::Error::Read;
        match self {
            Self::Index(error) | Self::Documents(Index(error)) | Self::Shards(Read(error))
                if is_no_index(error) =>
            {
                ": build one with `hamdex build`"
            }
            Self::Build(BuildError::OutOfMemory { .. })
            | Self::Documents(Build(BuildError::OutOfMemory { .. }))
            | Self::Shards(hamdex_shards::Error::Build(BuildError::OutOfMemory { .. })) => {
                "; a lower --memory sorts more on disk"
            }
            Self::Documents(Memory { .. }) => " (--memory)",
            Self::Thread(_)
            | Self::Build(BuildError::Threads { .. })
            | Self::Documents(Build(BuildError::Threads { .. }) | Thread { .. }) => MORE_THREADS,
            Self::Index(error) | Self::Documents(Index(error)) | Self::Shards(Read(error))
                if matches!(error.kind(), ReadErrorKind::Threads(_)) =>
            {
                MORE_THREADS
            }
            Self::Store(error) => of_store(error),
            Self::Index(error) if is_of_segment(error) => REPAIR,
            _ if matches!(self.about_output(), Some(OutputError::Exists { .. })) => "; --force replaces it",
            _ => "",
        }
    }

    /// Returns the error of an output, whatever its source.
    pub(crate) fn about_output(&self) -> Option<&OutputError> {
        match self {
            Self::File(error)
            | Self::Build(BuildError::Output(error))
            | Self::Documents(hamdex_documents::Error::Output(error))
            | Self::Shards(
                hamdex_shards::Error::Output(error) | hamdex_shards::Error::Build(BuildError::Output(error)),
            ) => Some(error),
            _ => None,
        }
    }

    /// Adds the option that reads documents, to the failure of a line that is no fingerprint.
    pub(crate) fn or_documents(self) -> Self {
        match self {
            Self::Input { input, place, what } if what.starts_with("expected ") => {
                let what = format!("{what}; --documents reads documents");
                Self::Input { input, place, what }
            }
            other => other,
        }
    }

    /// Returns an error about arguments that do not fit what the path names.
    pub(crate) fn usage_of(path: &Path, what: impl Display) -> Self {
        Self::Usage(format!("{}: {what}", path.display()))
    }

    /// Marks the failure as one after the output is complete and in place.
    pub(crate) fn in_place(self, path: &Path) -> Self {
        Self::InPlace { path: path.to_owned(), source: Box::new(self) }
    }

    /// Marks the failure as one after a part of the work.
    pub(crate) fn after(self, done: String) -> Self {
        Self::Partly { failure: Box::new(self), done }
    }

    /// Whether the reader of our output has closed it, as `head` does: not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        if let Self::InPlace { source, .. } = self {
            return source.is_closed_pipe();
        }
        let error = match (self, self.about_output()) {
            (Self::Output(error), _) => error,
            (_, Some(OutputError::Io { path, source, .. })) if path == Path::new(STANDARD_OUTPUT) => source,
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::InPlace { .. } => 4,
            Self::Partly { failure, .. } => failure.exit_code(),
            Self::Index(error) => of_category(error.category()),
            Self::Block { .. } | Self::Incomplete(_) => 3,
            Self::Store(error) => of_category(error.category()),
            Self::Shards(error) => of_category(error.category()),
            Self::Build(error) => of_category(error.category()),
            Self::Documents(error) => of_category(error.category()),
            Self::File(error) => of_category(error.into()),
            Self::Set(error) => of_category(error.category()),
            #[cfg(feature = "serve")]
            Self::Serve(error) => of_category(error.category()),
            Self::Usage(_) | Self::Design(_) => 2,
            _ => 1,
        }
    }
}

/// Returns the exit code of a failure.
fn of_category(category: Category) -> u8 {
    match category {
        Category::Usage => 2,
        Category::Format | Category::Damaged => 3,
        Category::NotDurable => 4,
        _ => 1,
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        let error = error.downcast().map(Self::Index);
        let error = error.or_else(|error| error.downcast().map(Self::Store));
        let error = error.or_else(|error| error.downcast().map(Self::Shards));
        error.or_else(|error| error.downcast().map(Self::Build)).unwrap_or_else(Self::Set)
    }
}

fn is_no_index(error: &ReadError) -> bool {
    matches!(error.kind(), ReadErrorKind::NotHamdex)
}

/// The remedy if the system starts no thread.
const MORE_THREADS: &str = "; more processes or memory may be allowed by `ulimit -u` and `ulimit -v`";

/// The remedy for a damaged file of a store.
const REPAIR: &str = "; restore the store from a backup, or salvage it with `hamdex store repair`";

/// Returns the remedy if a store cannot be used.
fn of_store(error: &hamdex_store::Error) -> &'static str {
    use hamdex_store::Error;
    match error {
        Error::NotAStore { .. } => "; make one with `hamdex store create`",
        Error::Damaged { .. } | Error::Missing { .. } => " (`hamdex store repair`)",
        Error::Read(error) if is_of_segment(error) => REPAIR,
        Error::BatchTooLarge { .. } => " (--batch)",
        // Merges have no option of memory: they take what the machine has.
        Error::Build(BuildError::OutOfMemory { .. }) => {
            "; nothing is lost: end other programs, or allow this one more (ulimit -v)"
        }
        _ => "",
    }
}

/// Whether a file of a store itself is damaged, not one to be ingested.
fn is_of_segment(error: &ReadError) -> bool {
    let directory = error.path().and_then(Path::parent).and_then(Path::file_name);
    error.category() == Category::Damaged && directory.is_some_and(|name| name == "segments")
}

/// The most characters of an input that a message quotes.
const MAX_SHOWN: usize = 40;

/// Returns a piece of an input for a message: quoted, and shortened if it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shortened() {
        assert_eq!(shown("a\tb"), "\"a\\tb\"");
        assert_eq!(shown(&"é".repeat(40)), format!("\"{}\"", "é".repeat(40)));
        assert_eq!(shown(&"é".repeat(41)), format!("\"{}\"…", "é".repeat(40)));
    }

    #[test]
    fn a_failure_is_one_line_with_its_causes_once() {
        let source = io::Error::other("out of paper");
        let failure = Failure::Io { doing: "write to it", path: "a.txt".into(), source };
        assert_eq!(failure.line(), "a.txt: cannot write to it: out of paper");
        assert_eq!(Failure::Wrong("two\nlines".to_owned()).line(), "two lines");
    }

    #[test]
    fn where_no_thread_starts_the_line_says_what_may_allow_it() {
        let refused = || io::Error::other("refused");
        let expected = format!("cannot start a thread: refused{MORE_THREADS}");
        let failures = [
            Failure::Thread(refused().into()),
            Failure::Build(BuildError::Threads { source: refused() }),
            Failure::Index(ReadErrorKind::Threads(refused()).into()),
            Failure::Documents(hamdex_documents::Error::Thread { source: refused() }),
        ];
        for failure in failures {
            // The message may begin with the index that it is about.
            assert!(failure.line().ends_with(&expected), "{}", failure.line());
        }
    }
}
