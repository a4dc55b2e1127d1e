//! Archives: zip, and tar in any compression.

use std::path::Path;

use crate::error::Error;
use crate::input::Input;
use crate::read::collector::Collector;
use crate::walk::{tar_archive, zip_archive};

/// Returns whether an input is an archive that can be read.
pub(crate) fn is_archive(input: &Input) -> bool {
    input.is_zip() || input.is_tar()
}

/// Reads all files of an archive. Globs match `path` followed by the path within the archive.
pub(crate) fn read(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    if input.is_zip() {
        zip_archive::read(input, path, collector)
    } else {
        tar_archive::read(input, path, collector)
    }
}
