//! Inputs whose rows the caller reads: copies of rows that are no documents, such as fingerprints.

use std::path::Path;

use hamdex_atomic_file::{AtomicDirectory, AtomicFile};

use crate::copy::Copied;
use crate::copy::layout::{Row, Shape};
use crate::document::{Counts, Document};
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::problem::Place;
use crate::read::collector::{Collector, Destination};
use crate::read::options::Documents;
use crate::table_reader::Value;
use crate::table_reader::rows::{self, ColumnNames};

/// Receives the rows of an input that its caller reads ([`Documents::read_inputs`]).
pub struct InputRows<'c, 'd>(&'c mut Collector<'d>);

impl InputRows<'_, '_> {
    /// Reads a table as [`Input::for_each_row_with`] does. `visit` returns the document of a row, or `None` for a row
    /// that is no document: it never counts as a duplicate, and is copied.
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
        rows::read(input, format, columns, Some(&mut *self.0), visit)
    }

    /// Begins an input that is no table but `kind`, such as `"a list"`: each row is an id and a text.
    ///
    /// # Errors
    /// When each input is to be copied to a file of its own, or such rows do not fit into the file.
    pub fn enter(&mut self, input: &str, kind: &'static str) -> Result<(), Error> {
        self.0.refuse_file_form(input, kind)?;
        self.0.enter(input, || Shape::Lines)
    }

    /// Takes the next row of an input that is no table.
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
