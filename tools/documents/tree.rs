//! A directory tree: each text or HTML file is a document, in the order of the paths.

use std::io::Read;
use std::path::Path;

use walkdir::WalkDir;

use crate::documents::intake::{Intake, Problem};
use crate::documents::open::{self, Opened};
use crate::documents::{Document, Format, detect, html};
use crate::failure::Failure;
use crate::input::Source;

/// Reads all files below a directory. Symbolic links are not followed: what they lead to is a file with
/// a name of its own, or lies elsewhere.
pub(super) fn read(directory: &Path, format: Format, intake: &mut Intake<'_>) -> Result<(), Failure> {
    if !matches!(format, Format::Auto | Format::Text | Format::Html) {
        return Err(Failure::Usage(format!(
            "{}: is a directory; its files are read as text or HTML, so --format can be auto, text or html",
            directory.display()
        )));
    }
    for entry in WalkDir::new(directory).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(directory).display().to_string();
                let what = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                intake.skip(&Source { name: path }, String::new(), Problem::Unreadable, what)?;
                continue;
            }
        };
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().display().to_string();
        match open::open(entry.path(), Format::Auto, intake.bar) {
            Ok(Opened { is_binary: true, source, .. }) => {
                intake.skip(&source, String::new(), Problem::Binary, "")?;
            }
            Ok(Opened { source, mut reader, format: told, .. }) => {
                let as_html = format == Format::Html || format == Format::Auto && told == Format::Html;
                read_file(&source, name, &mut reader, as_html, intake)?;
            }
            Err(failure) => {
                let (source, what) = (Source { name }, failure_text(failure));
                intake.skip(&source, String::new(), Problem::Unreadable, what)?;
            }
        }
    }
    Ok(())
}

/// A whole file as one document.
pub(super) fn read_file(
    source: &Source,
    id: String,
    reader: &mut impl Read,
    as_html: bool,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let most_bytes = intake.most_bytes();
    let mut bytes = Vec::new();
    if let Err(error) = reader.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes) {
        return intake.skip(
            source,
            String::new(),
            Problem::Unreadable,
            format_args!("cannot read it: {error}"),
        );
    }
    if bytes.len() as u64 > most_bytes {
        return intake.too_long(source, String::new(), "file");
    }
    let text = intake.text(source, String::new, &bytes)?;
    let text = if as_html || detect::is_html(bytes.trim_ascii_start()) {
        html::text(text.as_bytes())
    } else {
        text.into_owned()
    };
    intake.take(Document { id, text, extra: None, line: None })
}

/// What happened, without the name of the file.
fn failure_text(failure: Failure) -> String {
    match failure {
        Failure::Input { what, .. } => what,
        other => other.to_string(),
    }
}
