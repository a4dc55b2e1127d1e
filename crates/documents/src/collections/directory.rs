//! The files of a directory tree, in the order of their paths.

use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::collections::{archive, members};
use crate::error::Error;
use crate::intake::Intake;
use crate::problem::{Place, Problem};

/// Reads all files below a directory. Symbolic links are not followed: their targets are in the tree under another
/// name, or outside it. They are counted, as are pipes, sockets and devices.
pub(crate) fn read(directory: &Path, intake: &mut Intake<'_>) -> Result<(), Error> {
    intake.expect_several();
    let selection = &intake.documents.selection;
    let obeys = selection.obeys_ignore_files;
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(obeys)
        .require_git(false)
        .follow_links(false)
        .overrides(members::globs(selection, directory)?)
        .sort_by_file_name(std::ffi::OsStr::cmp);
    let mut files = members::Members::of(&directory.display().to_string());
    for entry in walk.build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = path_of(&error).unwrap_or(directory.to_owned());
                let text = error.to_string();
                let what = error.into_io_error().unwrap_or_else(|| io::Error::other(text));
                intake.skip(Place::whole(path.display().to_string()), Problem::Unreadable { what })?;
                continue;
            }
        };
        match entry.file_type() {
            Some(kind) if kind.is_file() => {}
            Some(kind) if kind.is_dir() => continue,
            _ => {
                intake.pass_over();
                continue;
            }
        }
        match intake.open(entry.path()) {
            Ok(input) if input.is_zip() => {
                let outcome = archive::read(input, entry.path(), intake);
                members::settle(outcome, intake)?;
            }
            opened => files.read(opened, intake)?,
        }
    }
    files.finish(intake);
    Ok(())
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
