//! The second reading of the inputs: the rows that are wanted are copied.

use std::iter::Peekable;

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

use crate::copy::layout::Shape;
use crate::copy::output::Output;
use crate::copy::row::{Row, TakeRows};
use crate::document::Document;
use crate::error::Error;

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Rows written.
    pub rows: u64,
    /// Those of them that are no documents: they lack a text or an id, or are damaged.
    pub unread: u64,
    /// Rows that are left out, though nothing says that they are duplicates: they are too long to be read, or no
    /// documents, and the output has nothing but ids and texts.
    pub left_out: u64,
    /// Whether the output has only the ids and texts of inputs that have more.
    pub is_partial: bool,
}

/// Copies rows.
pub(crate) struct Copier<'k> {
    output: Output,
    /// The numbers of the documents that are wanted, ascending.
    wanted: Peekable<Box<dyn Iterator<Item = u32> + 'k>>,
    /// The number of the next document.
    next: u32,
    /// The columns of the current input.
    names: Vec<String>,
    /// What id and text are called where there is nothing else.
    fields: [String; 2],
    /// For each row of the current batch whether it is wanted.
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

impl TakeRows for Copier<'_> {
    fn enter(&mut self, shape: Shape) {
        self.names = match shape {
            Shape::Records { names, .. } => names.unwrap_or_default(),
            _ => Vec::new(),
        };
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
        if matches!((&self.output, row), (Output::Columns(_), Row::OfBatch)) {
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
            self.leave_out();
        }
        Ok(())
    }

    fn leave_out(&mut self) {
        self.copied.left_out += 1;
    }

    #[cfg(feature = "parquet")]
    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.output {
            Output::Columns(columns) => columns.write(batch, std::mem::take(&mut self.mask)),
            _ => Ok(()),
        }
    }
}
