//! The `hamdex` command as a library: one file or folder per subcommand in `commands`, and what they
//! share beside it. Other front ends run the same commands through [`run`].

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

/// What reads inputs, for fuzz targets.
///
/// Only with the feature `unstable`, for the project's own use: nothing here is promised to stay.
#[cfg(feature = "unstable")]
#[doc(hidden)]
pub mod internals {
    pub use crate::input::plain::{Record, fingerprints, ids, names};
}
