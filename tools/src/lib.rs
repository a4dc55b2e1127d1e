//! The `hamdex` command as a library: one file or folder per subcommand in `commands`, shared code next to
//! it. Other front ends run the same commands through [`run`].

mod build_report;
mod cli;
mod commands;
mod documents;
mod failure;
mod help;
mod html;
mod ids;
mod input;
mod messages;
mod names;
mod option_values;
mod output;
mod progress;
mod standard_output;

pub use cli::run;

/// Readers of inputs, for fuzz targets.
///
/// Only with the feature `unstable`, for the project's own use, without any promise of stability.
#[cfg(feature = "unstable")]
#[doc(hidden)]
pub mod internals {
    use std::path::Path;

    use clap::ValueEnum;
    use hamdex::Fingerprint;
    use indicatif::ProgressBar;

    use crate::input::{self, Beside, Columns, Format, Found, Reading};

    /// A fingerprint, and the id or the name next to it.
    pub type Record<F> = (F, Option<u64>, Option<Vec<u8>>);

    /// Reads a file in a format as on the command line, with ids (`pairs`), names (`names`) or nothing next to
    /// the fingerprints. In tables these are the columns `fingerprint` and `id`.
    ///
    /// # Errors
    /// The message of the command about the file.
    pub fn fingerprints<F: Fingerprint>(
        path: &Path,
        format: &str,
        beside: &str,
    ) -> Result<Vec<Record<F>>, String> {
        let beside = match beside {
            "pairs" => Beside::Id,
            "names" => Beside::Name,
            _ => Beside::Nothing,
        };
        let reading = Reading {
            paths: vec![path.to_owned()],
            format: Format::from_str(format, false)?,
            columns: Columns {
                fingerprint: "fingerprint".to_owned(),
                id: "id".to_owned(),
                ..Columns::default()
            },
            beside,
            ..Reading::default()
        };
        let mut records = Vec::new();
        let outcome = input::read_with(&reading, &ProgressBar::hidden(), &mut |fingerprint, found| {
            records.push(match found {
                Found::Nothing | Found::Row(_) => (fingerprint, None, None),
                Found::Id(id) => (fingerprint, Some(id), None),
                Found::Name(name) => (fingerprint, None, Some(name)),
            });
            Ok(())
        });
        outcome.map(|()| records).map_err(|failure| failure.to_string())
    }

    /// Reads a file of ids.
    ///
    /// # Errors
    /// As [`fingerprints`].
    pub fn ids(path: &Path) -> Result<Vec<u64>, String> {
        let mut ids = Vec::new();
        let outcome = input::read_ids(&[path.to_owned()], &mut |id| ids.push(id));
        outcome.map(|()| ids).map_err(|failure| failure.to_string())
    }

    /// Reads a file of names.
    ///
    /// # Errors
    /// As [`fingerprints`].
    pub fn names(path: &Path) -> Result<Vec<Vec<u8>>, String> {
        let mut names = Vec::new();
        let outcome = input::read_names(&[path.to_owned()], false, &mut |name| names.push(name.to_vec()));
        outcome.map(|()| names).map_err(|failure| failure.to_string())
    }
}
