//! The report of a repair. It is written before the repair changes anything and removed once it is delivered, so an
//! interrupted repair can still report.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::chain;
use hamdex_manifest::{Form, TextError, check_same, line, seal};
use serde::{Deserialize, Serialize};

use crate::disk::layout::{NEW_REPORT, REPORT};
use crate::disk::{Disk, write_replacing};
use crate::error::Error;
use crate::maintenance::repair::separate_damage;

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
        other => chain(&other),
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

const VERSION: u64 = 1;
const FORM: Form = Form::new("hamdex_repair", VERSION, 1 << 24);

/// An undelivered report. Names are relative to the directory of the store.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptReport {
    /// The generation of the manifest that ends the repair.
    pub(super) generation: u64,
    /// Segments from this number on are those of the repair, until there is a manifest of that generation.
    pub(super) first_segment: u64,
    pub(super) repaired: Repaired,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    hamdex_repair: u64,
    generation: u64,
    first_segment: u64,
    saved_batches: u64,
    lost_log_parts: u64,
    kept: Vec<String>,
}

impl KeptReport {
    /// Reads the report that an interrupted repair has left. One that is damaged is a loss of unknown size.
    ///
    /// # Errors
    /// When the operating system refuses an operation, or the version is newer.
    pub(super) fn read(disk: &dyn Disk) -> Result<Option<Self>, Error> {
        let path = disk.path(REPORT);
        let text = match disk.read_first(REPORT, FORM.bytes_to_read()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => separate_damage(text.map_err(Error::io("read it", &path)))?,
        };
        match parse(&text.unwrap_or_default()) {
            Ok(report) => Ok(Some(report)),
            Err(TextError::Newer(found)) => Err(Error::Newer { path, found, supported: VERSION }),
            Err(_) => {
                let problem = "damaged: what a repair that was interrupted has lost is not known";
                let file = RepairedFile { unknown_parts: 1, ..RepairedFile::new(REPORT, problem) };
                let repaired = Repaired { files: vec![file], ..Repaired::default() };
                Ok(Some(Self { generation: 0, first_segment: u64::MAX, repaired }))
            }
        }
    }

    /// Writes the report atomically and durably.
    pub(super) fn write(&self, disk: &dyn Disk) -> Result<(), Error> {
        let write = || {
            write_replacing(disk, NEW_REPORT, self.to_text().as_bytes())?;
            disk.rename(NEW_REPORT, REPORT)?;
            disk.sync_directory("")
        };
        let written = write();
        if written.is_err() {
            // A file that is not whole would stay, and nothing reads it.
            let _ = disk.remove(NEW_REPORT);
        }
        written.map_err(Error::io("write it", disk.path(REPORT)))
    }

    /// Removes the report, if there is one.
    pub(super) fn remove(disk: &dyn Disk) -> Result<(), Error> {
        let path = disk.path(REPORT);
        match disk.remove(REPORT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| disk.sync_directory("")).map_err(Error::io("remove it", path)),
        }
    }

    fn to_text(&self) -> String {
        let name = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        let mut text = line(&Head {
            hamdex_repair: VERSION,
            generation: self.generation,
            first_segment: self.first_segment,
            saved_batches: self.repaired.saved_batches,
            lost_log_parts: self.repaired.lost_log_parts,
            kept: self.repaired.kept.iter().map(name).collect(),
        });
        self.repaired.files.iter().for_each(|file| text += &line(file));
        seal(text)
    }
}

fn parse(text: &[u8]) -> Result<KeptReport, TextError> {
    let mut lines = FORM.check(text)?;
    let head: Head = lines.require()?;
    let mut files = Vec::new();
    while let Some(file) = lines.read::<RepairedFile>()? {
        files.push(file);
    }
    let kept = head.kept.iter().map(Into::into).collect();
    let Head { generation, first_segment, saved_batches, lost_log_parts, .. } = head;
    let repaired = Repaired { files, saved_batches, lost_log_parts, kept, ..Repaired::default() };
    let report = KeptReport { generation, first_segment, repaired };
    check_same(&report.to_text(), text)?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written_and_damage_is_seen() {
        let file =
            RepairedFile { lost_pairs: 3, lost_shingles: 4, ..RepairedFile::new("log/000001", "gone") };
        let repaired = Repaired {
            files: vec![file],
            lost_log_parts: 7,
            kept: vec!["damaged/x".into()],
            ..Repaired::default()
        };
        let report = KeptReport { generation: 5, first_segment: 9, repaired };
        let text = report.to_text().into_bytes();
        let found = parse(&text).unwrap();
        assert_eq!((found.generation, found.first_segment, &found.repaired), (5, 9, &report.repaired));
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            assert!(parse(&damaged).is_err(), "byte {at}");
        }
    }
}
