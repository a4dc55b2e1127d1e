//! The names of the documents of an index, where there are some.

use std::path::Path;

use hamdex::{Fingerprint, Index};
use hamdex_atomic_file::{AtomicFile, STANDARD_OUTPUT};
use hamdex_documents::{Error, Names, names_path};

use crate::documents::message::of_error;
use crate::failure::Failure;
use crate::output::Output;
use crate::say;

/// Opens the names of an index, if its ids stand for names. An index whose file of names is missing, damaged or
/// of another index is usable: a warning is printed, and its ids are numbers.
pub(crate) fn open<F: Fingerprint>(path: &Path, index: &Index<F>) -> Result<Option<Names>, Failure> {
    match Names::of(path, index) {
        Err(error @ (Error::NamesMissing { .. } | Error::Names { .. })) => {
            say::caution(format_args!("{}; ids are shown as numbers", of_error(&error)));
            Ok(None)
        }
        outcome => Ok(outcome?),
    }
}

/// Starts the file of names beside an output; refuses an output that has no place for it, with that advice.
pub(crate) fn create_names(output: &Output<'_>, advice: &str) -> Result<AtomicFile, Failure> {
    let index = output.path();
    if index.metadata().is_ok_and(|metadata| !metadata.is_file()) || index == Path::new(STANDARD_OUTPUT) {
        return Err(Failure::Usage(format!(
            "{}: the names of the documents need a file to lie beside; name one{advice}",
            index.display()
        )));
    }
    Ok(output.options().create(names_path(index))?)
}
