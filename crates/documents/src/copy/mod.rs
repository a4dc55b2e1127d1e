//! Copies of input rows: the rows that remain without the duplicates.
//!
//! Inputs are read twice. The first pass finds the columns that they have in common; inputs that cannot be read twice
//! are kept in a temporary file. The second pass copies the wanted rows, and all rows that could not be read as
//! documents: these never count as duplicates.
//!
//! One file takes the columns of all inputs, or each input is copied to a file of its own.
//!
//! - [`agreed`]: the columns of the output that fit all inputs
//! - [`union`]: one table of inputs with other columns
//! - [`plan`]: the state kept between the two passes
//! - [`output`]: the file that is written
//! - [`columnar`]: the same as Parquet or Arrow
//! - [`folder_copier`]: the second pass of a copy in which each input has a file of its own

pub(crate) mod agreed;
#[cfg(feature = "parquet")]
mod columnar;
mod folder_copier;
mod output;
pub(crate) mod plan;
pub(crate) mod union;

use std::iter::Peekable;

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
use hamdex_atomic_file::AtomicFile;

use crate::copy::output::Output;
use crate::copy::plan::Target;
use crate::copy::union::cells::distinct;
use crate::document::{Counts, Document};
use crate::error::Error;
#[cfg(feature = "parquet")]
use crate::input::Input;
use crate::read::collector::Destination;
use crate::read::options::Documents;
use crate::rows::{Row, RowSink, Shape};
#[cfg(feature = "parquet")]
use crate::table_reader::columnar::names as column_names;

/// The result of [`Documents::copy`](crate::Documents::copy) and
/// [`Documents::copy_files`](crate::Documents::copy_files).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Rows written.
    pub rows: u64,
    /// Rows written that are not documents: they lack a text or an id.
    pub unread: u64,
    /// Rows left out although they are not known to be duplicates: they are malformed or too long to be read.
    pub left_out: u64,
    /// Rows left out since they are not documents and the output has only ids and texts.
    pub without_text: u64,
    /// Whether the output has only ids and texts although the inputs have more columns.
    pub is_partial: bool,
    /// Files written, if each input has its own.
    pub files: u64,
    /// Files that are a duplicate as a whole, so that the copy lacks them.
    pub duplicate_files: u64,
    /// Files of directories that were not read, so that the copy lacks them, too.
    pub passed_over: u64,
}

/// Copies rows.
pub(crate) struct Copier<'k> {
    output: Output,
    /// The numbers of the wanted documents, ascending.
    wanted: Peekable<Box<dyn Iterator<Item = u32> + 'k>>,
    /// The number of the next document.
    next: u32,
    /// The columns of the current input.
    names: Vec<String>,
    /// The names of id and text in an output that has nothing else.
    fields: [String; 2],
    /// A flag per row of the current batch: whether it is wanted.
    #[cfg(feature = "parquet")]
    mask: Vec<bool>,
    pub(crate) copied: Copied,
}

impl<'k> Copier<'k> {
    pub(crate) fn new(
        output: Output,
        wanted: Box<dyn Iterator<Item = u32> + 'k>,
        fields: [String; 2],
    ) -> Self {
        Self {
            output,
            wanted: wanted.peekable(),
            next: 0,
            names: Vec::new(),
            fields,
            #[cfg(feature = "parquet")]
            mask: Vec::new(),
            copied: Copied::default(),
        }
    }

    fn count(&mut self, is_written: bool, is_document: bool) {
        self.copied.rows += u64::from(is_written);
        self.copied.unread += u64::from(is_written && !is_document);
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<Copied, Error> {
        self.output.finish()?;
        Ok(self.copied)
    }
}

impl Documents {
    /// Copies rows of the inputs to `file`: the rows of the `wanted` documents, numbered from 0 in the order in which
    /// they were read, and all rows without an id or a text, since these never count as duplicates. The
    /// documents must be [`Documents::copyable`] and have been read before. They are read again, and must not have
    /// changed.
    ///
    /// Rows keep all their columns: objects of JSON are copied as they are, each on a line; records of CSV and TSV
    /// with all their fields, columns of Parquet and Arrow with their types. Where these or the formats differ, the file
    /// has the columns of all inputs ([`Documents::copyable`]), or ids and texts alone ([`Documents::drop_columns`],
    /// [`Copied::is_partial`]). The file gets its name when it is complete.
    ///
    /// # Errors
    /// As [`Documents::read`]; when the inputs have changed; when a value does not fit into the type of its column
    /// ([`CopyErrorKind::Value`](crate::CopyErrorKind::Value)); when the file cannot be written.
    ///
    /// # Panics
    /// When the documents are not copyable to one file, or `wanted` is not in ascending order.
    pub fn copy(&self, wanted: impl Iterator<Item = u32>, file: AtomicFile) -> Result<Copied, Error> {
        self.copy_by(wanted, file, |documents, rows| documents.read_all(Destination::Rows(rows)))
    }

    /// Copies the rows that `read` gives.
    pub(crate) fn copy_by<E: From<Error>>(
        &self,
        wanted: impl Iterator<Item = u32>,
        file: AtomicFile,
        read: impl FnOnce(&Self, &mut dyn RowSink) -> Result<Counts, E>,
    ) -> Result<Copied, E> {
        let fields = [self.id_name(), &self.text_fields[0]];
        let (layout, is_partial) = {
            let plan = self.plan().expect("the documents are copyable");
            let Target::File(agreed) = &plan.target else { panic!("the documents are copyable to one file") };
            agreed.layout()
        };
        let output = Output::new(file, &layout, fields)?;
        let mut copier = Copier::new(output, Box::new(ascending(wanted)), fields.map(str::to_owned));
        copier.copied.is_partial = is_partial;
        // Problems were reported in the first pass.
        read(&self.quiet(), &mut copier)?;
        Ok(copier.finish()?)
    }
}

/// Asserts that the numbers of wanted documents ascend.
fn ascending(wanted: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut last = None;
    wanted.inspect(move |&number| {
        assert!(last.replace(number).is_none_or(|last| last < number), "wanted documents are ascending");
    })
}

impl RowSink for Copier<'_> {
    #[cfg(feature = "parquet")]
    fn begin(&mut self, input: &Input) -> Result<(), Error> {
        self.output.begin(input.name())
    }

    fn enter(&mut self, shape: Shape) -> Result<(), Error> {
        self.names = match shape {
            Shape::Records { names, .. } => distinct(names.unwrap_or_default()),
            #[cfg(feature = "parquet")]
            Shape::Columns { schema, .. } => distinct(column_names(&schema)),
            _ => Vec::new(),
        };
        self.output.enter(&self.names);
        Ok(())
    }

    fn take(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<(), Error> {
        let is_wanted = match document {
            None => true,
            Some(_) => {
                let number = self.next;
                self.next += 1;
                self.wanted.next_if_eq(&number).is_some()
            }
        };
        #[cfg(feature = "parquet")]
        if matches!(row, Row::OfBatch) && self.output.takes_batches(self.copied.is_partial) {
            self.mask.push(is_wanted);
            self.count(is_wanted, document.is_some());
            return Ok(());
        }
        if !is_wanted {
            return Ok(());
        }
        let is_written = self.output.write(row, document, &self.names, &self.fields)?;
        if is_written {
            self.count(true, document.is_some());
        } else {
            self.copied.without_text += 1;
        }
        Ok(())
    }

    fn leave_out(&mut self) {
        self.copied.left_out += 1;
    }

    #[cfg(feature = "parquet")]
    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if !self.output.takes_batches(self.copied.is_partial) {
            return Ok(());
        }
        self.output.write_batch(batch, std::mem::take(&mut self.mask), &self.names)
    }
}
