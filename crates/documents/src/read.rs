//! Documents from all inputs, one after the other.

use std::io::Read;
use std::path::Path;

use crate::counts::Counts;
use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::intake::{Intake, Sink};
use crate::problem::{Place, Problem};
use crate::readers::{files, html, json, lines, rows};

impl Documents {
    /// Calls `sink` with every document, in order. Returns how many there were, and how many were skipped.
    ///
    /// # Errors
    /// When an input cannot be opened, is binary (unless a format was set), ends early or lacks a column; with [`Documents::strict`] also at the first
    /// problem with a document; or the error that `sink` returns.
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
        let mut intake = Intake::new(self, &mut sink);
        for path in &self.paths {
            if path.is_dir() { files::read(path, &mut intake)? } else { read_one(path, &mut intake)? }
        }
        Ok(intake.counts)
    }
}

fn read_one(path: &Path, intake: &mut Intake<'_>) -> Result<(), Error> {
    let mut input = Input::open_with(path, intake.documents.on_read.clone())?;
    if let Some(directory) = &intake.documents.temp_dir {
        input = input.temp_dir(directory);
    }
    let format = intake.documents.format.unwrap_or(input.format());
    let is_text = !matches!(format, Format::Parquet | Format::Arrow);
    if is_text && input.is_binary() && intake.documents.format.is_none() {
        return Err(Error::Document { place: Place::whole(input.name()), problem: Problem::Binary });
    }
    match format {
        Format::Lines => lines::read(input, intake),
        Format::Jsonl => json::read(input, intake),
        Format::Csv => rows::read_csv(input, b',', intake),
        Format::Tsv => rows::read_csv(input, b'\t', intake),
        Format::Parquet | Format::Arrow => rows::read_columns(input, format, intake),
        Format::Text | Format::Html => files::read_file(input, format == Format::Html, intake),
    }
}

/// Reads a file, or standard input for `-`, as one document, and returns its text: HTML without its tags, anything
/// else unchanged, with invalid UTF-8 replaced by U+FFFD.
///
/// # Errors
/// When it cannot be read or is not text.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, Error> {
    let mut input = Input::open(path)?;
    if input.is_binary() {
        return Err(Error::Document { place: Place::whole(input.name()), problem: Problem::Binary });
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(input.unreadable())?;
    if input.format() == Format::Html {
        return Ok(html::text(&bytes));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
