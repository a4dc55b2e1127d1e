//! Directories and archives, whose files are read one by one: those of a directory tree in the order of their paths.
//!
//! - [`file_set`]: the files of either, and the handling of unreadable ones
//! - [`litter`]: files that are no documents by their names
//! - [`archive`]: the files of an archive

pub(crate) mod archive;
mod file_set;
mod litter;

use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::error::Error;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::read::options::Documents;
use crate::walk::litter::Litter;

/// Reads all files below a directory. Symbolic links are not followed, since their targets are in the tree under
/// another name, or outside it. They are counted as ignored, as are pipes, sockets and devices.
pub(crate) fn read_directory(directory: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let walk = walk(directory, collector.documents)?;
    let mut litter = Litter::of(directory, collector.documents)?;
    regular_files(&walk).for_each(|(path, bytes)| litter.weigh(&path, bytes));
    let mut files = file_set::FileSet::of(&directory.display().to_string(), litter);
    for entry in walk.build() {
        collector.end_file();
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = path_of(&error).unwrap_or(directory.to_owned());
                if files.is_hidden(&path) {
                    continue;
                }
                let text = error.to_string();
                let what = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
                collector
                    .skip_file(Place::whole(path.display().to_string()), Problem::Unreadable { what })?;
                continue;
            }
        };
        match entry.file_type() {
            Some(kind) if kind.is_dir() => continue,
            _ if files.is_hidden(entry.path()) => continue,
            Some(kind) if kind.is_file() => {}
            _ => {
                collector.ignore();
                continue;
            }
        }
        if collector.is_repeated(entry.path()) {
            continue;
        }
        let name = entry.path().strip_prefix(directory).unwrap_or(entry.path());
        collector.begin_file(entry.path(), name);
        match collector.open(entry.path()) {
            Ok(input) if archive::is_archive(&input) => {
                let outcome = archive::read(input, entry.path(), collector);
                file_set::settle(outcome, collector)?;
            }
            opened => files.read(entry.path(), opened, collector)?,
        }
    }
    collector.end_file();
    files.finish(collector);
    Ok(())
}

/// Returns the size of all files of a tree that are not hidden, in bytes; `None` if the options are wrong.
pub(crate) fn total_bytes(directory: &Path, documents: &Documents) -> Option<u64> {
    let (walk, litter) = (walk(directory, documents).ok()?, Litter::of(directory, documents).ok()?);
    Some(regular_files(&walk).filter(|(path, _)| !litter.hides(path)).map(|(_, bytes)| bytes).sum())
}

/// Returns a walk over a tree that follows no links, in the order of names.
fn walk(directory: &Path, documents: &Documents) -> Result<WalkBuilder, Error> {
    let selection = &documents.selection;
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(selection.obeys_ignore_files)
        .require_git(false)
        .follow_links(false)
        .overrides(selection.globs(directory)?)
        .sort_by_file_name(std::ffi::OsStr::cmp);
    Ok(walk)
}

/// Returns the paths and sizes of regular files.
fn regular_files(walk: &WalkBuilder) -> impl Iterator<Item = (PathBuf, u64)> {
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.map(|entry| {
        let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
        (entry.into_path(), bytes)
    })
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
