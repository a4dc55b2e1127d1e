//! Options for reading documents, and documents that come down a pipe, as they come.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytesize::ByteSize;
use hamdex::Fingerprint;
use hamdex_atomic_file::Identity;
use hamdex_documents::problems::Action;
use hamdex_documents::tables::Quoting;
use hamdex_documents::{Counts, Document, Documents, Input, MAX_TEXT_FIELDS};
use hamdex_simhash::{Fingerprinter, Outcome, Shingles};
use indicatif::ProgressBar;

use crate::documents::notices::{self, Notices};
use crate::failure::Failure;
use crate::input::{Arrivals, Format, announce_terminal_input};
use crate::messages::{self, counted};
use crate::{names, option_values, progress};

const DEFAULT_TEXT_FIELD: &str = "text";

const DEFAULT_MAX_DOCUMENT: &str = "64MiB";

/// Fields and limits of documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Fields {
    /// The field or column with a document's text
    ///
    /// If it is repeated, the texts are joined by line ends. In JSON and nested columns, body.text is the field text of
    /// body. In JSON, pages[].body makes a document of each item of the list pages; with --join, one of all. A list of
    /// strings is a text, too
    #[arg(long = "text-field", value_name = "NAME", default_value = DEFAULT_TEXT_FIELD, help_heading = "Documents")]
    pub(crate) text_fields: Vec<String>,
    /// Make one document of the items of a list, as in --join --text-field 'messages[].content'
    ///
    /// The strings of all items of a list marked by [] are joined by this separator, by default a line feed:
    /// messages[].content is the text of a conversation, turns[] that of a list of strings. For JSON, Parquet and Arrow
    #[arg(long, value_name = "SEPARATOR", num_args = 0..=1, require_equals = true, default_missing_value = "\n", help_heading = "Documents")]
    join: Option<String>,
    /// The field or column with a document's id, a string or a number
    ///
    /// [default: id; without it, the number of the line, object or record, from 1, or of the row in Parquet and Arrow
    /// files, from 0; with several inputs, the file and the number]
    #[arg(long, value_name = "NAME", help_heading = "Documents")]
    pub(crate) id_field: Option<String>,
    /// The first record of CSV and TSV is a document too; columns have numbers instead of names, counted from
    /// 1, as in --text-field 2
    #[arg(long, help_heading = "Documents")]
    no_header: bool,
    /// The character between the fields of CSV and TSV, or tab [default: a comma or a tab; in CSV ; or | if only these
    /// give a header with the text field]
    #[arg(long, value_name = "CHAR", value_parser = option_values::delimiter, help_heading = "Documents")]
    delimiter: Option<u8>,
    /// Whether fields of CSV and TSV can be in quotes [default: in CSV yes; in TSV if more records in the first MiB then
    /// have the header's number of fields; in TSV on standard input with --format no]
    #[arg(long, value_parser = option_values::quoting(), help_heading = "Documents")]
    quoting: Option<Quoting>,
    /// The encoding of texts that do not declare one by a byte order mark or, in HTML, by meta, as in
    /// windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME", help_heading = "Documents")]
    encoding: Option<String>,
    /// In directories and archives, read only files that match; a glob without a slash matches names at any depth. Names
    /// that begin with . or _ are skipped unless a glob names them, as in '_posts/**'. Without this option, a directory
    /// whose bytes are mostly tables is read for its tables alone; '*' reads all
    #[arg(long, value_name = "GLOB", help_heading = "Documents")]
    include: Vec<String>,
    /// In directories and archives, leave out files and folders that match
    #[arg(long, value_name = "GLOB", help_heading = "Documents")]
    exclude: Vec<String>,
    /// Leave out hidden files, and files that .gitignore and .ignore list
    #[arg(long, help_heading = "Documents")]
    respect_gitignore: bool,
    /// End at the first problem with a document (invalid UTF-8, malformed, a missing field, too long, text
    /// behind a closing quote, an id that an earlier one had)
    #[arg(long, help_heading = "Documents")]
    strict: bool,
    /// In directories and archives, skip files that should hold documents and cannot be read whole: damaged or truncated
    /// ones, ones in another format than they say, and tables and JSON without the text's column. Without this option,
    /// the command reads the other files and then fails with exit code 1. It writes no file then; records inserted and
    /// lines printed before stay. Rows that --unique cannot copy also give exit code 1
    #[arg(long, help_heading = "Documents")]
    pub(crate) skip_unreadable: bool,
    /// Skip lines and files longer than this, and count them
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MAX_DOCUMENT, value_parser = option_values::size, help_heading = "Documents")]
    max_document: ByteSize,
}

impl Fields {
    /// Refuses options that say how documents are read, where `others` are.
    pub(crate) fn refuse_for(&self, others: &str) -> Result<(), Failure> {
        let given = [
            ("--text-field", self.text_fields != [DEFAULT_TEXT_FIELD]),
            ("--join", self.join.is_some()),
            ("--no-header", self.no_header),
            ("--delimiter", self.delimiter.is_some()),
            ("--quoting", self.quoting.is_some()),
            ("--encoding", self.encoding.is_some()),
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--respect-gitignore", self.respect_gitignore),
            ("--strict", self.strict),
            ("--skip-unreadable", self.skip_unreadable),
            ("--max-document", option_values::size(DEFAULT_MAX_DOCUMENT) != Ok(self.max_document)),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(Failure::Usage(format!("{option} is for documents, and {others} are read")))
            }
            None => Ok(()),
        }
    }

    /// Refuses the name of an id field, where ids are not read from one.
    pub(crate) fn refuse_id_field(&self) -> Result<(), Failure> {
        match &self.id_field {
            Some(_) => Err(Failure::Usage(
                "--id-field is for ids that are read; choose their source with --ids".to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// Returns the name of the id field.
    pub(crate) fn id_name(&self) -> &str {
        self.id_field.as_deref().unwrap_or("id")
    }
}

/// The document inputs of all commands that read documents.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// Files of documents, archives (zip, tar) or directories; - or none for standard input
    #[arg(value_name = "INPUT")]
    named: Vec<PathBuf>,
    /// Also read the files and directories that this file lists, or - for standard input
    ///
    /// One per line, in the form of `hamdex dedup --print`: a name that begins with a double quote is in double quotes,
    /// with escapes. If the file has a zero byte, each name ends with one and has no escapes, as `find -print0` writes
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    files_from: Option<PathBuf>,
    /// The inputs of both.
    #[arg(skip)]
    paths: OnceLock<Vec<PathBuf>>,
    /// The same without repeated files.
    #[arg(skip)]
    once: OnceLock<Vec<PathBuf>>,
    /// The format of the inputs, which may be compressed (gzip, zstd, xz, bzip2, lz4)
    ///
    /// With auto, a file is one document, unless its ending or its start is that of JSON, CSV, TSV, Parquet, Arrow, mbox
    /// or WARC. Standard input is recognised by its start; without structure it is lines
    #[arg(long, value_enum, default_value = "auto", help_heading = "Documents")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) fields: Fields,
}

impl Inputs {
    pub(crate) fn reading(&self) -> Result<Reading, Failure> {
        self.reading_of(self.paths()?)
    }

    /// Returns all inputs, of which the first call reads the list; none for standard input.
    pub(crate) fn paths(&self) -> Result<&[PathBuf], Failure> {
        if self.paths.get().is_none() {
            let listed = self.files_from.as_deref().map_or(Ok(Vec::new()), listed)?;
            // Without an entry, standard input would be read.
            if let Some(list) = self.files_from.as_deref().filter(|_| listed.is_empty()) {
                return Err(Failure::Wrong(format!("{}: lists no files", list.display())));
            }
            let _ = self.paths.set(self.named.iter().cloned().chain(listed).collect());
        }
        Ok(self.paths.get().expect("it was set"))
    }

    /// Returns all inputs, a regular file once, however often and under whatever names it is given. The first call says
    /// which are left out.
    pub(crate) fn paths_once(&self) -> Result<&[PathBuf], Failure> {
        let paths = self.paths()?;
        Ok(self.once.get_or_init(|| {
            let (mut known, mut repeated) = (HashSet::new(), Vec::new());
            let mut left = paths.to_vec();
            left.retain(|path| {
                let identity = path.is_file().then(|| Identity::of_path(path).ok()).flatten();
                let is_new = identity.is_none_or(|identity| known.insert(identity));
                repeated.extend((!is_new).then(|| path.display().to_string()));
                is_new
            });
            if let Some(first) = repeated.first() {
                let files = counted(repeated.len() as u64, "file is", "files are");
                messages::warning(format_args!("{first}: {files} named more than once, and read once"));
            }
            left
        }))
    }

    /// Reads other inputs in the same way.
    pub(crate) fn reading_of(&self, paths: &[PathBuf]) -> Result<Reading, Failure> {
        Reading::new(paths, self.format, &self.fields)
    }

    /// Returns whether there is one named file, of a format that is not given.
    pub(crate) fn is_one_file(&self) -> bool {
        self.format == Format::Auto
            && self.files_from.is_none()
            && matches!(&*self.named, [path] if path.is_file())
    }
}

/// Returns the paths that a file lists.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut bytes = Vec::new();
    let mut input = Input::open(list)?;
    input.read_to_end(&mut bytes).map_err(|error| Failure::Wrong(format!("{}: {error}", list.display())))?;
    let with_zeros = bytes.contains(&0);
    let (mark, end) = if with_zeros { (&b""[..], 0) } else { (names::BYTE_ORDER_MARK, b'\n') };
    let listed = bytes.strip_prefix(mark).unwrap_or(&bytes).split(|&byte| byte == end);
    let paths = listed.zip(1u64..).filter_map(|(path, number)| {
        let path = if with_zeros {
            Ok((!path.is_empty()).then_some(Cow::Borrowed(path)))
        } else {
            names::of_line(path)
        };
        let path = path.and_then(|path| path.map(|path| path_of(&path)).transpose()).transpose()?;
        Some(path.map_err(|what| Failure::Wrong(format!("{}:{number}: {what}", list.display()))))
    });
    paths.collect()
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere, names are text")]
fn path_of(name: &[u8]) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStrExt;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Result<PathBuf, String> {
    str::from_utf8(name).map(PathBuf::from).map_err(|error| error.to_string())
}

/// Documents to read, and the progress bar of reading.
pub(crate) struct Reading {
    documents: Documents,
    bar: ProgressBar,
    notices: Arc<Notices>,
    /// Whether problems are printed when this is dropped, instead of at the end of reading.
    are_held: bool,
}

impl Reading {
    pub(crate) fn new(paths: &[PathBuf], format: Format, fields: &Fields) -> Result<Self, Failure> {
        let standard_input = [PathBuf::from("-")];
        let paths = if paths.is_empty() { &standard_input } else { paths };
        announce_terminal_input(paths);
        if fields.text_fields.len() > MAX_TEXT_FIELDS {
            return Err(Failure::Usage(format!("at most {MAX_TEXT_FIELDS} text fields (--text-field)")));
        }
        let mut documents = Documents::from_paths(paths)
            .text_fields(&fields.text_fields)
            .header(!fields.no_header)
            .include(&fields.include)
            .exclude(&fields.exclude)
            .obey_ignore_files(fields.respect_gitignore)
            .strict(fields.strict)
            .skip_unreadable(fields.skip_unreadable)
            .max_document_bytes(fields.max_document.as_u64());
        if let Some(separator) = &fields.join {
            if !fields.text_fields.iter().any(|name| name.contains("[]")) {
                let advice = "--join is for a list, as in --text-field 'messages[].content'";
                return Err(Failure::Usage(advice.to_owned()));
            }
            documents = documents.join_lists(separator);
        }
        if let Some(name) = &fields.id_field {
            documents = documents.id_field(name);
        }
        if let Some(delimiter) = fields.delimiter {
            documents = documents.delimiter(delimiter);
        }
        if let Some(quoting) = fields.quoting {
            documents = documents.quoting(quoting);
        }
        if let Some(name) = &fields.encoding {
            documents = documents.encoding(name)?;
        }
        if let Some(format) = format.of_documents()? {
            documents = documents.format(format);
        }
        let bar = progress::of_bytes("Reading", documents.total_bytes());
        let (counter, notices) = (bar.clone(), Arc::new(Notices::new(bar.clone())));
        let taking = Arc::clone(&notices);
        let documents =
            documents.on_read(move |bytes| counter.inc(bytes)).on_notice(move |notice| taking.take(notice));
        Ok(Self { documents, bar, notices, are_held: false })
    }

    /// Sets options of the documents.
    pub(crate) fn with(mut self, set: impl FnOnce(Documents) -> Documents) -> Self {
        self.documents = set(self.documents);
        self
    }

    /// Sets the directory for temporary files.
    pub(crate) fn temp_dir(self, directory: &Path) -> Self {
        self.with(|documents| documents.temp_dir(directory))
    }

    /// Prints problems when this is dropped: after the results.
    pub(crate) fn hold_notices(mut self) -> Self {
        self.are_held = true;
        self
    }

    /// Calls `read`, and shows the progress of reading until it returns.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Documents) -> Result<T, Failure>) -> Result<T, Failure> {
        let outcome = read(&self.documents);
        self.bar.finish_and_clear();
        if !self.are_held {
            self.notices.print();
        }
        outcome
    }

    /// Reads all documents, and calls `take` with the fingerprint of each, and with its shingles of so many words.
    pub(crate) fn fingerprint<F: Fingerprint>(
        &self,
        fingerprinter: &Fingerprinter<F>,
        words: Option<NonZeroUsize>,
        mut take: impl FnMut(Document, Outcome<F>, Option<&Shingles>) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        self.read(|documents| match words {
            Some(words) => {
                documents.fingerprint_and_shingles(fingerprinter, words, |document, outcome, shingles| {
                    take(document, outcome, Some(shingles))
                })
            }
            None => documents.fingerprint(fingerprinter, |document, outcome| take(document, outcome, None)),
        })
    }

    /// Returns the problems that are held, as [`Notices::to_json`] does.
    pub(crate) fn notices(&self) -> Vec<serde_json::Value> {
        self.notices.to_json()
    }

    /// Returns the progress bar.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }
}

/// An arrival from a pipe.
pub(crate) enum Came<T> {
    /// Documents without their texts, each with what is made of its text.
    Documents(Vec<(Document, T)>),
    /// Input that is not a document. Its sender may wait for an answer.
    Skipped(Skipped),
}

/// A document that cannot be read.
pub(crate) struct Skipped {
    pub(crate) place: String,
    /// The problem, with the place.
    pub(crate) error: String,
}

enum Arrival<T> {
    Document(Document, T),
    Skipped(Skipped),
    End(Counts),
}

/// Calls `take` with the documents that have come, without their texts but with what `make` makes of their texts, at most `max` at a
/// time, and with each that is skipped, in their order: a program that sends documents may wait for an answer before it
/// sends more. One thread reads and makes.
pub(crate) fn each_as_it_comes<T: Send + 'static>(
    mut reading: Reading,
    mut make: impl FnMut(&str) -> T + Send + 'static,
    max: usize,
    mut take: impl FnMut(Came<T>) -> Result<(), Failure>,
) -> Result<Counts, Failure> {
    let mut arrivals = Arrivals::start(true, move |sender| {
        let (notices, skipped) = (Arc::clone(&reading.notices), sender.clone());
        reading.documents = reading.documents.on_notice(move |notice| {
            notices.take(notice);
            if notice.action == Action::Skipped {
                let (place, error) = (notice.place.to_string(), notices::text_of(notice));
                // If the receiver is gone, it reports an error of its own.
                let _ = skipped.send(Arrival::Skipped(Skipped { place, error }));
            }
        });
        let counts = reading.read(|documents| {
            documents.read(|mut document: Document| {
                let made = make(&std::mem::take(&mut document.text));
                let _ = sender.send(Arrival::Document(document, made));
                Ok::<(), Failure>(())
            })
        })?;
        let _ = sender.send(Arrival::End(counts));
        Ok(())
    })?;
    let (mut counts, mut arrived) = (None, Vec::new());
    while arrivals.next(&mut arrived, max) {
        let mut documents = Vec::with_capacity(arrived.len());
        for arrival in arrived.drain(..) {
            match arrival {
                Arrival::Document(document, made) => documents.push((document, made)),
                Arrival::Skipped(skipped) => {
                    if !documents.is_empty() {
                        take(Came::Documents(std::mem::take(&mut documents)))?;
                    }
                    take(Came::Skipped(skipped))?;
                }
                Arrival::End(all) => counts = Some(all),
            }
        }
        if !documents.is_empty() {
            take(Came::Documents(documents))?;
        }
    }
    arrivals.end()?;
    Ok(counts.expect("the counts come last"))
}
