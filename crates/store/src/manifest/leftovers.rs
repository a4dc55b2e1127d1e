//! Files that no manifest names: leftovers of a crash or a failure, and stale files that stay until long reads of them
//! have ended.

use std::io;
use std::sync::Mutex;

use crate::disk::{Disk, layout};
use crate::error::{Error, Unpoisoned, is_unreadable};
use crate::log::HEADER_BYTES;
use crate::manifest::{Manifest, SegmentEntry};

/// Returns the names of the files that the store of this manifest wrote and no longer needs. Files that it did not write
/// are not among them.
pub fn leftovers(disk: &dyn Disk, manifest: &Manifest) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for directory in ["", layout::SEGMENTS, layout::DELETES, layout::LOGS] {
        let names = disk.list(directory).map_err(Error::io("list it", disk.path(directory)))?;
        for name in names.into_iter().filter(|name| is_leftover(manifest, directory, name)) {
            found.push(if directory.is_empty() { name } else { format!("{directory}/{name}") });
        }
    }
    Ok(found)
}

/// Whether a file has a name that a store gives, and is not part of the store of this manifest.
fn is_leftover(manifest: &Manifest, directory: &str, name: &str) -> bool {
    let is_needed = match directory {
        layout::SEGMENTS => layout::parse_segment(name).map(|number| manifest.entry(number).is_some()),
        layout::DELETES => layout::parse_removals(name).map(|(number, version)| {
            let removals = manifest.entry(number).and_then(|entry| entry.removals);
            removals.is_some_and(|named| named.version == version)
        }),
        layout::LOGS => match name.strip_suffix(".new") {
            Some(number) => layout::parse_log(number).map(|_| false),
            None => layout::parse_log(name).map(|number| number >= manifest.first_log),
        },
        _ => match name {
            layout::MANIFEST | layout::COPY | layout::LOCK | layout::REPORT => Some(true),
            layout::NEW_MANIFEST | layout::NEW_COPY | layout::BACKUP | layout::NEW_REPORT => Some(false),
            _ => None,
        },
    };
    is_needed == Some(false)
}

/// Whether the copy of the manifest is current: every file that it names exists, and none that only a later manifest
/// would name. A later one either names a segment or removals of a greater number, or does without a file that this one
/// names.
pub(super) fn is_current(disk: &dyn Disk, copy: &Manifest) -> Result<bool, Error> {
    for entry in &copy.segments {
        if !matches_file(disk, entry)? {
            return Ok(false);
        }
    }
    let removals = layout::listed(disk, layout::DELETES, layout::parse_removals)?;
    let are_removals_current = copy.segments.iter().all(|entry| {
        let mut versions = removals.iter().filter(|(segment, _)| *segment == entry.number);
        versions.next_back().map(|(_, version)| *version) == entry.removals.map(|named| named.version)
    });
    let segments = layout::listed(disk, layout::SEGMENTS, layout::parse_segment)?;
    let logs = layout::listed(disk, layout::LOGS, layout::parse_log)?;
    Ok(are_removals_current
        && segments.last().is_none_or(|last| *last < copy.next_segment)
        && logs.contains(&copy.first_log))
}

/// Whether the file of a segment matches the manifest by its length and its file id.
///
/// # Errors
/// When the operating system refuses an operation, other than to read bytes that the disk has lost.
fn matches_file(disk: &dyn Disk, segment: &SegmentEntry) -> Result<bool, Error> {
    let name = layout::segment(segment.number);
    let read = disk.length(&name).and_then(|bytes| Ok((bytes, layout::file_id(disk, &name)?)));
    match read {
        Ok((bytes, file_id)) => Ok(bytes == segment.bytes && file_id == Some(segment.file_id)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_unreadable(&error) => Ok(false),
        Err(error) => Err(Error::io("read it", disk.path(&name))(error)),
    }
}

/// Whether a directory without a manifest holds pairs of a store: a segment, or a log with more than its header. An
/// interrupted creation leaves neither, and an interrupted backup has its note.
pub(super) fn has_contents(disk: &dyn Disk) -> Result<bool, Error> {
    if disk.exists(layout::BACKUP).is_ok_and(|exists| exists) {
        return Ok(false);
    }
    let none_if_missing = |listed: Result<Vec<u64>, Error>| match listed {
        Err(Error::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        listed => listed,
    };
    let segments = none_if_missing(layout::listed(disk, layout::SEGMENTS, layout::parse_segment))?;
    let logs = none_if_missing(layout::listed(disk, layout::LOGS, layout::parse_log))?;
    let has_records =
        |log: &u64| disk.length(&layout::log(*log)).is_ok_and(|bytes| bytes > HEADER_BYTES as u64);
    Ok(!segments.is_empty() || logs.iter().any(has_records))
}

/// Names of files that only readers of an earlier moment need. They are removed when the last of these has ended. After
/// a crash the next writer removes them.
#[derive(Debug, Default)]
pub(crate) struct StaleFiles {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    readers: usize,
    stale: Vec<String>,
}

impl StaleFiles {
    /// Keeps all present files until [`StaleFiles::unpin`].
    pub(crate) fn pin(&self) {
        self.inner.lock().unpoisoned().readers += 1;
    }

    /// Ends a reader. Returns the files to remove now.
    pub(crate) fn unpin(&self) -> Vec<String> {
        let mut inner = self.inner.lock().unpoisoned();
        inner.readers -= 1;
        if inner.readers == 0 { std::mem::take(&mut inner.stale) } else { Vec::new() }
    }

    /// Adds stale files. Returns the files to remove at once.
    pub(crate) fn retire(&self, names: Vec<String>) -> Vec<String> {
        let mut inner = self.inner.lock().unpoisoned();
        if inner.readers == 0 {
            return names;
        }
        inner.stale.extend(names);
        Vec::new()
    }

    /// Whether a file stays because of a reader.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.inner.lock().unpoisoned().stale.iter().any(|stale| stale == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_until_the_last_reader_has_ended() {
        let (pins, names) = (StaleFiles::default(), || vec!["a".to_owned()]);
        assert_eq!(pins.retire(names()), names());
        pins.pin();
        pins.pin();
        assert!(pins.retire(names()).is_empty());
        assert!(pins.unpin().is_empty());
        assert!(pins.holds("a") && !pins.holds("b"));
        assert_eq!(pins.unpin(), names());
        assert_eq!(pins.retire(names()), names());
    }
}
