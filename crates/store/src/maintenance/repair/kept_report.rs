//! The report of a repair in the directory of the store, from before its first change until it was told.

use std::io::{self, Write};

use hamdex_manifest::{Form, TextError, check_same, line, seal};
use serde::{Deserialize, Serialize};

use crate::disk::layout::{NEW_REPORT, REPORT};
use crate::disk::{Disk, create_replacing};
use crate::error::Error;
use crate::maintenance::repair::report::{Repaired, RepairedFile};
use crate::maintenance::repair::separate_damage;

const VERSION: u64 = 1;
const FORM: Form = Form::new("hamdex_repair", VERSION, 1 << 24);

/// A report that was not told yet. Names are relative to the directory of the store.
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
    ///
    /// # Errors
    /// When the operating system refuses an operation.
    pub(super) fn write(&self, disk: &dyn Disk) -> Result<(), Error> {
        let write = || {
            let mut file = create_replacing(disk, NEW_REPORT)?;
            file.write_all(self.to_text().as_bytes())?;
            file.sync()?;
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
    ///
    /// # Errors
    /// When the operating system refuses an operation.
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
