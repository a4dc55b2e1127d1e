//! The files of a directory tree, in the order of their paths.

use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::error::Error;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::walk::{archive, file_set};

/// Reads all files below a directory. Symbolic links are not followed, since their targets are in the tree under
/// another name, or outside it. They are counted as ignored, as are pipes, sockets and devices.
pub(crate) fn read(directory: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let selection = &collector.documents.selection;
    let obeys = selection.obeys_ignore_files;
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(obeys)
        .require_git(false)
        .follow_links(false)
        .overrides(file_set::globs(selection, directory)?)
        .sort_by_file_name(std::ffi::OsStr::cmp);
    let mut files = file_set::FileSet::of(&directory.display().to_string());
    for entry in walk.build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = path_of(&error).unwrap_or(directory.to_owned());
                let text = error.to_string();
                let what = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
                collector.skip(Place::whole(path.display().to_string()), Problem::Unreadable { what })?;
                continue;
            }
        };
        match entry.file_type() {
            Some(kind) if kind.is_file() => {}
            Some(kind) if kind.is_dir() => continue,
            _ => {
                collector.ignore();
                continue;
            }
        }
        match collector.open(entry.path()) {
            Ok(input) if archive::is_archive(&input) => {
                let outcome = archive::read(input, entry.path(), collector);
                file_set::settle(outcome, collector)?;
            }
            opened => files.read(opened, collector)?,
        }
    }
    files.finish(collector);
    Ok(())
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
