//! The names of the documents of an index, where there are some.

use std::path::Path;

use hamdex::{Fingerprint, Index};
use hamdex_documents::{Error, Names};

use crate::documents::message::of_error;
use crate::failure::Failure;
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
