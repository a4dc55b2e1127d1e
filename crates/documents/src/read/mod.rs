//! Documents from all inputs, one after the other; and inputs whose rows the caller reads: copies of rows that are no
//! documents, such as fingerprints.
//!
//! - [`options`]: which documents to read, and how
//! - [`recognition`]: the format of each input
//! - [`collector`]: the receiver of documents and of problems with them, which are counted
//! - [`repeated`]: files that are reached more than once, and ids that occur more than once
//! - [`fingerprint`]: fingerprints of documents, made on several threads

pub(crate) mod collector;
pub(crate) mod fingerprint;
pub(crate) mod options;
pub(crate) mod recognition;
mod repeated;

use std::io::Read;
use std::path::{Path, PathBuf};

use hamdex_atomic_file::{AtomicDirectory, AtomicFile};

use crate::copy::Copied;
use crate::document::{Counts, Document};
use crate::error::{CopyErrorKind, Error};
use crate::format::Format;
use crate::input::{Input, encoding};
use crate::parsers;
use crate::parsers::mail::Message;
use crate::parsers::web::html_text;
use crate::problem::{Place, Problem};
use crate::read::collector::{Collector, Destination, Sink};
use crate::read::options::Documents;
use crate::rows::{Row, Shape};
use crate::table_reader::{self, ColumnNames, Value};
use crate::walk::{self, archive};

/// Reads a file or a directory.
type ReadPath<'r> = dyn FnMut(&Path, &mut Collector<'_>) -> Result<(), Error> + 'r;

impl Documents {
    /// Calls `sink` with every document, in order. Returns the numbers of documents read and skipped.
    ///
    /// # Errors
    /// When an input cannot be opened, is not text (or not in UTF-8, see [`Documents::encoding`]), ends early or
    /// lacks a column; with [`Documents::strict`] also at the first problem with a document; or the error that
    /// `sink` returns. A file of a directory or archive that cannot be read is reported, and is an error after the last
    /// file unless [`Documents::skip_unreadable`].
    pub fn read<E: From<Error>>(&self, mut sink: impl FnMut(Document) -> Result<(), E>) -> Result<Counts, E> {
        let mut stopped = None;
        let outcome = self.read_into(&mut |document| {
            sink(document).map_err(|error| {
                stopped = Some(error);
                Error::Stopped
            })
        });
        outcome.map_err(|error| stopped.unwrap_or_else(|| error.into()))
    }

    /// Returns the size of all inputs before decompression, in bytes, with all files of directories that are read; `None`
    /// if one is a stream.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        let bytes = |path: &PathBuf| match path.metadata().ok()? {
            metadata if metadata.is_file() => Some(metadata.len()),
            metadata if metadata.is_dir() => walk::total_bytes(path, self),
            _ => None,
        };
        self.paths.iter().map(bytes).sum()
    }

    pub(crate) fn read_into(&self, sink: &mut Sink<'_>) -> Result<Counts, Error> {
        let mut sink = |document| sink(document);
        self.read_all(Destination::Sink(&mut sink))
    }

    /// Reads all inputs into `destination`.
    pub(crate) fn read_all<'a>(&'a self, destination: Destination<'a>) -> Result<Counts, Error> {
        self.read_paths(destination, &mut |path, collector| match path.is_dir() {
            true => walk::read_directory(path, collector),
            false => read_file(path, collector),
        })
    }

    /// Calls `read` with every path.
    fn read_paths<'a>(
        &'a self,
        destination: Destination<'a>,
        read: &mut ReadPath<'_>,
    ) -> Result<Counts, Error> {
        if !destination.is_probe() && self.is_new_folder() {
            self.probe(read)?;
        }
        if let Some(mut plan) = self.plan() {
            plan.begin();
        }
        let is_one_input = self.paths.len() == 1 && !self.paths[0].is_dir();
        let mut collector = Collector::new(self, is_one_input, destination);
        for path in &self.paths {
            read(path, &mut collector)?;
        }
        let is_probe = collector.is_probe();
        let counts = collector.finish()?;
        if is_probe {
            return Ok(counts);
        }
        if let Some(mut plan) = self.plan() {
            plan.end(&counts)?;
        }
        Ok(counts)
    }

    /// Returns whether each input is to be copied to a file of its own, and none was read yet.
    fn is_new_folder(&self) -> bool {
        self.plan().is_some_and(|mut plan| plan.new_folder().is_some())
    }

    /// Looks at the start of every input. Fails if one cannot be copied to a file of its own; other problems are reported
    /// when the inputs are read.
    fn probe(&self, read: &mut ReadPath<'_>) -> Result<(), Error> {
        match self.quiet().read_paths(Destination::Probe, read) {
            Err(error @ Error::Copy { kind: CopyErrorKind::NoFile, .. }) => Err(error),
            _ => Ok(()),
        }
    }
}

fn read_file(path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    if collector.is_repeated(path) {
        return Ok(());
    }
    collector.begin_file(path, Path::new(path.file_name().unwrap_or_default()));
    let input = collector.open(path)?;
    if archive::is_archive(&input) {
        return archive::read(input, path, collector);
    }
    let documents = collector.documents;
    let format = recognition::format_of(&input, documents);
    recognition::notice(&input, format, collector);
    match input.refusal(format, documents.format.is_some(), documents.encoding.is_some()) {
        Some(problem) => Err(Error::Document { place: Place::whole(input.name()), problem }),
        None => parsers::read(input, format, collector),
    }
}

/// Reads a file, or standard input for `-`, as one document, and returns its text: HTML without its tags, the subject
/// and texts of a message of mail, anything else unchanged, with invalid UTF-8 replaced by U+FFFD. Other encodings are
/// detected by byte order marks or the declaration of a page.
///
/// # Errors
/// When it cannot be read, or is not text or clearly not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, Error> {
    let mut input = Input::open(path)?.decoded(None, None)?;
    let format = if input.format().has_rows() { Format::Text } else { input.format() };
    if let Some(problem) = input.refusal(format, false, false) {
        return Err(Error::Document { place: Place::whole(input.name()), problem });
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(input.unreadable())?;
    let text = match format {
        Format::Html => html_text(&bytes),
        Format::Eml => Message::parse(&bytes).text,
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    };
    if encoding::is_mostly_replaced(&text) {
        return Err(Error::Document { place: Place::whole(input.name()), problem: Problem::NotUtf8 });
    }
    Ok(text)
}

/// Receives the rows of an input that its caller reads ([`Documents::read_inputs`]).
pub struct InputRows<'c, 'd>(&'c mut Collector<'d>);

impl InputRows<'_, '_> {
    /// Reads a table as [`Input::for_each_row_with`] does. `visit` returns the document of a row, or `None` for a row
    /// that is not a document: it never counts as a duplicate, and is copied.
    ///
    /// # Errors
    /// As [`Input::for_each_row_with`]; when the table cannot be copied.
    pub fn read_table<E: From<Error>>(
        &mut self,
        input: Input,
        format: Format,
        columns: ColumnNames<'_>,
        visit: impl FnMut(Place, &[Value<'_>]) -> Result<Option<Document>, E>,
    ) -> Result<(), E> {
        table_reader::read(input, format, columns, Some(&mut *self.0), visit)
    }

    /// Begins an input that is not a table but `kind`, such as `"a list"`: each row is an id and a text.
    ///
    /// # Errors
    /// When each input is to be copied to a file of its own, or such rows do not fit into the file.
    pub fn enter(&mut self, input: &str, kind: &'static str) -> Result<(), Error> {
        self.0.refuse_file_form(input, kind)?;
        self.0.enter(input, || Shape::Lines)
    }

    /// Takes the next row of an input that is not a table.
    ///
    /// # Errors
    /// When the row cannot be written.
    pub fn take(&mut self, document: Option<&Document>) -> Result<(), Error> {
        self.0.pass(Row::Text, document)
    }
}

impl Documents {
    /// Calls `read` with every input, which is decompressed but not decoded, and the receiver of its rows. The documents
    /// must be [`Documents::copyable`] or [`Documents::copyable_as_files`]; other options than these, the names of fields
    /// and the callbacks say nothing. Paths of directories are refused.
    ///
    /// # Errors
    /// When an input cannot be opened or copied; or the error that `read` returns.
    pub fn read_inputs<E: From<Error>>(
        &self,
        mut read: impl FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_input(Destination::Sink(&mut |_| Ok(())), &mut read).map(drop)
    }

    /// Copies rows as [`Documents::copy`] does, after [`Documents::read_inputs`]; `read` gives the same rows again.
    ///
    /// # Errors
    /// As [`Documents::read_inputs`] and [`Documents::copy`].
    ///
    /// # Panics
    /// As [`Documents::copy`].
    pub fn copy_inputs<E: From<Error>>(
        &self,
        wanted: impl Iterator<Item = u32>,
        file: AtomicFile,
        mut read: impl FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), E>,
    ) -> Result<Copied, E> {
        self.copy_by(wanted, file, |documents, rows| documents.each_input(Destination::Rows(rows), &mut read))
    }

    /// Copies each input to a file of its own as [`Documents::copy_files`] does, after [`Documents::read_inputs`]; `read`
    /// gives the same rows again.
    ///
    /// # Errors
    /// As [`Documents::read_inputs`] and [`Documents::copy_files`].
    ///
    /// # Panics
    /// As [`Documents::copy_files`].
    pub fn copy_input_files<E: From<Error>>(
        &self,
        wanted: impl Iterator<Item = u32>,
        directory: AtomicDirectory,
        mut read: impl FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), E>,
    ) -> Result<Copied, E> {
        self.copy_files_by(wanted, directory, |documents, rows| {
            documents.each_input(Destination::Rows(rows), &mut read)
        })
    }

    fn each_input<'a, E: From<Error>>(
        &'a self,
        destination: Destination<'a>,
        read: &mut dyn FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), E>,
    ) -> Result<Counts, E> {
        let mut stopped = None;
        let outcome = self.read_paths(destination, &mut |path, collector| {
            collector.begin_file(path, Path::new(path.file_name().unwrap_or_default()));
            let input = collector.open_undecoded(path)?.temp_dir(collector.temp_dir());
            let format = input.format();
            if !collector.enter_input(&input, format)? {
                return Ok(());
            }
            read(input, &mut InputRows(collector)).map_err(|error| {
                stopped = Some(error);
                Error::Stopped
            })
        });
        outcome.map_err(|error| stopped.unwrap_or_else(|| error.into()))
    }
}
