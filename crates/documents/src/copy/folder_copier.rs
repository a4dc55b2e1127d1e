//! The second reading of the inputs, each of which is copied to a file of its own in its format.

use std::fs::File;
use std::io::{self, Write};
use std::iter::Peekable;

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
use hamdex_atomic_file::AtomicDirectory;

#[cfg(feature = "parquet")]
use crate::copy::columnar::Columns;
use crate::copy::plan::Entry;
use crate::copy::{Copied, ascending};
use crate::document::{Counts, Document};
use crate::error::Error;
use crate::input::encoding::Encoded;
use crate::input::source::Compression;
use crate::input::{Input, input_name};
use crate::read::collector::Destination;
use crate::read::options::Documents;
use crate::rows::{Row, RowSink, Shape};
use crate::table_reader::csv::Records;
use crate::table_writer::Sink;

/// The file of the current input.
enum Current {
    /// Rows are not written: there is nothing to write, or the file was copied.
    Done,
    /// The file lacks rows, and its columns are not known yet.
    Pending(Entry, Option<Compression>, Encoded),
    Rows(Rewritten),
}

/// Copies files.
struct FolderCopier<'k> {
    directory: AtomicDirectory,
    /// The next inputs, each with the number of the document behind its last one.
    entries: std::vec::IntoIter<(Entry, u64)>,
    /// The numbers of the wanted documents, ascending.
    wanted: Peekable<Box<dyn Iterator<Item = u32> + 'k>>,
    /// A flag per document of the current input: whether it is wanted.
    flags: std::vec::IntoIter<bool>,
    current: Current,
    /// A flag per row of the current batch.
    #[cfg(feature = "parquet")]
    mask: Vec<bool>,
    copied: Copied,
}

impl Documents {
    /// Copies each input to a file of its own in `directory`: rows as [`Documents::copy`] does, in the format, columns,
    /// encoding and compression of the input. A file of a directory has the path below it, a named file its name. A file
    /// that loses no row is copied byte for byte. One that is a document as a whole is absent if it is not wanted. The
    /// documents must be [`Documents::copyable_as_files`] and have been read before. The directory gets its name when it
    /// is complete; that may be the name of an empty directory.
    ///
    /// # Errors
    /// As [`Documents::read`]; when the inputs have changed; when a file cannot be written. There is no directory then.
    ///
    /// # Panics
    /// When the documents are not copyable as files, or `wanted` is not in ascending order.
    pub fn copy_files(
        &self,
        wanted: impl Iterator<Item = u32>,
        directory: AtomicDirectory,
    ) -> Result<Copied, Error> {
        self.copy_files_by(wanted, directory, |documents, rows| documents.read_all(Destination::Rows(rows)))
    }

    /// Copies the inputs whose rows `read` gives.
    pub(crate) fn copy_files_by<E: From<Error>>(
        &self,
        wanted: impl Iterator<Item = u32>,
        directory: AtomicDirectory,
        read: impl FnOnce(&Self, &mut dyn RowSink) -> Result<Counts, E>,
    ) -> Result<Copied, E> {
        let entries = {
            let mut plan = self.plan().expect("the documents are copyable");
            let all = plan.documents();
            let folder = plan.folder().expect("the documents are copyable as files");
            let entries = folder.entries();
            let ends = entries.iter().skip(1).map(|entry| entry.start).chain([all]);
            entries.iter().cloned().zip(ends).collect::<Vec<_>>()
        };
        let wanted: Box<dyn Iterator<Item = u32> + '_> = Box::new(ascending(wanted));
        let mut copier = FolderCopier {
            directory,
            entries: entries.into_iter(),
            wanted: wanted.peekable(),
            flags: Vec::new().into_iter(),
            current: Current::Done,
            #[cfg(feature = "parquet")]
            mask: Vec::new(),
            copied: Copied::default(),
        };
        // Problems were reported in the first pass.
        read(&self.quiet(), &mut copier)?;
        copier.end()?;
        copier.directory.publish_over_empty().map_err(Error::from)?;
        Ok(copier.copied)
    }
}

impl FolderCopier<'_> {
    /// Completes the current file.
    fn end(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.current, Current::Done) {
            Current::Done | Current::Pending(..) => Ok(()),
            Current::Rows(rows) => rows.finish(),
        }
    }

    /// Copies a file byte for byte.
    fn copy_whole(&mut self, entry: &Entry) -> Result<(), Error> {
        let unreadable = |source| Error::Read { input: input_name(&entry.path), source };
        let mut from = File::open(&entry.path).map_err(unreadable)?;
        let mut to = self.directory.create_file(&entry.name)?;
        let failed = to.failed();
        io::copy(&mut from, &mut to).map_err(failed)?;
        to.finish()?;
        self.copied.files += 1;
        Ok(())
    }
}

impl RowSink for FolderCopier<'_> {
    fn begin(&mut self, input: &Input) -> Result<(), Error> {
        self.end()?;
        let (entry, end) = self.entries.next().ok_or(Error::Changed)?;
        let wanted = &mut self.wanted;
        let is_wanted = |document: u64| {
            u32::try_from(document).is_ok_and(|document| wanted.next_if_eq(&document).is_some())
        };
        let flags: Vec<bool> = (entry.start..end).map(is_wanted).collect();
        let is_all = entry.is_intact && flags.iter().all(|&is_wanted| is_wanted);
        self.flags = flags.into_iter();
        #[cfg(feature = "parquet")]
        self.mask.clear();
        if !entry.has_rows {
            self.copied.passed_over += 1;
        } else if is_all {
            self.copy_whole(&entry)?;
        } else if !entry.is_document {
            let (compression, encoded) = input.packing();
            self.current = Current::Pending(entry, compression, encoded);
        } else if entry.is_intact {
            self.copied.duplicate_files += 1;
        }
        Ok(())
    }

    fn enter(&mut self, shape: Shape) -> Result<(), Error> {
        self.current = match std::mem::replace(&mut self.current, Current::Done) {
            Current::Pending(entry, compression, encoded) => {
                let file = Sink::compressed(self.directory.create_file(&entry.name)?, compression)?;
                self.copied.files += 1;
                Current::Rows(Rewritten::new(file, encoded, &shape)?)
            }
            current => current,
        };
        Ok(())
    }

    fn header(&mut self, records: &Records) -> Result<(), Error> {
        match &mut self.current {
            Current::Rows(rows) => rows.write(Row::Record(records)),
            _ => Ok(()),
        }
    }

    fn take(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<(), Error> {
        let is_wanted = match document {
            None => true,
            Some(_) => self.flags.next().ok_or(Error::Changed)?,
        };
        #[cfg(feature = "parquet")]
        if matches!(row, Row::OfBatch) {
            self.mask.push(is_wanted);
        }
        self.copied.rows += u64::from(is_wanted);
        self.copied.unread += u64::from(document.is_none());
        match &mut self.current {
            Current::Rows(rows) if is_wanted => rows.write(row),
            _ => Ok(()),
        }
    }

    fn leave_out(&mut self) {
        self.copied.left_out += 1;
    }

    fn pass_over(&mut self, files: u64) {
        self.copied.passed_over += files;
    }

    #[cfg(feature = "parquet")]
    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let mask = std::mem::take(&mut self.mask);
        match &mut self.current {
            Current::Rows(rows) => rows.write_batch(batch, mask),
            _ => Ok(()),
        }
    }
}

/// A file of rows.
pub(super) enum Rewritten {
    Text(TextFile),
    #[cfg(feature = "parquet")]
    Columns(Box<Columns>),
}

/// A file of text, in its encoding.
pub(super) struct TextFile {
    file: Sink,
    encoded: Encoded,
    /// Whether objects are in an array, and whether there is one already.
    array: Option<bool>,
}

impl Rewritten {
    pub(super) fn new(file: Sink, encoded: Encoded, shape: &Shape) -> Result<Self, Error> {
        #[cfg(feature = "parquet")]
        if let Shape::Columns { schema, container } = shape {
            return Ok(Self::Columns(Box::new(Columns::new(file, *container, schema)?)));
        }
        let array = matches!(shape, Shape::Objects { are_in_array: true }).then_some(false);
        let mut text = TextFile { file, encoded, array };
        if encoded.has_mark {
            text.write(&["\u{feff}".as_bytes()])?;
        }
        Ok(Self::Text(text))
    }

    /// Writes a row, unless it is part of a batch.
    pub(super) fn write(&mut self, row: Row<'_>) -> Result<(), Error> {
        let text = match self {
            Self::Text(text) => text,
            #[cfg(feature = "parquet")]
            Self::Columns(_) => return Ok(()),
        };
        match (row, &mut text.array) {
            (Row::Object(object), Some(has_one)) => {
                let separator: &[u8] = if std::mem::replace(has_one, true) { b",\n" } else { b"[\n" };
                text.write(&[separator, object.as_bytes()])
            }
            (Row::Object(line) | Row::Line(line), _) => text.write(&[line.as_bytes(), b"\n"]),
            (Row::Record(records), _) => text.write(&[records.raw_record(), records.line_end()]),
            _ => Ok(()),
        }
    }

    /// Writes the wanted rows of a batch.
    #[cfg(feature = "parquet")]
    pub(super) fn write_batch(&mut self, batch: &RecordBatch, wanted: Vec<bool>) -> Result<(), Error> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Columns(columns) => columns.write(batch, wanted),
        }
    }

    /// Completes the file and gives it its name.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Text(mut text) => {
                match text.array {
                    Some(true) => text.write(&[b"\n]\n"])?,
                    Some(false) => text.write(&[b"[]\n"])?,
                    None => {}
                }
                text.file.finish()
            }
            #[cfg(feature = "parquet")]
            Self::Columns(columns) => columns.finish(),
        }
    }
}

impl TextFile {
    fn write(&mut self, pieces: &[&[u8]]) -> Result<(), Error> {
        let Self { file, encoded, .. } = self;
        let written: io::Result<()> =
            pieces.iter().try_for_each(|piece| file.write_all(&encoded.encode(piece)?));
        Ok(written.map_err(|error| file.failed()(error))?)
    }
}
