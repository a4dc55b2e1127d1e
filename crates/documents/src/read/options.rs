//! Options of reading documents.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use encoding_rs::Encoding;

use crate::copy::plan::Plan;
use crate::error::Error;
use crate::format::Format;
use crate::problem::Notice;
use crate::table_writer::rows::TableFormat;

/// The fields of a document, where nothing else is said.
const DEFAULT_ID_FIELD: &str = "id";
const DEFAULT_TEXT_FIELD: &str = "text";

/// The greatest number of text fields.
const MAX_TEXT_FIELDS: usize = 60;

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
    /// The field of the id, if one was named: then every document must have it.
    pub(crate) id_field: Option<String>,
    pub(crate) text_fields: Vec<String>,
    pub(crate) extra_field: Option<String>,
    pub(crate) has_header: bool,
    pub(crate) encoding: Option<&'static Encoding>,
    pub(crate) selection: Selection,
    pub(crate) strict: bool,
    pub(crate) max_document_bytes: u64,
    pub(crate) temp_dir: Option<PathBuf>,
    /// What is found out for a copy of rows.
    pub(crate) plan: Option<Arc<Mutex<Plan>>>,
    pub(crate) on_read: Option<OnRead>,
    pub(crate) on_notice: Option<OnNotice>,
}

/// Which files of a directory or archive are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) included: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) obeys_ignore_files: bool,
}

impl Documents {
    /// Reads files, directories and zip archives, in this order; `-` is standard input.
    ///
    /// Files of a directory or archive are read in the order of their paths. Those whose names say so (`.jsonl`,
    /// `.json`, `.csv`, `.tsv`, `.parquet`, `.arrow` and the like, also compressed) hold a document in each row;
    /// any other text is one document.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(|path| path.as_ref().to_owned()).collect(),
            format: None,
            id_field: None,
            text_fields: vec![DEFAULT_TEXT_FIELD.to_owned()],
            extra_field: None,
            has_header: true,
            encoding: None,
            selection: Selection::default(),
            strict: false,
            max_document_bytes: DEFAULT_MAX_DOCUMENT_BYTES,
            temp_dir: None,
            plan: None,
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

    /// The field or column that holds a document's id, a string or a number. Every document must have it then.
    ///
    /// By default it is `id`, and a document without it has the number of its line, object or record, counted
    /// from 1, or of its row in Parquet and Arrow files, counted from 0. With several inputs the name of the file
    /// stands before it, as in `pages.jsonl:17`. A document that is a whole file has the path of the file.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.id_field = Some(name.into());
        self
    }

    /// The field or column that holds its text; by default `text`. In JSON and in nested columns, `body.text` is
    /// the field `text` of the object `body`, unless there is a field of just that name.
    #[must_use]
    pub fn text_field(self, name: impl Into<String>) -> Self {
        self.text_fields([name])
    }

    /// The fields or columns that make up its text, joined by line ends. A document must have one of them.
    ///
    /// # Panics
    /// When there are none, or more than 60.
    #[must_use]
    pub fn text_fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.text_fields = names.into_iter().map(Into::into).collect();
        assert!((1..=MAX_TEXT_FIELDS).contains(&self.text_fields.len()), "from 1 to 60 text fields");
        self
    }

    /// One more field or column to read, if it exists ([`Document::extra`](crate::Document::extra)).
    #[must_use]
    pub fn extra_field(mut self, name: impl Into<String>) -> Self {
        self.extra_field = Some(name.into());
        self
    }

    /// Whether the first record of CSV and TSV names the columns; by default it does. If not, columns are named by
    /// their numbers, counted from 1.
    #[must_use]
    pub fn header(mut self, has_header: bool) -> Self {
        self.has_header = has_header;
        self
    }

    /// The encoding of texts that do not say theirs: by a byte order mark or, in HTML, by `meta`. Its name is one
    /// of the [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels). By default it is UTF-8, and
    /// a file that clearly has another one is refused.
    ///
    /// # Errors
    /// When no encoding has this name.
    pub fn encoding(mut self, name: &str) -> Result<Self, Error> {
        let encoding = Encoding::for_label(name.as_bytes());
        let unknown = || Error::Option {
            option: "encoding",
            what: format!("no encoding is named {name:?}; some are utf-8, utf-16le, windows-1252, gb18030"),
        };
        self.encoding = Some(encoding.ok_or_else(unknown)?);
        Ok(self)
    }

    /// Of directories and archives, read only files whose paths match one of these globs. A glob without a slash
    /// is about names at any depth: `*.txt`, `{a,b}*.csv`; one with a slash about paths: `news/**/*.txt`.
    #[must_use]
    pub fn include(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selection.included.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Of directories and archives, do not read files and folders whose paths match one of these globs.
    #[must_use]
    pub fn exclude(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selection.excluded.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Whether hidden files, and those that a `.gitignore` or `.ignore` file names, are left out of directories. By
    /// default all files are read.
    #[must_use]
    pub fn obey_ignore_files(mut self, obey: bool) -> Self {
        self.selection.obeys_ignore_files = obey;
        self
    }

    /// Whether reading ends with an error at the first problem with a document. By default problems are reported
    /// ([`Documents::on_notice`]) and counted, and reading continues. Strict reading also ends at an id that an
    /// earlier document had; it remembers all ids, about 60 bytes each.
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

    /// The directory of temporary files, which Parquet and Arrow need where they are compressed or come from
    /// standard input; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Prepares for [`Documents::copy`] to a file of this format, by default that of the first input (which must be
    /// text then). Reading then refuses inputs whose rows do not fit together, and keeps what cannot be read twice,
    /// such as standard input, in a temporary file. The same value, or a clone of it, is to be read and copied.
    #[must_use]
    pub fn copyable(mut self, format: Option<TableFormat>) -> Self {
        self.plan = Some(Arc::new(Mutex::new(Plan::new(format))));
        self
    }

    /// Calls `report` with the number of bytes read from the inputs since the last call, before they are
    /// decompressed. It may be called on another thread.
    #[must_use]
    pub fn on_read(mut self, report: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_read = Some(Arc::new(report));
        self
    }

    /// Calls `report` with every problem with a document. Pictures, programs and the like in a directory are only
    /// counted. It may be called on another thread.
    #[must_use]
    pub fn on_notice(mut self, report: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Some(Arc::new(report));
        self
    }

    /// Returns the name of the field of the id.
    pub(crate) fn id_name(&self) -> &str {
        self.id_field.as_deref().unwrap_or(DEFAULT_ID_FIELD)
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
