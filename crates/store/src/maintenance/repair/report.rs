//! The report of a repair.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::error::Error;

/// The report of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The files that were damaged or missing; none if the store is intact.
    pub files: Vec<RepairedFile>,
    /// Pairs in the store before it was damaged, if that is known, as [`StoreStats`](crate::inspect::StoreStats) counts
    /// them: a pair in a segment and in the logs counts twice.
    pub pairs_before: Option<u64>,
    /// Pairs in the store after the repair, counted alike.
    pub pairs_after: u64,
    /// Batches that were read from damaged logs.
    pub saved_batches: u64,
    /// Parts of logs with batches that could not be read.
    pub lost_log_parts: u64,
    /// The kept copies of damaged files.
    pub kept: Vec<PathBuf>,
}

/// The report of a file that was damaged or missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RepairedFile {
    /// The file.
    pub path: PathBuf,
    /// Its damage, a sentence each.
    pub problems: Vec<String>,
    /// Pairs that were salvaged from it.
    pub saved_pairs: u64,
    /// Pairs that could not be read: an upper bound, since logs may have removed some of them, and some operations of a
    /// lost part of a log may be removals.
    pub lost_pairs: u64,
    /// Removed pairs that may have come back: an upper bound.
    pub returned_pairs: u64,
    /// Ids of salvaged pairs whose names could not be read. They have the empty name now.
    pub lost_names: u64,
    /// Ids of salvaged pairs whose shingles could not be read. No text is similar to their documents now.
    pub lost_shingles: u64,
    /// Parts that are lost, and of which nothing says how many pairs they had: a line of the manifest that named a
    /// segment, for example.
    pub unknown_parts: u64,
}

impl RepairedFile {
    pub(super) fn new(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problems: vec![problem.into()], ..Self::default() }
    }

    /// Returns the report of a damaged file, without the advice to repair it.
    pub(super) fn damaged(path: impl Into<PathBuf>, damage: &Error) -> Self {
        Self::new(path, problem_of(damage))
    }

    /// Whether nothing of the file is lost and no removed pair can have come back.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let Self { lost_pairs, returned_pairs, lost_names, lost_shingles, unknown_parts, .. } = *self;
        [lost_pairs, returned_pairs, lost_names, lost_shingles, unknown_parts] == [0; 5]
    }

    /// Adds what another repair said of the same file. What both saw counts once.
    fn merge(&mut self, other: Self) {
        self.saved_pairs = self.saved_pairs.max(other.saved_pairs);
        self.lost_pairs = self.lost_pairs.max(other.lost_pairs);
        self.returned_pairs = self.returned_pairs.max(other.returned_pairs);
        self.lost_names = self.lost_names.max(other.lost_names);
        self.lost_shingles = self.lost_shingles.max(other.lost_shingles);
        self.unknown_parts = self.unknown_parts.max(other.unknown_parts);
        for problem in other.problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}

/// Describes damage, without the advice to repair it.
pub(super) fn problem_of(damage: &Error) -> String {
    match damage {
        Error::Missing { .. } => "it is missing".to_owned(),
        Error::Damaged { offset: Some(offset), what, .. } => format!("damaged at byte {offset}: {what}"),
        Error::Damaged { what, .. } => format!("damaged: {what}"),
        Error::NotAStore { .. } => "it is missing, or does not begin as a manifest does".to_owned(),
        Error::Read(error) => error.kind().to_string(),
        other => other.chain(),
    }
}

impl Repaired {
    /// Whether the store was intact, so that nothing was changed.
    #[must_use]
    pub fn was_whole(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether nothing was lost and no removed pair can have come back.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(RepairedFile::is_complete) && self.lost_log_parts == 0
    }

    /// Returns the number of pairs that were salvaged from damaged segments.
    #[must_use]
    pub fn saved_pairs(&self) -> u64 {
        self.sum(|file| file.saved_pairs)
    }

    /// Returns an upper bound of the pairs that could not be read: see [`RepairedFile::lost_pairs`].
    #[must_use]
    pub fn lost_pairs(&self) -> u64 {
        self.sum(|file| file.lost_pairs)
    }

    /// Returns an upper bound of the removed pairs that may have come back.
    #[must_use]
    pub fn returned_pairs(&self) -> u64 {
        self.sum(|file| file.returned_pairs)
    }

    /// Returns the number of ids of salvaged pairs whose names could not be read.
    #[must_use]
    pub fn lost_names(&self) -> u64 {
        self.sum(|file| file.lost_names)
    }

    /// Returns the number of ids of salvaged pairs whose shingles could not be read.
    #[must_use]
    pub fn lost_shingles(&self) -> u64 {
        self.sum(|file| file.lost_shingles)
    }

    /// Returns the number of lost parts of unknown size: see [`RepairedFile::unknown_parts`].
    #[must_use]
    pub fn unknown_parts(&self) -> u64 {
        self.sum(|file| file.unknown_parts)
    }

    fn sum(&self, of: fn(&RepairedFile) -> u64) -> u64 {
        self.files.iter().map(of).sum()
    }

    /// Adds the report of a file, once per file.
    pub(super) fn add(&mut self, file: RepairedFile) {
        self.of_file(&file.path).merge(file);
    }

    /// Returns the report of a file, which is empty if nothing was said of it.
    pub(super) fn of_file(&mut self, path: &Path) -> &mut RepairedFile {
        let at = self.files.iter().position(|file| file.path == path).unwrap_or_else(|| {
            self.files.push(RepairedFile { path: path.to_owned(), ..RepairedFile::default() });
            self.files.len() - 1
        });
        &mut self.files[at]
    }

    /// Returns this report after that of an earlier, interrupted repair. What both saw counts once.
    pub(super) fn after(self, earlier: &Self) -> Self {
        let mut all = Self { files: earlier.files.clone(), kept: earlier.kept.clone(), ..self.clone() };
        self.files.into_iter().for_each(|file| all.add(file));
        all.saved_batches = all.saved_batches.max(earlier.saved_batches);
        all.lost_log_parts = all.lost_log_parts.max(earlier.lost_log_parts);
        all.kept.extend(self.kept.into_iter().filter(|name| !earlier.kept.contains(name)));
        if !earlier.files.is_empty() {
            all.pairs_before = None;
        }
        all
    }

    /// Returns this report with the paths of a disk in place of names.
    pub(super) fn on(mut self, disk: &dyn Disk) -> Self {
        let path = |name: &PathBuf| disk.path(&name.to_string_lossy());
        self.files.iter_mut().for_each(|file| file.path = path(&file.path));
        self.kept.iter_mut().for_each(|name| *name = path(name));
        self
    }
}
