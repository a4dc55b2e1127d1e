//! Options of reading documents.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::Format;
use crate::problem::Notice;

/// The default limit on the length of a document.
const DEFAULT_MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// Receives how many bytes have been read since the last call.
type OnRead = Arc<dyn Fn(u64) + Send + Sync>;

/// Receives problems with documents.
type OnNotice = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Documents to read: where they are, and in which format.
///
/// ```
/// use hamdex_documents::{Documents, Error};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("pages.csv");
/// std::fs::write(&path, "url,body\nhttps://example.org/,\"Some text,\nin two lines\"\n")?;
///
/// let mut texts = Vec::new();
/// let documents = Documents::from_paths([&path]).id_field("url").text_field("body");
/// let counts = documents.read(|document| {
///     texts.push(document.text);
///     Ok::<(), Error>(())
/// })?;
/// assert_eq!((counts.documents, counts.skipped()), (1, 0));
/// assert_eq!(texts, ["Some text,\nin two lines"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Documents {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) format: Option<Format>,
    pub(crate) id_field: String,
    pub(crate) text_field: String,
    pub(crate) extra_field: Option<String>,
    pub(crate) strict: bool,
    pub(crate) max_document_bytes: u64,
    pub(crate) keep_lines: bool,
    pub(crate) temp_dir: Option<PathBuf>,
    pub(crate) on_read: Option<OnRead>,
    pub(crate) on_notice: Option<OnNotice>,
}

impl Documents {
    /// Reads files, or directories of text and HTML files, in this order; `-` is standard input.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(|path| path.as_ref().to_owned()).collect(),
            format: None,
            id_field: "id".to_owned(),
            text_field: "text".to_owned(),
            extra_field: None,
            strict: false,
            max_document_bytes: DEFAULT_MAX_DOCUMENT_BYTES,
            keep_lines: false,
            temp_dir: None,
            on_read: None,
            on_notice: None,
        }
    }

    /// The format of all inputs; by default it is detected from each input's name and first bytes.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The field or column that holds a document's id, a string or a number; by default `id`.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.id_field = name.into();
        self
    }

    /// The field or column that holds its text; by default `text`.
    #[must_use]
    pub fn text_field(mut self, name: impl Into<String>) -> Self {
        self.text_field = name.into();
        self
    }

    /// One more field or column to read, if it exists ([`Document::extra`](crate::Document::extra)).
    #[must_use]
    pub fn extra_field(mut self, name: impl Into<String>) -> Self {
        self.extra_field = Some(name.into());
        self
    }

    /// Whether reading ends with an error at the first problem with a document. By default problems are reported
    /// ([`Documents::on_notice`]) and counted, and reading continues.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// The longest line, record or file in bytes; by default 64 MiB. Longer ones are skipped without being
    /// kept in memory.
    #[must_use]
    pub fn max_document_bytes(mut self, bytes: u64) -> Self {
        self.max_document_bytes = bytes;
        self
    }

    /// Whether to keep the lines of JSON Lines with their documents ([`Document::line`](crate::Document::line)).
    #[must_use]
    pub fn keep_lines(mut self, keep: bool) -> Self {
        self.keep_lines = keep;
        self
    }

    /// The directory of temporary files, which Parquet and Arrow need where they are compressed or come from
    /// standard input; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Calls `report` with the number of bytes read from the inputs since the last call, before they are
    /// decompressed. It may be called on another thread.
    #[must_use]
    pub fn on_read(mut self, report: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_read = Some(Arc::new(report));
        self
    }

    /// Calls `report` with every problem with a document. Files of a directory that are not text are only
    /// counted. It may be called on another thread.
    #[must_use]
    pub fn on_notice(mut self, report: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Some(Arc::new(report));
        self
    }

    /// Returns the bytes of all inputs, before they are decompressed; `None` unless all are regular files.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        let bytes = |path: &PathBuf| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
        self.paths.iter().map(bytes).sum()
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents")
            .field("paths", &self.paths)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
