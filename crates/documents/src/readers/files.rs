//! Files that are one document each: a single one, or all of a directory tree in the order of their paths.

use std::io::Read;
use std::path::Path;

use walkdir::WalkDir;

use crate::document::Document;
use crate::error::Error;
use crate::format::{self, Format};
use crate::input::Input;
use crate::intake::Intake;
use crate::problem::{Place, Problem};
use crate::readers::html;

/// Reads all files below a directory. Symbolic links are not followed: their targets are
/// in the tree under another name, or outside it.
pub(crate) fn read(directory: &Path, intake: &mut Intake<'_>) -> Result<(), Error> {
    let format = intake.documents.format;
    if let Some(format) = format.filter(|format| !matches!(format, Format::Text | Format::Html)) {
        return Err(Error::Directory { path: directory.to_owned(), format });
    }
    for entry in WalkDir::new(directory).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(directory).display().to_string();
                intake.skip(Place::whole(path), Problem::Unreadable { what: error.into() })?;
                continue;
            }
        };
        if !entry.file_type().is_file() {
            continue;
        }
        match Input::open_with(entry.path(), intake.documents.on_read.clone()) {
            Ok(input) if input.is_binary() => intake.skip(Place::whole(input.name()), Problem::Binary)?,
            Ok(input) => {
                let as_html = format.unwrap_or(input.format()) == Format::Html;
                read_file(input, as_html, intake)?;
            }
            Err(Error::Read { input, source }) => {
                intake.skip(Place::whole(input), Problem::Unreadable { what: source })?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a whole file as one document.
pub(crate) fn read_file(mut input: Input, as_html: bool, intake: &mut Intake<'_>) -> Result<(), Error> {
    let place = Place::whole(input.name());
    let max_bytes = intake.max_bytes();
    let mut bytes = Vec::new();
    if let Err(what) = (&mut input).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes) {
        return intake.skip(place, Problem::Unreadable { what });
    }
    if bytes.len() as u64 > max_bytes {
        return intake.too_long(place, "file");
    }
    let text = intake.text(|| place, &bytes)?;
    let text = if as_html || format::is_html(bytes.trim_ascii_start()) {
        html::text(text.as_bytes())
    } else {
        text.into_owned()
    };
    intake.take(Document::new(input.name(), text))
}
