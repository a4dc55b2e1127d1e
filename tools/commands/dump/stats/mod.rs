//! `hamdex dump --stats`: how the fingerprints are spread.
//!
//! - [`gather`]: what is counted
//! - [`text`]: for a terminal
//! - [`page`]: as one HTML page; [`chart`] and [`escape`] are parts of it

mod chart;
mod escape;
mod gather;
mod page;
mod text;

use std::io::Write;
use std::path::Path;

use hamdex::{Fingerprint, Index};
use hamdex_atomic_file::AtomicFile;

use crate::documents::message::of_error;
use crate::failure::Failure;
use crate::say;

/// Prints the statistics, or writes them as a page.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    html: Option<AtomicFile>,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let names = hamdex_documents::Names::of(path, index).unwrap_or_else(|error| {
        // The statistics do not depend on names.
        say::warning(format_args!("{}; ids are shown as numbers", of_error(&error)));
        None
    });
    let spread = gather::gather(path, index, names)?;
    let Some(mut file) = html else {
        text::print(path, &spread, output)?;
        return Ok(());
    };
    file.write_all(page::page(path, &spread).as_bytes()).map_err(file.failed())?;
    file.finish()?;
    Ok(())
}
