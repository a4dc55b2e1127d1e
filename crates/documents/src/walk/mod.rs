//! Directories and archives, whose files are read one by one: those of a directory tree in the order of their paths.
//! Unreadable files are skipped and reported.
//!
//! - [`litter`]: files that are not documents by their names
//! - [`archive`]: the files of an archive

pub(crate) mod archive;
mod litter;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::error::Error;
use crate::format::kind_of_directory;
use crate::input::Input;
use crate::parsers;
use crate::problem::{Field, Place, Position, Problem};
use crate::read::collector::Collector;
use crate::read::options::Documents;
use crate::read::recognition;
use crate::walk::litter::Litter;

/// Reads all files below a directory. Symbolic links are not followed, since their targets are in the tree under
/// another name, or outside it. They are counted as ignored, as are pipes, sockets and devices.
pub(crate) fn read_directory(directory: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let walk = walk(directory, collector.documents)?;
    let mut litter = Litter::of(directory, collector.documents)?;
    regular_files(&walk).for_each(|(path, bytes)| litter.weigh(&path, bytes));
    let mut files = FileSet::of(&directory.display().to_string(), litter);
    let mut left_out: Option<PathBuf> = None;
    for entry in walk.build() {
        collector.end_file();
        let is_left_out = |path: &Path| left_out.as_ref().is_some_and(|left_out| path.starts_with(left_out));
        let entry = match entry {
            Ok(entry) if is_left_out(entry.path()) => continue,
            Ok(entry) => entry,
            Err(error) => {
                let path = path_of(&error).unwrap_or(directory.to_owned());
                if is_left_out(&path) {
                    continue;
                }
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
            Some(kind) if kind.is_dir() => {
                if let Some(kind) = kind_of_directory(entry.path()) {
                    let place = Place::whole(entry.path().display().to_string());
                    let problem = Problem::NotRead { kind };
                    if entry.depth() == 0 {
                        return Err(Error::Document { place, problem });
                    }
                    collector.skip_other(place, problem)?;
                    left_out = Some(entry.into_path());
                }
                continue;
            }
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
                settle(outcome, collector)?;
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

/// The files of a directory or archive read so far.
pub(crate) struct FileSet {
    place: Place,
    /// Number of files with a document in each row, by format.
    rows: BTreeMap<String, u64>,
    /// Number of files that are one document each.
    whole: u64,
    litter: Litter,
}

impl FileSet {
    /// Creates the set of the directory or archive with this name; its files follow this rule.
    pub(crate) fn of(name: &str, litter: Litter) -> Self {
        Self { place: Place::whole(name), rows: BTreeMap::new(), whole: 0, litter }
    }

    /// Returns whether a file is hidden, so that it is not to be opened.
    pub(crate) fn is_hidden(&mut self, path: &Path) -> bool {
        self.litter.takes_hidden(path)
    }

    /// Reads a file. An unreadable file is an error in strict reading.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        input: Result<Input, Error>,
        collector: &mut Collector<'_>,
    ) -> Result<(), Error> {
        let outcome = input.and_then(|input| self.try_read(path, input, collector));
        settle(outcome, collector)
    }

    /// Reads a file of an archive.
    pub(crate) fn read_member(
        &mut self,
        path: &Path,
        opened: Result<Input, Error>,
        collector: &mut Collector<'_>,
    ) -> Result<(), Error> {
        let input = opened.and_then(|input| collector.prepared(input));
        self.read(path, input, collector)
    }

    fn try_read(&mut self, path: &Path, input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
        let documents = collector.documents;
        let format = self.litter.table_format(path, &input, documents);
        let format = format.unwrap_or_else(|| recognition::format_of(&input, documents));
        let problem = input.refusal(format, false, documents.encoding.is_some());
        let has_text = !matches!(problem, Some(Problem::Binary | Problem::NotRead { .. }));
        if has_text && let Some(named) = self.litter.lost_table(path, format, documents) {
            let what = format!("not {}", named.with_article());
            return collector.skip_file(Place::whole(input.name()), Problem::Rejected { what });
        }
        if has_text && self.litter.takes(path, &input, format, documents) {
            collector.forget(path);
            return Ok(());
        }
        if let Some(problem) = problem {
            let place = Place::whole(input.name());
            let sort = match &problem {
                Problem::NotRead { kind } => Some(kind.sort),
                _ => None,
            };
            let should_be = self.litter.holds_documents(path, documents, sort);
            return if should_be {
                collector.skip_file(place, problem)
            } else {
                collector.skip_other(place, problem)
            };
        }
        if format.has_rows() {
            *self.rows.entry(format.to_string()).or_default() += 1;
        } else {
            self.whole += 1;
        }
        match parsers::read(input, format, collector) {
            // Its row was skipped.
            Err(Error::Document { place, problem })
                if is_state(&place, &problem)
                    && documents.format.is_none()
                    && self.litter.has_other_sorts() =>
            {
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Reports files that were left out, and a mixture of files with rows and files that are documents.
    pub(crate) fn finish(self, collector: &mut Collector<'_>) {
        let names = self.litter.into_names();
        if names.count > 0 {
            collector.leave_out(self.place.clone(), names);
        }
        if self.rows.is_empty() || self.whole == 0 {
            return;
        }
        let files = |count: u64| if count == 1 { "file" } else { "files" };
        let rows: Vec<String> =
            self.rows.iter().map(|(format, &count)| format!("{count} {format} {}", files(count))).collect();
        let whole = match self.whole {
            1 => "1 file that is one document".to_owned(),
            count => format!("{count} files that are one document each"),
        };
        collector.notify(self.place, Problem::Mixed { rows: rows.join(", "), whole });
    }
}

/// Returns whether a file was refused since it is one object of JSON without a text, such as `package.json`.
fn is_state(place: &Place, problem: &Problem) -> bool {
    let is_without_text =
        matches!(problem, Problem::MissingColumn { field: Field::Text, .. } | Problem::MissingList { .. });
    is_without_text && place.position == Position::Object(1)
}

/// Skips an unreadable file, unless reading is strict.
pub(crate) fn settle(outcome: Result<(), Error>, collector: &mut Collector<'_>) -> Result<(), Error> {
    match outcome {
        Err(error) if !collector.documents.strict => {
            let (place, problem) = of_member(error)?;
            collector.skip_file(place, problem)
        }
        outcome => outcome,
    }
}

/// Returns the place and the problem of an error with one file. Other errors end reading.
fn of_member(error: Error) -> Result<(Place, Problem), Error> {
    let rejected = |place, what| Ok((place, Problem::Rejected { what }));
    match error {
        Error::Read { input, source } => Ok((Place::whole(input), Problem::Unreadable { what: source })),
        Error::Document { place, problem } => Ok((place, problem)),
        Error::MissingColumn { place, field: Some(field), column, columns } => {
            Ok((place, Problem::MissingColumn { field, column, columns }))
        }
        Error::Damaged { place, what, source } => rejected(place, format!("{what}: {source}")),
        Error::ColumnType { input, column, expected, found } => rejected(
            Place::whole(input),
            format!("the column {column:?} has the type {found}; expected {expected}"),
        ),
        Error::WithoutParquet { input } => {
            rejected(Place::whole(input), "this build does not support Parquet and Arrow".to_owned())
        }
        other => Err(other),
    }
}
