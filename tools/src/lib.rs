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
mod set;
mod standard_output;

pub use cli::run;

/// Readers of inputs, for fuzz targets.
///
/// Only with the feature `unstable`, for the project's own use, without any promise of stability.
#[cfg(feature = "unstable")]
#[doc(hidden)]
pub mod internals {
    pub use crate::input::plain::{Record, fingerprints, ids, names};
}
