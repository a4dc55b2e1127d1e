//! The `hamdex` command as a library: one file or folder per subcommand in `commands`, shared code next to
//! it. Other front ends run the same commands through [`run`].

mod bars;
mod built;
mod causes;
mod cli;
mod commands;
mod counted;
mod documents;
mod failure;
mod ids;
mod input;
mod output;
mod say;
mod set;
mod threads;
mod values;

pub use cli::run;

/// Readers of inputs, for fuzz targets.
///
/// Only with the feature `unstable`, for the project's own use, without any promise of stability.
#[cfg(feature = "unstable")]
#[doc(hidden)]
pub mod internals {
    pub use crate::input::plain::{Record, fingerprints, ids, names};
}
