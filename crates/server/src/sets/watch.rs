//! Files and directories as they were when they were first seen: whether others have replaced or overwritten them.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use crate::problem::Problem;

/// The properties that tell one file from another of the same name, and whether it was written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    file: (u64, u64),
}

impl Stamp {
    /// Returns the stamp of what a path names now; `None` if it names nothing that can be looked at.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { length: metadata.len(), modified: metadata.modified().ok(), file: number(&metadata) })
    }

    /// Whether it is of the same file, which may have been written to.
    pub(super) fn is_of_same_file(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

/// Returns the number of the file system, and that of the file in it.
#[cfg(unix)]
fn number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

// Without numbers, a file that was replaced cannot be told from one that was overwritten: all count as replaced.
#[cfg(not(unix))]
fn number(metadata: &Metadata) -> (u64, u64) {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    (metadata.len(), modified.map_or(0, |time| time.as_nanos() as u64))
}

/// The directory of a store, which may be moved away or replaced.
pub(super) struct Directory {
    path: PathBuf,
    stamp: Option<Stamp>,
}

impl Directory {
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), stamp: Stamp::of(path) }
    }

    /// Whether its path names the same directory.
    pub(super) fn is_there(&self) -> bool {
        match (Stamp::of(&self.path), &self.stamp) {
            // Elsewhere, a directory cannot be told from another.
            (Some(now), Some(before)) => !cfg!(unix) || now.is_of_same_file(before),
            _ => false,
        }
    }

    /// Whether something else lies in its place.
    pub(super) fn is_replaced(&self) -> bool {
        self.path.exists() && !self.is_there()
    }
}

/// The files of a set as they were when they were first seen. They are mapped, so one that is overwritten in place makes
/// answers wrong.
#[derive(Default)]
pub(super) struct Watch {
    seen: Mutex<BTreeMap<PathBuf, Stamp>>,
    overwritten: OnceLock<Problem>,
}

impl Watch {
    /// Compares files, and the ones that were seen before, with what they were when they were first seen.
    pub(super) fn look(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths {
            if let Some(stamp) = Stamp::of(&path) {
                seen.entry(path).or_insert(stamp);
            }
        }
        // A merge may have removed some meanwhile.
        seen.retain(|path, first| {
            let Some(stamp) = Stamp::of(path) else { return false };
            if first.is_of_same_file(&stamp) && *first != stamp {
                self.spoil(path);
            }
            true
        });
    }

    /// Takes one more file as it is now, so that what happens to it before the next look is seen.
    pub(super) fn add(&self, path: PathBuf) {
        if let Some(stamp) = Stamp::of(&path) {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(stamp);
        }
    }

    /// Whether another file lies in the place of one of them.
    pub(super) fn has_other_file(&self) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().any(|(path, first)| Stamp::of(path).is_some_and(|now| !now.is_of_same_file(first)))
    }

    /// Ends the set, one of whose files was overwritten in place; returns the problem.
    pub(super) fn spoil(&self, path: &Path) -> Problem {
        let new = || {
            tracing::error!(path = %path.display(), "was overwritten in place: requests to its set fail");
            Problem::overwritten(path)
        };
        self.overwritten.get_or_init(new).clone()
    }

    /// Checks that no file was seen to be overwritten.
    ///
    /// # Errors
    /// When one was.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.overwritten.get().map_or(Ok(()), |problem| Err(problem.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_added_are_watched_before_the_first_look() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        let watch = Watch::default();
        for path in [&one, &two] {
            fs::write(path, "1").unwrap();
            watch.add(path.clone());
        }
        fs::write(directory.path().join("new"), "1").unwrap();
        fs::rename(directory.path().join("new"), &one).unwrap();
        assert!(watch.has_other_file());
        // A list of before they were added.
        watch.look([]);
        assert!(watch.has_other_file() && watch.check().is_ok());
        fs::write(&two, "12").unwrap();
        watch.look([]);
        assert!(watch.check().is_err());
    }

    #[test]
    fn a_file_that_is_overwritten_is_told_from_one_that_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        let watch = Watch::default();
        let paths = || [one.clone(), two.clone()];
        fs::write(&one, "1").unwrap();
        watch.look(paths());
        fs::write(directory.path().join("new"), "12").unwrap();
        fs::rename(directory.path().join("new"), &one).unwrap();
        fs::write(&two, "2").unwrap();
        watch.look(paths());
        fs::remove_file(&two).unwrap();
        watch.look(paths());
        assert!(watch.check().is_ok() && watch.has_other_file());
        let watch = Watch::default();
        watch.look(paths());
        assert!(!watch.has_other_file());
        fs::write(&one, "123").unwrap();
        watch.look(paths());
        let problem = watch.check().unwrap_err();
        assert!(problem.code() == "damaged" && problem.detail().contains("mv"), "{}", problem.detail());
    }
}
