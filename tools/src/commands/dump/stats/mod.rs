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

use hamdex::{Fingerprint, Index, RECIPE_KEY};
use hamdex_atomic_file::AtomicFile;
use indicatif::HumanBytes;

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
            file.write_all(page::page(path, &facts(index), &spread).as_bytes()).map_err(file.failed())?;
            file.finish()?;
        }
    }
    Ok(())
}

/// Returns what the file is: design, codec, recipe and size.
fn facts<F: Fingerprint>(index: &Index<F>) -> Vec<(&'static str, String)> {
    let stats = index.stats();
    let per_fingerprint = stats.file_bytes as f64 / stats.fingerprints.max(1) as f64;
    let recipe = index.metadata().get(RECIPE_KEY).map(|recipe| String::from_utf8_lossy(recipe).into_owned());
    vec![
        (
            "design",
            format!(
                "{}, {} tables: everything within {} bits",
                stats.design,
                stats.tables.len(),
                stats.distance
            ),
        ),
        ("codec", stats.codec.to_string()),
        ("recipe", recipe.unwrap_or_else(|| "none: bare fingerprints".to_owned())),
        ("size", format!("{}, {per_fingerprint:.2} bytes per fingerprint", HumanBytes(stats.file_bytes))),
    ]
}
