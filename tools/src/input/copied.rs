//! Inputs that are read twice: for their fingerprints, and to copy rows.

use hamdex::Fingerprint;
use hamdex_documents::{Document, Documents, Input, InputRows};

use crate::failure::Failure;
use crate::input::open::{Opened, refuse_directory};
use crate::input::{Form, Kind, Reader, Reading, Rows, read_one, table};

/// The inputs, as the first reading finds them.
#[derive(Default)]
pub(crate) struct InputKinds {
    kinds: Vec<(String, Kind)>,
    /// Rows without a fingerprint.
    pub(crate) missing: u64,
}

impl InputKinds {
    /// Returns whether an input is a table.
    pub(crate) fn have_table(&self) -> bool {
        self.kinds.iter().any(|(_, (format, _))| format.table().is_some())
    }

    /// Returns whether an input is a list.
    pub(crate) fn have_list(&self) -> bool {
        self.kinds.iter().any(|(_, (format, _))| format.table().is_none())
    }

    /// Returns the tables that have fingerprints, by name, with their form.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (&str, Form)> {
        self.kinds.iter().filter_map(|(name, (_, form))| Some((name.as_str(), (*form)?)))
    }
}

/// Reads the inputs, as [`read_rows`](super::read_rows) does, so that rows can be copied; or again, with
/// the same outcome.
pub(crate) fn read_to_copy<F: Fingerprint>(
    reading: &Reading<'_>,
    documents: &Documents,
    rows: &mut Rows<'_, F>,
) -> Result<InputKinds, Failure> {
    reading.paths.iter().try_for_each(|path| refuse_directory(path))?;
    let mut paths = reading.paths.iter();
    let (mut reader, mut inputs) = (Reader::new(reading)?, InputKinds::default());
    documents.read_inputs(|input, copied| {
        let name = input.name().to_owned();
        let path = paths.next().map_or("-".as_ref(), |path| path.as_path());
        let (missing, kind) = reader.read(Opened::new(path, input), Some(copied), rows)?;
        inputs.kinds.push((name, kind));
        inputs.missing += missing;
        Ok::<(), Failure>(())
    })?;
    reader.finish()?;
    Ok(inputs)
}

/// Returns a function that gives the rows of each input again. `document` makes a document of a fingerprint; that of a
/// list is written, if it is wanted, and that of a table stands for its row.
pub(crate) fn copy<'a, F: Fingerprint>(
    reading: &'a Reading<'_>,
    inputs: &'a InputKinds,
    document: &'a mut dyn FnMut(F, bool) -> Result<Document, Failure>,
) -> impl FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), Failure> + 'a {
    let mut kinds = inputs.kinds.iter();
    move |input, copied| {
        let changed = || Failure::from(hamdex_documents::Error::Changed);
        let (_, (format, form)) = kinds.next().ok_or_else(changed)?;
        if let Some(table) = format.table() {
            let column = reading.columns.fingerprint;
            return table::copy(input, table, column, *form, copied, &mut |fingerprint| {
                document(fingerprint, false)
            });
        }
        let reading = Reading { format: *format, ..*reading };
        // Without a name: its format is known.
        let opened = Opened::new("-".as_ref(), input);
        read_one(opened, &reading, None, &mut None, &mut |fingerprint, _, _| {
            let document = fingerprint.map(|fingerprint| document(fingerprint, true)).transpose()?;
            Ok(copied.take(document.as_ref())?)
        })
        .map(drop)
    }
}
