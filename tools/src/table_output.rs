//! Results in a file, as a table in the format of its ending: a row for each id of each result.

use std::path::Path;

use hamdex_atomic_file::{AtomicFile, Inputs};
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};

use crate::failure::Failure;
use crate::ids::Ids;
use crate::output::{Force, Output, is_standard_output};

/// The columns of results.
pub(crate) type Columns<'a> = &'a [(&'a str, Kind)];

/// A table of results.
pub(crate) struct TableOutput(Rows);

impl TableOutput {
    /// Returns the file of an argument, if it names one; the columns are given to [`open`](Self::open).
    pub(crate) fn create(
        argument: Option<&Path>,
        force: Force,
        inputs: &Inputs,
    ) -> Result<Option<(AtomicFile, TableFormat)>, Failure> {
        let Some(path) = argument else { return Ok(None) };
        let output = Output::new(path, force, inputs);
        output.check()?;
        // A device has no ending.
        let is_device = path.metadata().is_ok_and(|there| !there.is_file());
        let format = match is_device || is_standard_output(path) {
            true => TableFormat::Jsonl,
            false => TableFormat::of(path)?,
        };
        Ok(Some((output.create()?, format)))
    }

    pub(crate) fn open(
        (file, format): (AtomicFile, TableFormat),
        columns: Columns<'_>,
    ) -> Result<Self, Failure> {
        Ok(Self(Rows::new(file, format, columns)?))
    }

    /// Writes a result without ids.
    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        Ok(self.0.push(cells)?)
    }

    /// Writes a result: a row with each of its ids and the number of all.
    pub(crate) fn push_with_ids(&mut self, cells: &[Cell<'_>], ids: &Ids<'_>) -> Result<(), Failure> {
        ids.for_each_cell(&mut |id| self.push(&[cells, &[id, Cell::Number(ids.all())]].concat()))
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        Ok(self.0.finish()?)
    }
}

/// Returns the kind of the ids of a set.
pub(crate) fn id_kind(has_names: bool) -> Kind {
    if has_names { Kind::Text } else { Kind::Number }
}
