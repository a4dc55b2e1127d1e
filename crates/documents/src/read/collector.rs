//! The receiver of documents: counts them and their problems, and passes them on.

use std::borrow::Cow;
use std::fs::File;
use std::mem;
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

use crate::copy::plan::{self, Folder};
use crate::document::{Counts, Document};
use crate::error::Error;
use crate::format::{FileSort, Format};
use crate::input::{Input, encoding, input_name};
use crate::problem::{Action, Notice, Place, Problem, SomeNames};
use crate::read::options::Documents;
use crate::read::repeated::{KnownFiles, RepeatedIds};
use crate::rows::{Row, RowSink, Shape};
use crate::table_reader::csv::Records;

/// Receives documents.
pub(crate) type Sink<'a> = dyn FnMut(Document) -> Result<(), Error> + 'a;

/// The destination of documents.
pub(crate) enum Destination<'a> {
    Sink(&'a mut Sink<'a>),
    /// Receives all rows, documents or not.
    Rows(&'a mut dyn RowSink),
    /// Nothing is read but the starts of inputs, to learn whether each can be copied to a file of its own.
    Probe,
}

impl Destination<'_> {
    pub(crate) fn is_probe(&self) -> bool {
        matches!(self, Self::Probe)
    }
}

/// A file that is read.
struct Origin {
    path: PathBuf,
    /// Its path in a copy of all files.
    name: PathBuf,
    /// Whether its rows are being read.
    is_begun: bool,
}

/// Counts documents, reports problems with them, and passes them to a destination.
pub(crate) struct Collector<'a> {
    pub(crate) documents: &'a Documents,
    counts: Counts,
    repeats: RepeatedIds,
    destination: Destination<'a>,
    /// Whether there is one input, so that the number of a row identifies it.
    is_only_input: bool,
    /// Whether the input was in another encoding, so that U+FFFD marks invalid text.
    is_transcoded: bool,
    /// Whether parts of the document that is read next are replaced.
    is_damaged: bool,
    files: KnownFiles,
    /// The current file, outside archives.
    origin: Option<Origin>,
    /// Files that should hold documents and could not be read whole.
    unread: SomeNames,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(documents: &'a Documents, is_only_input: bool, destination: Destination<'a>) -> Self {
        Self {
            documents,
            counts: Counts::default(),
            repeats: RepeatedIds::new(documents.strict),
            destination,
            is_only_input,
            is_transcoded: false,
            is_damaged: false,
            files: KnownFiles::default(),
            origin: None,
            unread: SomeNames::default(),
        }
    }

    /// Returns the counts after everything is read. Fails if a file was not read that should have been.
    pub(crate) fn finish(mut self) -> Result<Counts, Error> {
        if let Some(mut plan) = self.documents.plan() {
            plan.end_input()?;
        }
        self.report_columns();
        if let Some((place, problem)) = self.files.notice() {
            self.notify(place, problem);
        }
        if self.unread.count > 0 && !self.documents.skips_unreadable {
            return Err(Error::Unread { names: self.unread });
        }
        if let RepeatedIds::Counted(sample) = self.repeats {
            let (repeated, are_all) = sample.count();
            (self.counts.repeated_ids, self.counts.ids_are_sampled) = (repeated, !are_all);
        }
        Ok(self.counts)
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        self.documents.max_document_bytes
    }

    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(&self, path: &Path) -> Result<Input, Error> {
        self.prepared(self.open_undecoded(path)?)
    }

    /// Opens it as it is, in whatever encoding.
    pub(crate) fn open_undecoded(&self, path: &Path) -> Result<Input, Error> {
        match self.stream(path)? {
            Some(file) => Input::of_stream(path, file),
            None => Input::open_with(path, self.documents.on_read.clone()),
        }
    }

    /// Decodes an input and detects its format.
    pub(crate) fn prepared(&self, input: Input) -> Result<Input, Error> {
        let Documents { format, encoding, .. } = self.documents;
        input.temp_dir(self.temp_dir()).decoded(*format, *encoding)
    }

    /// Returns the directory of temporary files.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        let given = self.documents.temp_dir.clone();
        given.unwrap_or_else(|| hamdex_atomic_file::temporary_directory(None))
    }

    /// Returns a copy of an input that cannot be read twice, if the documents are to be copied.
    fn stream(&self, path: &Path) -> Result<Option<File>, Error> {
        let Some(mut plan) = self.documents.plan() else { return Ok(None) };
        if plan.is_file(path) {
            return Ok(None);
        }
        if plan.folder().is_some() && (path.as_os_str() == "-" || path.exists()) {
            return Err(Error::no_file_form(&input_name(path), "a stream"));
        }
        let directory = self.temp_dir();
        let on_read = |count| {
            if let Some(report) = &self.documents.on_read {
                report(count);
            }
        };
        plan.open_stream(path, &directory, on_read).map(Some)
    }

    /// Returns whether a file was read before, under another name or path. It is counted and reported then, and not to
    /// be read again: each of its documents would be a duplicate of itself.
    pub(crate) fn is_repeated(&mut self, path: &Path) -> bool {
        let is_repeated = self.files.is_repeated(path);
        self.counts.repeated_files += u64::from(is_repeated);
        is_repeated
    }

    /// Forgets a file that was passed over, so that it is read where it is reached again.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.files.forget(path);
    }

    /// Counts files that are not read since their names say that they are not documents.
    pub(crate) fn leave_out(&mut self, place: Place, names: SomeNames) {
        self.counts.litter += names.count;
        self.pass_over(names.count);
        self.notify(place, Problem::Litter { names });
    }

    /// Starts a file with this name in a copy of all files.
    pub(crate) fn begin_file(&mut self, path: &Path, name: &Path) {
        self.origin = Some(Origin { path: path.to_owned(), name: name.to_owned(), is_begun: false });
    }

    /// Ends the file.
    pub(crate) fn end_file(&mut self) {
        self.origin = None;
    }

    /// Starts an input; returns whether it is to be read.
    pub(crate) fn enter_input(&mut self, input: &Input, format: Format) -> Result<bool, Error> {
        self.is_transcoded = input.is_transcoded();
        if self.is_probe() {
            plan::check(input, format)?;
        }
        let documents = self.counts.documents;
        if let Some(mut origin) = self.origin.take() {
            let is_probe = self.is_probe();
            self.with_folder(|folder| match is_probe {
                true => folder.name(input.name(), &origin.name),
                false => {
                    folder.begin(&origin.path, &origin.name, documents);
                    Ok(())
                }
            })?;
            origin.is_begun = true;
            self.origin = Some(origin);
        }
        self.counts.inputs += 1;
        if let Some(rows) = self.rows() {
            rows.begin(input)?;
        }
        Ok(!self.is_probe())
    }

    /// Calls `change` with the files of the copy in the first pass, if each input is copied to its own.
    fn with_folder(&self, change: impl FnOnce(&mut Folder) -> Result<(), Error>) -> Result<(), Error> {
        let Some(mut plan) = self.documents.plan() else { return Ok(()) };
        plan.new_folder().map_or(Ok(()), change)
    }

    /// Fails if each input is to be copied to its own file, and this is an archive, which holds several, or the like.
    pub(crate) fn refuse_file_form(&self, input: &str, what: &'static str) -> Result<(), Error> {
        self.with_folder(|_| Err(Error::no_file_form(input, what)))
    }

    /// Returns whether only the starts of inputs are read.
    pub(crate) fn is_probe(&self) -> bool {
        self.destination.is_probe()
    }

    /// Returns the receiver of all rows, if there is one.
    fn rows(&mut self) -> Option<&mut (dyn RowSink + 'a)> {
        match &mut self.destination {
            Destination::Rows(rows) => Some(&mut **rows),
            _ => None,
        }
    }

    fn pass_over(&mut self, files: u64) {
        if let Some(rows) = self.rows() {
            rows.pass_over(files);
        }
    }

    /// Takes the record that names the columns.
    pub(crate) fn header(&mut self, records: &Records) -> Result<(), Error> {
        self.rows().map_or(Ok(()), |rows| rows.header(records))
    }

    /// Starts the rows of an input, with these columns.
    pub(crate) fn enter(&mut self, input: &str, shape: impl FnOnce() -> Shape) -> Result<(), Error> {
        let Some(mut plan) = self.documents.plan() else { return Ok(()) };
        let shape = shape();
        plan.enter(input, shape.clone())?;
        drop(plan);
        self.report_columns();
        self.rows().map_or(Ok(()), |rows| rows.enter(shape))
    }

    /// Adds the fields of an object to the columns of the copy.
    fn enter_object(&self, row: Row<'_>) -> Result<(), Error> {
        match row {
            Row::Object(text) => self.documents.plan().map_or(Ok(()), |mut plan| plan.enter_object(text)),
            _ => Ok(()),
        }
    }

    /// Reports what the columns of inputs become in the copy.
    fn report_columns(&mut self) {
        let problems = self.documents.plan().map(|mut plan| plan.take_problems());
        for (input, problem) in problems.unwrap_or_default() {
            self.notify(Place::whole(input), problem);
        }
    }

    /// Announces several inputs: the files of a directory or archive.
    pub(crate) fn expect_several(&mut self) {
        self.is_only_input = false;
    }

    /// Returns the id of a row without one.
    pub(crate) fn row_id(&self, input: &str, number: u64) -> String {
        if self.is_only_input { number.to_string() } else { format!("{input}:{number}") }
    }

    pub(crate) fn take(
        &mut self,
        document: Document,
        row: Row<'_>,
        place: impl Fn() -> Place,
    ) -> Result<(), Error> {
        let is_undecodable = self.is_undecodable(&document.text);
        if mem::take(&mut self.is_damaged) {
            // What is left of texts in another encoding is alike.
            if is_undecodable {
                return match row {
                    // Their bytes are replaced, too.
                    Row::Object(_) | Row::Line(_) => self.lose_row(place(), Problem::NotUtf8),
                    _ => self.skip_row(place(), Problem::NotUtf8, row),
                };
            }
            self.counts.replaced += 1;
            self.report(place(), Problem::InvalidUtf8, Action::Replaced)?;
        }
        self.enter_object(row)?;
        match &mut self.repeats {
            RepeatedIds::Counted(sample) => sample.record(&document.id),
            RepeatedIds::Placed(places) => {
                let place = place();
                if let Some(first) = places.record(&document.id, &place) {
                    return Err(Error::Document {
                        place,
                        problem: Problem::RepeatedId { id: document.id, first },
                    });
                }
            }
        }
        self.counts.take(&document.text);
        match &mut self.destination {
            Destination::Sink(sink) => sink(document),
            Destination::Rows(rows) => rows.take(row, Some(&document)),
            Destination::Probe => Ok(()),
        }
    }

    /// Takes a row that the caller of the library read.
    pub(crate) fn pass(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<(), Error> {
        self.counts.documents += u64::from(document.is_some());
        self.rows().map_or(Ok(()), |rows| rows.take(row, document))
    }

    /// Reports the fields of a record in which invalid UTF-8 is replaced, since they become text of another format.
    pub(crate) fn note_replaced(&mut self, records: &Records) -> Result<(), Error> {
        self.check(&records.fields().collect::<Vec<_>>());
        if !mem::take(&mut self.is_damaged) {
            return Ok(());
        }
        self.counts.replaced += 1;
        self.report(records.place(), Problem::InvalidUtf8, Action::Replaced)
    }

    /// Skips a row, which is an error in strict reading. The row never counts as a duplicate, so it is copied, unless
    /// it is malformed: other readers would fail on it.
    pub(crate) fn skip_row(&mut self, place: Place, problem: Problem, row: Row<'_>) -> Result<(), Error> {
        if matches!(problem, Problem::Malformed { .. } | Problem::LongRecord { .. }) {
            return self.lose_row(place, problem);
        }
        self.enter_object(row)?;
        self.skip(place, problem)?;
        self.rows().map_or(Ok(()), |rows| rows.take(row, None))
    }

    /// Skips a row that cannot be copied.
    pub(crate) fn lose_row(&mut self, place: Place, problem: Problem) -> Result<(), Error> {
        if let Some(rows) = self.rows() {
            rows.leave_out();
        }
        self.with_folder(|folder| {
            folder.lose();
            Ok(())
        })?;
        self.skip(place, problem)
    }

    /// Ends a batch of rows after all were taken or skipped.
    #[cfg(feature = "parquet")]
    pub(crate) fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.rows().map_or(Ok(()), |rows| rows.end_batch(batch))
    }

    /// Returns whether rows are copied, with all their columns.
    #[cfg(feature = "parquet")]
    pub(crate) fn is_copying(&self) -> bool {
        matches!(self.destination, Destination::Rows(_))
    }

    /// Counts an ignored link, pipe, socket or device.
    pub(crate) fn ignore(&mut self) {
        self.counts.passed_over += 1;
        self.pass_over(1);
    }

    /// Reports a notice that is not an error in strict reading.
    pub(crate) fn notify(&mut self, place: Place, problem: Problem) {
        if let Some(report) = &self.documents.on_notice {
            report(&Notice { place, problem, action: Action::Read });
        }
    }

    /// Skips a document or file, which is an error in strict reading.
    pub(crate) fn skip(&mut self, place: Place, problem: Problem) -> Result<(), Error> {
        self.count(&problem);
        match &problem {
            // Directories commonly contain such files, so they are neither reported nor an error.
            Problem::Binary => Ok(()),
            Problem::NotRead { kind } if kind.sort == FileSort::Other => Ok(()),
            _ => self.report(place, problem, Action::Skipped),
        }
    }

    /// Skips a file that need not hold documents.
    pub(crate) fn skip_other(&mut self, place: Place, problem: Problem) -> Result<(), Error> {
        self.end_rows()?;
        self.skip(place, problem)
    }

    /// Ends the rows of a file that is not read, or not to its end.
    fn end_rows(&mut self) -> Result<(), Error> {
        let documents = self.counts.documents;
        if self.origin.as_ref().is_some_and(|origin| origin.is_begun) {
            self.with_folder(|folder| {
                folder.break_off(documents);
                Ok(())
            })
        } else {
            self.pass_over(1);
            Ok(())
        }
    }

    fn count(&mut self, problem: &Problem) {
        let counts = &mut self.counts;
        *match problem {
            Problem::MissingField { .. }
            | Problem::MissingList { .. }
            | Problem::ShortRecord { .. }
            | Problem::Null => &mut counts.missing_field,
            Problem::TooLong { .. } => &mut counts.too_long,
            Problem::NotUtf8 | Problem::InvalidUtf8 => &mut counts.not_utf8,
            Problem::Binary => &mut counts.binary,
            Problem::NotRead { .. } => &mut counts.binary,
            Problem::Unreadable { .. }
            | Problem::Rejected { .. }
            | Problem::MissingColumn { .. }
            | Problem::NoPages => &mut counts.unreadable,
            _ => &mut counts.malformed,
        } += 1;
    }

    /// Skips a file that should hold documents, or the rest of it. Unless such files are to be skipped, reading fails
    /// after the last one.
    pub(crate) fn skip_file(&mut self, place: Place, problem: Problem) -> Result<(), Error> {
        self.end_rows()?;
        self.unread.add(&place.input);
        self.count(&problem);
        self.report(place, problem, Action::Skipped)
    }

    pub(crate) fn too_long(&mut self, place: Place, what: &'static str) -> Result<(), Error> {
        let max_bytes = self.max_bytes();
        self.lose_row(place, Problem::TooLong { what, max_bytes })
    }

    /// Returns the bytes of the next document as text, with invalid UTF-8 replaced by U+FFFD, which is an error in strict
    /// reading.
    pub(crate) fn text<'t>(&mut self, bytes: &'t [u8]) -> Cow<'t, str> {
        // Concatenated files have byte order marks inside.
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        self.is_damaged = match &text {
            Cow::Borrowed(text) => self.has_replaced(text),
            Cow::Owned(_) => true,
        };
        text
    }

    /// Looks for invalid UTF-8 in pieces of the next document, which is an error in strict reading.
    pub(crate) fn check(&mut self, pieces: &[&[u8]]) {
        self.is_damaged = pieces
            .iter()
            .any(|piece| std::str::from_utf8(piece).map_or(true, |text| self.has_replaced(text)));
    }

    /// Looks for U+FFFD in the text of the next document, which was decoded by its own declarations.
    pub(crate) fn check_decoded(&mut self, text: &str) {
        self.is_damaged = text.contains(char::REPLACEMENT_CHARACTER);
    }

    /// Returns whether parts of the next document are replaced, and forgets it.
    pub(crate) fn take_damage(&mut self) -> bool {
        mem::take(&mut self.is_damaged)
    }

    /// Returns whether so much of the next document is replaced that it was not UTF-8.
    pub(crate) fn is_undecodable(&self, text: &str) -> bool {
        self.is_damaged && encoding::is_mostly_replaced(text)
    }

    /// Adds what [`Collector::take_damage`] returned for another part of the next document.
    pub(crate) fn add_damage(&mut self, is_damaged: bool) {
        self.is_damaged |= is_damaged;
    }

    /// Returns whether all fields of records are copied as text, and not as they are.
    pub(crate) fn converts_records(&self) -> bool {
        self.documents.plan().is_some_and(|plan| plan.converts_records())
    }

    /// Returns whether the decoder of the input has replaced something.
    fn has_replaced(&self, text: &str) -> bool {
        self.is_transcoded && text.contains(char::REPLACEMENT_CHARACTER)
    }

    /// Reports a problem, which is an error in strict reading.
    pub(crate) fn report(&mut self, place: Place, problem: Problem, action: Action) -> Result<(), Error> {
        if self.documents.strict {
            return Err(Error::Document { place, problem });
        }
        if let Some(report) = &self.documents.on_notice {
            report(&Notice { place, problem, action });
        }
        Ok(())
    }
}
