//! The ids of fingerprints, in lines, in JSON, and in tables, which have a row for each id of each result.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use hamdex::set::MatchIds;
use hamdex::{Fingerprint, FingerprintSet, Names};
use hamdex_atomic_file::Inputs;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::failure::Failure;
use crate::names;
use crate::output::{Force, Output, is_standard_output};

/// An id as it is shown: by its name, if it has one.
pub(crate) enum Id<'a> {
    Number(u64),
    Name(Cow<'a, [u8]>),
}

impl Id<'_> {
    /// Returns the id as the rest of a line.
    pub(crate) fn written(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Number(id) => Cow::Owned(id.to_string().into_bytes()),
            Self::Name(name) => names::written(name),
        }
    }

    /// Calls `visit` with the id as a cell of a table.
    pub(crate) fn visit_cell<T>(&self, visit: impl FnOnce(Cell<'_>) -> T) -> T {
        match self {
            Self::Number(id) => visit(Cell::Number(*id)),
            Self::Name(name) => visit(Cell::Text(&Names::text_of(name))),
        }
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(id) => serializer.serialize_u64(*id),
            Self::Name(name) => serializer.serialize_str(&Names::text_of(name)),
        }
    }
}

/// The ids of a match or pair that are printed, unless another number is requested.
pub(crate) const DEFAULT_LIMIT: &str = "10";

/// The first ids of a fingerprint, and the number of all.
pub(crate) struct Ids<'a> {
    list: List<'a>,
    all: u64,
}

/// Numbers, read one after the other, or names.
enum List<'a> {
    Numbers(MatchIds<'a>),
    Names(Vec<Vec<u8>>),
}

impl<'a> Ids<'a> {
    /// Returns at most `max` ids as they are shown: by their names, if `names` has some.
    pub(crate) fn new<F: Fingerprint>(
        found: MatchIds<'a>,
        names: Option<&dyn FingerprintSet<F>>,
        max: usize,
    ) -> Result<Self, Failure> {
        let (all, found) = (found.all(), found.limit(max));
        let Some(names) = names else { return Ok(Self { list: List::Numbers(found), all }) };
        let name = |stored| Ok(names.name_of(stored)?.unwrap_or_default().into_owned());
        let list = List::Names(found.map(name).collect::<Result<_, Failure>>()?);
        Ok(Self { list, all })
    }

    /// Returns these numbers, the first of so many.
    pub(crate) fn numbers(ids: Vec<u64>, all: u64) -> Self {
        Self { list: List::Numbers(MatchIds::from(ids)), all }
    }

    /// Returns these names, the first of so many.
    pub(crate) fn names(names: Vec<Vec<u8>>, all: u64) -> Self {
        Self { list: List::Names(names), all }
    }

    /// Returns the number of all ids of the fingerprint, if there are more than these.
    pub(crate) fn count(&self) -> Option<u64> {
        (self.all > self.len() as u64).then_some(self.all)
    }

    /// Returns the number of all ids of the fingerprint.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// Calls `visit` with each id as a cell of a table.
    pub(crate) fn for_each_cell(
        &self,
        visit: &mut dyn FnMut(Cell<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match &self.list {
            List::Numbers(ids) => ids.clone().try_for_each(|stored| visit(Cell::Number(stored.id))),
            List::Names(names) => names.iter().try_for_each(|name| visit(Cell::Text(&Names::text_of(name)))),
        }
    }

    fn len(&self) -> usize {
        match &self.list {
            List::Numbers(ids) => ids.len(),
            List::Names(names) => names.len(),
        }
    }

    /// Writes a tab and the ids, separated by commas, and how many more there are; nothing if there are none.
    pub(crate) fn print(self, output: &mut impl Write) -> io::Result<()> {
        let (shown, all) = (self.len(), self.all);
        match self.list {
            List::Numbers(ids) => {
                print(output, ids.map(|stored| Cow::Owned(stored.id.to_string().into_bytes())))?;
            }
            List::Names(ids) => print(output, ids.iter().map(|name| names::written_in_list(name)))?,
        }
        match all - shown as u64 {
            0 => Ok(()),
            more => write!(output, "{}+{more}", if shown == 0 { "\t" } else { "," }),
        }
    }

    /// Calls `visit` with each id as the rest of a line.
    pub(crate) fn for_each(self, visit: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self.list {
            List::Numbers(mut ids) => ids.try_for_each(|stored| visit(stored.id.to_string().as_bytes())),
            List::Names(all) => all.iter().try_for_each(|name| visit(&names::written(name))),
        }
    }
}

fn print<'i>(output: &mut impl Write, ids: impl Iterator<Item = Cow<'i, [u8]>>) -> io::Result<()> {
    for (number, id) in ids.enumerate() {
        output.write_all(if number == 0 { b"\t" } else { b"," })?;
        output.write_all(&id)?;
    }
    Ok(())
}

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.list {
            List::Names(names) => serializer.collect_seq(names.iter().map(|name| Names::text_of(name))),
            List::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|stored| sequence.serialize_element(&stored.id))?;
                sequence.end()
            }
        }
    }
}

/// The columns of results.
pub(crate) type Columns<'a> = &'a [(&'a str, Kind)];

/// A table of results.
pub(crate) struct TableOutput(Rows);

impl TableOutput {
    /// Creates the file of an argument, if it names one.
    pub(crate) fn create(
        argument: Option<&Path>,
        force: Force,
        inputs: &Inputs,
        columns: Columns<'_>,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = argument else { return Ok(None) };
        let output = Output::new(path, force, inputs);
        output.check()?;
        // A device has no ending.
        let is_device = path.metadata().is_ok_and(|there| !there.is_file());
        let format = match is_device || is_standard_output(path) {
            true => TableFormat::Jsonl,
            false => TableFormat::of(path)?,
        };
        Ok(Some(Self(Rows::new(output.create()?, format, columns)?)))
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
