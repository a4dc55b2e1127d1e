//! `hamdex dump --stats`: the distribution of the fingerprints.
//!
//! - [`gather`]: the counts of fingerprints
//! - [`text`]: the output on a terminal
//! - [`json`]: the output as JSON
//! - [`page`]: an HTML page; [`chart`] is a part of it

mod chart;
mod gather;
mod json;
mod page;
mod text;

use std::io::Write;
use std::path::Path;

use hamdex::{Fingerprint, Index};
use hamdex_atomic_file::AtomicFile;

use crate::failure::Failure;

/// The output format of the statistics.
pub(super) enum Form {
    Text,
    Json,
    /// As an HTML page in a separate file.
    Page(AtomicFile),
}

/// Prints the statistics, or writes the page.
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
