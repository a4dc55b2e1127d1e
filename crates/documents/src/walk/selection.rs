//! Globs that select files of a directory or archive.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

use crate::error::{Error, InvalidOption};
use crate::read::options::Selection;

/// Returns the globs of a selection, relative to this directory or archive.
pub(crate) fn globs(selection: &Selection, root: &Path) -> Result<Override, Error> {
    let mut builder = OverrideBuilder::new(root);
    let included = selection.included.iter().map(|glob| (glob, glob.clone()));
    // An exclamation mark excludes.
    let excluded = selection.excluded.iter().map(|glob| (glob, format!("!{glob}")));
    for (glob, line) in included.chain(excluded) {
        builder.add(&line).map_err(|error| invalid(glob, &error))?;
    }
    builder.build().map_err(|error| Error::Option {
        option: "globs",
        reason: InvalidOption::Globs { message: error.to_string() },
    })
}

fn invalid(glob: &str, error: &ignore::Error) -> Error {
    let reason = InvalidOption::Glob { glob: glob.to_owned(), message: error.to_string() };
    Error::Option { option: "glob", reason }
}
