//! Documents from all inputs, one after the other.

use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

use hamdex_atomic_file::AtomicFile;

use crate::collections::{archive, directory};
use crate::copy::output::Output;
use crate::copy::plan::Plan;
use crate::copy::rows::{Copied, Copier};
use crate::counts::Counts;
use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::intake::{Intake, Sink, Taker};
use crate::problem::Place;
use crate::readers::{self, html};

impl Documents {
    /// Calls `sink` with every document, in order. Returns how many there were, and how many were skipped.
    ///
    /// # Errors
    /// When an input cannot be opened, is not text (or not in UTF-8, see [`Documents::encoding`]), ends early or
    /// lacks a column; with [`Documents::strict`] also at the first problem with a document; or the error that
    /// `sink` returns. A file of a directory or archive that cannot be read is skipped and reported.
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

    pub(crate) fn read_into(&self, sink: &mut Sink<'_>) -> Result<Counts, Error> {
        let mut sink = |document| sink(document);
        self.read_all(Taker::Sink(&mut sink))
    }

    /// Copies rows of the inputs to `file`: those of the `wanted` documents, which are numbered from 0 in the order
    /// in which they were read, and all that could not be read as documents, since they are nobody's duplicates.
    /// Documents must be [`Documents::copyable`] and were read before. They are read again, and must not have
    /// changed.
    ///
    /// Rows keep all their columns: objects of JSON are copied as they are, each on a line; records of CSV and TSV
    /// with all their fields, columns of Parquet and Arrow with their types. A file of another format than the
    /// inputs takes the fields of records; else it has ids and texts alone ([`Copied::is_partial`]). The file gets
    /// its name when it is complete.
    ///
    /// # Errors
    /// As [`Documents::read`]; when the inputs have changed; when the file cannot be written.
    ///
    /// # Panics
    /// When the documents are not copyable, or `wanted` is not in ascending order.
    pub fn copy(&self, wanted: impl Iterator<Item = u32>, file: AtomicFile) -> Result<Copied, Error> {
        let plan = self.plan.as_ref().expect("the documents are copyable");
        let fields = [self.id_name(), &self.text_fields[0]];
        let (layout, is_partial) = {
            let plan = plan.lock().expect("no thread panics with it");
            (plan.agreed.layout().cloned(), plan.agreed.is_partial)
        };
        // Without any input there is nothing to copy.
        let Some(layout) = layout else { return Ok(Copied::default()) };
        let output = Output::new(file, &layout, fields)?;
        let mut last = None;
        let wanted = wanted.inspect(move |&number| {
            assert!(last.replace(number).is_none_or(|last| last < number), "wanted documents are ascending");
        });
        let mut copier = Copier::new(output, Box::new(wanted), fields.map(str::to_owned));
        copier.copied.is_partial = is_partial;
        // What is said about documents was said already.
        let mut again = self.clone();
        (again.on_notice, again.on_read) = (None, None);
        again.read_all(Taker::Rows(&mut copier))?;
        copier.finish()
    }

    fn read_all<'a>(&'a self, taker: Taker<'a>) -> Result<Counts, Error> {
        let locked = |plan: &'a Mutex<Plan>| plan.lock().expect("no thread panics with it");
        if let Some(plan) = &self.plan {
            locked(plan).begin();
        }
        let is_one_input = self.paths.len() == 1 && !self.paths[0].is_dir();
        let mut intake = Intake::new(self, is_one_input, taker);
        for path in &self.paths {
            if path.is_dir() { directory::read(path, &mut intake)? } else { read_file(path, &mut intake)? }
        }
        let counts = intake.finish();
        if let Some(plan) = &self.plan {
            locked(plan).end(&counts)?;
        }
        Ok(counts)
    }
}

fn read_file(path: &Path, intake: &mut Intake<'_>) -> Result<(), Error> {
    let input = intake.open(path)?;
    if input.is_zip() {
        return archive::read(input, path, intake);
    }
    let documents = intake.documents;
    let format = documents.format.unwrap_or(input.format());
    match input.refusal(format, documents.format.is_some(), documents.encoding.is_some()) {
        Some(problem) => Err(Error::Document { place: Place::whole(input.name()), problem }),
        None => readers::read(input, format, intake),
    }
}

/// Reads a file, or standard input for `-`, as one document, and returns its text: HTML without its tags, anything
/// else unchanged, with invalid UTF-8 replaced by U+FFFD. Other encodings are read by their byte order marks, or as
/// a page says.
///
/// # Errors
/// When it cannot be read or is not text.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, Error> {
    let mut input = Input::open(path)?.decoded(None, None)?;
    if let Some(problem) = input.refusal(Format::Text, false, false) {
        return Err(Error::Document { place: Place::whole(input.name()), problem });
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(input.unreadable())?;
    if input.format() == Format::Html {
        return Ok(html::text(&bytes));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
