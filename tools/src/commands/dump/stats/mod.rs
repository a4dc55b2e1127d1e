//! `hamdex dump --stats`: how the fingerprints are spread.
//!
//! - [`gather`]: what is counted
//! - [`text`]: for a terminal
//! - [`json`]: for programs
//! - [`page`]: as one HTML page; [`chart`] and [`escape`] are parts of it

mod chart;
mod escape;
mod gather;
mod json;
mod page;
mod text;

use std::io::Write;
use std::path::Path;

use hamdex::{Fingerprint, Index};
use hamdex_atomic_file::AtomicFile;

use crate::failure::Failure;

/// How the statistics are written.
pub(super) enum Form {
    Text,
    Json,
    /// As a page in a file of its own.
    Page(AtomicFile),
}

/// Prints the statistics, or writes them as a page.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let spread = gather::gather(index, index.names().map_err(Failure::Index)?)?;
    match form {
        Form::Text => text::print(path, &spread, output)?,
        Form::Json => json::print(&spread, output)?,
        Form::Page(mut file) => {
            file.write_all(page::page(path, &spread).as_bytes()).map_err(file.failed())?;
            file.finish()?;
        }
    }
    Ok(())
}
