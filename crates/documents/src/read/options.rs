//! Options of reading documents.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, iter};

use encoding_rs::Encoding;
use ignore::overrides::{Override, OverrideBuilder};

use crate::copy::agreed::Agreed;
use crate::copy::plan::{Folder, Plan, Target};
use crate::error::Error;
use crate::format::Format;
use crate::input::OnRead;
use crate::problem::Notice;
use crate::table_reader::quoting::Quoting;
use crate::table_writer::TableFormat;

/// The default fields of a document.
const DEFAULT_ID_FIELD: &str = "id";
const DEFAULT_TEXT_FIELD: &str = "text";

/// The greatest number of text fields of a document ([`Documents::text_fields`]).
pub const MAX_TEXT_FIELDS: usize = 60;

/// The default limit on the length of a document.
const DEFAULT_MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// A callback for problems with documents.
type OnNotice = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Documents to read: their inputs, format and fields.
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
    /// The field of the id, if the caller named one; then every document must have it.
    pub(crate) id_field: Option<String>,
    pub(crate) text_fields: Vec<String>,
    /// The separator of the items of a list in the name of a text field. `None`: each item is a document.
    pub(crate) join: Option<String>,
    pub(crate) extra_field: Option<String>,
    pub(crate) has_header: bool,
    pub(crate) delimiter: Option<u8>,
    pub(crate) quoting: Option<Quoting>,
    pub(crate) encoding: Option<&'static Encoding>,
    pub(crate) selection: Selection,
    pub(crate) strict: bool,
    pub(crate) skips_unreadable: bool,
    pub(crate) max_document_bytes: u64,
    pub(crate) temp_dir: Option<PathBuf>,
    pub(crate) drops_columns: bool,
    /// The state of a copy of rows.
    pub(crate) plan: Option<Arc<Mutex<Plan>>>,
    pub(crate) on_read: Option<OnRead>,
    pub(crate) on_notice: Option<OnNotice>,
}

/// The selection of files in directories and archives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) included: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) obeys_ignore_files: bool,
}

impl Selection {
    /// Returns the globs, relative to this directory or archive.
    pub(crate) fn globs(&self, root: &Path) -> Result<Override, Error> {
        let mut builder = OverrideBuilder::new(root);
        let included = self.included.iter().map(|glob| (glob, glob.clone()));
        // An exclamation mark excludes.
        let excluded = self.excluded.iter().map(|glob| (glob, format!("!{glob}")));
        for (glob, line) in included.chain(excluded) {
            builder.add(&line).map_err(|error| Error::option("glob", format!("{glob:?}: {error}")))?;
        }
        builder.build().map_err(|error| Error::option("globs", error.to_string()))
    }
}

impl Documents {
    /// Reads files, directories and archives (zip; tar in any compression), in this order; `-` is standard input.
    ///
    /// A file is one document, whatever its ending, unless it has a document in each row: by its extension (`.jsonl`,
    /// `.json`, `.csv`, `.tsv`, `.parquet`, `.arrow`, `.mbox`, `.warc` and the like, also compressed) or by its first
    /// bytes ([`Format::detect`]). Files of a directory or archive follow the same rule. Standard input is recognised
    /// by its start, as these formats and as a table of CSV or TSV; without any structure it is lines of an id and a
    /// text. Files of a directory and of a zip archive are read in the order of their paths, those of a tar archive as
    /// they lie there.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(|path| path.as_ref().to_owned()).collect(),
            format: None,
            id_field: None,
            text_fields: vec![DEFAULT_TEXT_FIELD.to_owned()],
            join: None,
            extra_field: None,
            has_header: true,
            delimiter: None,
            quoting: None,
            encoding: None,
            selection: Selection::default(),
            strict: false,
            skips_unreadable: false,
            max_document_bytes: DEFAULT_MAX_DOCUMENT_BYTES,
            temp_dir: None,
            drops_columns: false,
            plan: None,
            on_read: None,
            on_notice: None,
        }
    }

    /// Sets the format of all inputs; by default it is detected from each input's name and first bytes.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the field or column of the id, a string or a number. Every document must have it then.
    ///
    /// By default it is `id`, and the id of a document without it is the number of its line, object or record, counted
    /// from 1, or of its row in Parquet and Arrow files, counted from 0. With several inputs, the name of the file
    /// precedes it, as in `pages.jsonl:17`. The id of a document that is a whole file is the path of the file.
    #[must_use]
    pub fn id_field(mut self, name: impl Into<String>) -> Self {
        self.id_field = Some(name.into());
        self
    }

    /// Sets the field or column of the text; by default `text`. In JSON and in nested columns, `body.text` is the
    /// field `text` of the object `body`, unless there is a field with that whole name.
    #[must_use]
    pub fn text_field(self, name: impl Into<String>) -> Self {
        self.text_fields([name])
    }

    /// Sets the fields or columns of the text, which are joined by line ends. A document must have one of them, and a
    /// file with a document in each row all of them in some row.
    ///
    /// # Panics
    /// When there are none, or more than [`MAX_TEXT_FIELDS`].
    #[must_use]
    pub fn text_fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.text_fields = names.into_iter().map(Into::into).collect();
        assert!((1..=MAX_TEXT_FIELDS).contains(&self.text_fields.len()), "from 1 to 60 text fields");
        self
    }

    /// Makes one text of the lists that are marked in the names of text fields: `messages[].content` is then the text of
    /// a whole conversation, `turns[]` that of a list of strings. The strings of all items, in lists within lists too,
    /// are joined by `separator`; items without the field add nothing. In JSON and in nested columns of Parquet and
    /// Arrow. By default each item of such a list is a document, in JSON alone.
    #[must_use]
    pub fn join_lists(mut self, separator: impl Into<String>) -> Self {
        self.join = Some(separator.into());
        self
    }

    /// Sets a further field or column to read, if it exists ([`Document::extra`](crate::Document::extra)).
    #[must_use]
    pub fn extra_field(mut self, name: impl Into<String>) -> Self {
        self.extra_field = Some(name.into());
        self
    }

    /// Sets whether the first record of CSV and TSV names the columns; by default it does. Otherwise columns are named
    /// by number, counted from 1.
    #[must_use]
    pub fn header(mut self, has_header: bool) -> Self {
        self.has_header = has_header;
        self
    }

    /// Sets the byte between the fields of CSV and TSV; standard input is CSV then, unless it starts like another
    /// format. By default it is a comma or a tab; in CSV also a semicolon or `|` by which the header has the text
    /// fields.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Sets whether fields of CSV and TSV can be in quotes. By default those of CSV can, and those of TSV if more records
    /// in the first MiB of a file have the header's number of fields then. If as many have it, names in quotes or doubled
    /// quotes decide, unless text follows a closing quote. Those of a stream whose format is given cannot: its start is
    /// not waited for.
    #[must_use]
    pub fn quoting(mut self, quoting: Quoting) -> Self {
        self.quoting = Some(quoting);
        self
    }

    /// Sets the encoding of texts without a byte order mark or, in HTML, a declaration. Its name is a label of the
    /// [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels). By default it is UTF-8, and a file that
    /// clearly has another encoding is rejected.
    ///
    /// # Errors
    /// When no encoding has this name.
    pub fn encoding(mut self, name: &str) -> Result<Self, Error> {
        let encoding = Encoding::for_label(name.as_bytes());
        let unknown = || {
            let some = "utf-8, utf-16le, windows-1252, gb18030";
            Error::option("encoding", format!("no encoding is named {name:?}; some are {some}"))
        };
        self.encoding = Some(encoding.ok_or_else(unknown)?);
        Ok(self)
    }

    /// Reads only files of directories and archives whose paths match one of these globs. A glob without a slash
    /// matches names at any depth: `*.txt`, `{a,b}*.csv`; a glob with a slash matches paths: `news/**/*.txt`.
    #[must_use]
    pub fn include(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selection.included.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Skips files and folders of directories and archives whose paths match one of these globs.
    #[must_use]
    pub fn exclude(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selection.excluded.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Sets whether hidden files, and files matched by a `.gitignore` or `.ignore` file, are left out of directories.
    /// By default all files are read.
    #[must_use]
    pub fn obey_ignore_files(mut self, obey: bool) -> Self {
        self.selection.obeys_ignore_files = obey;
        self
    }

    /// Sets whether reading fails at the first problem with a document. By default problems are reported
    /// ([`Documents::on_notice`]) and counted, and reading continues. Strict reading also fails at a stray quote, and at
    /// a repeated id; it keeps about 60 bytes per id.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets whether files of directories and archives that should hold documents and cannot be read whole are skipped:
    /// reported and counted. By default reading goes on to the last file and fails then, with their names
    /// ([`Error::Unread`](crate::Error::Unread)). A file should hold documents by its extension, by the format given, or
    /// next to tables. One that lacks a text field in all rows is not read whole, either.
    #[must_use]
    pub fn skip_unreadable(mut self, skip: bool) -> Self {
        self.skips_unreadable = skip;
        self
    }

    /// Sets the greatest length of a line, record or file, in bytes; by default 64 MiB. Longer ones are skipped without
    /// being kept in memory.
    #[must_use]
    pub fn max_document_bytes(mut self, bytes: u64) -> Self {
        self.max_document_bytes = bytes;
        self
    }

    /// Sets the directory of temporary files, for Parquet and Arrow files that are compressed or come from standard
    /// input; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Prepares for [`Documents::copy`] to a file of this format, by default the format of the first input (which must
    /// be text then). Reading then finds the columns of all inputs, and keeps inputs that cannot be read twice, such as
    /// standard input, in a temporary file. Use the same value, or a clone of it, to read and to copy.
    ///
    /// Inputs with the same columns are copied as they are. The columns of others are united by name, in the order in
    /// which they are named first: a row has null (in CSV, an empty field) where its input lacks the column. A column of
    /// a Parquet or Arrow file has a type that takes the values of all inputs without a change: the wider integer, a
    /// fraction of 64 bits for integers and fractions, the finer unit of time, structures with the fields of all, lists
    /// of such items; fields of CSV are text, and those of JSON have the type of their values. Where no type takes all,
    /// the column is text, as all columns of CSV are ([`Problem::MixedColumn`](crate::problems::Problem::MixedColumn)
    /// says so): a text as it is, any other value as JSON, times by ISO 8601, bytes that are not UTF-8 as hexadecimal
    /// digits.
    #[must_use]
    pub fn copyable(mut self, format: Option<TableFormat>) -> Self {
        let fields = iter::once(self.id_name()).chain(self.text_fields.iter().map(String::as_str));
        let agreed = Agreed::new(format, fields.map(str::to_owned).collect(), self.drops_columns);
        self.plan = Some(Arc::new(Mutex::new(Plan::new(Target::File(Box::new(agreed))))));
        self
    }

    /// Prepares for [`Documents::copy_files`]: reading then fails at an input that cannot be copied to a file of its own
    /// format, before any document is read. Use the same value, or a clone of it, to read and to copy.
    #[must_use]
    pub fn copyable_as_files(mut self) -> Self {
        self.plan = Some(Arc::new(Mutex::new(Plan::new(Target::Folder(Folder::default())))));
        self
    }

    /// Sets whether a copy in another format than the inputs has ids and texts alone; by default it has all columns. To
    /// be set before [`Documents::copyable`], as are the fields.
    #[must_use]
    pub fn drop_columns(mut self, drops: bool) -> Self {
        self.drops_columns = drops;
        self
    }

    /// Returns the plan of a copy, which one pass leaves to the next; `None` if no documents are copied.
    pub(crate) fn plan(&self) -> Option<MutexGuard<'_, Plan>> {
        self.plan.as_ref().map(|plan| plan.lock().expect("no thread panics with it"))
    }

    /// Makes it possible to read the documents again: inputs that cannot be read twice, such as standard input, are
    /// kept in a temporary file. A later reading fails if the inputs have changed.
    #[must_use]
    pub fn repeatable(self) -> Self {
        self.drop_columns(true).copyable(Some(TableFormat::Jsonl))
    }

    /// Calls `report` with the number of bytes read from the inputs since the last call, before they are
    /// decompressed. It may be called on any thread.
    #[must_use]
    pub fn on_read(mut self, report: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_read = Some(Arc::new(report));
        self
    }

    /// Calls `report` with every problem with a document. Pictures, programs and the like in a directory are only
    /// counted. It may be called on any thread.
    #[must_use]
    pub fn on_notice(mut self, report: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Some(Arc::new(report));
        self
    }

    /// Returns the same documents, to be read again without reports of progress and problems.
    #[must_use]
    pub fn quiet(&self) -> Self {
        Self { on_notice: None, on_read: None, ..self.clone() }
    }

    /// Returns the name of the field of the id.
    pub(crate) fn id_name(&self) -> &str {
        self.id_field.as_deref().unwrap_or(DEFAULT_ID_FIELD)
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
