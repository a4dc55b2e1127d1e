//! `hamdex dump --stats`: how the fingerprints are spread.
//!
//! - [`gather`]: what is counted
//! - [`text`]: for a terminal
//! - [`page`]: as one HTML page

mod gather;
mod page;
mod text;

use std::io::Write;
use std::path::Path;

use hamdex::{Fingerprint, Index};

use crate::failure::Failure;
use crate::rows::Whole;

/// Prints the statistics, or writes them as a page.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    html: Option<&Path>,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let spread = gather::gather(index).map_err(Failure::index(path))?;
    let Some(html) = html else {
        text::print(path, &spread, output)?;
        return Ok(());
    };
    let mut file = Whole::create(html)?;
    let failed = file.failed();
    file.write_all(page::page(path, &spread).as_bytes()).map_err(failed)?;
    file.finish()
}
