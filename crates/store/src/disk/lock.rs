//! The lock that admits one writing process at a time.

use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;

use crate::disk::layout::LOCK;
use crate::disk::{Disk, DiskLock};
use crate::error::Error;

/// The start of the text of every lock.
const OWN_TEXT: &str = "process ";

/// The right to write to a store, until it is dropped or the process ends in any way.
///
/// It is an advisory lock of the operating system, so a crash leaves none behind. On network file systems it may be
/// local to one machine, or missing.
#[derive(Debug)]
pub struct StoreLock {
    held: Box<dyn DiskLock>,
    process: u32,
    /// A description of the process, for people.
    text: String,
    path: PathBuf,
}

impl StoreLock {
    /// Takes the lock of a store, without waiting.
    ///
    /// # Errors
    /// When another process, or another handle in this one, has it; when the operating system refuses an operation.
    pub fn take(disk: &dyn Disk) -> Result<Self, Error> {
        let process = std::process::id();
        let text = format!("{OWN_TEXT}{process} on {} since {}\n", host_name(), now());
        let path = disk.path("");
        match disk.lock(LOCK, &text).map_err(Error::io("lock it", disk.path(LOCK)))? {
            Ok(held) => Ok(Self { held, process, text, path }),
            Err(text) => Err(Error::InUse { path, holder: holder(&text) }),
        }
    }

    /// Whether the file `lock` of a new store is missing or one that a store wrote, rather than another's of that name.
    pub(crate) fn may_be_taken(disk: &dyn Disk) -> Result<bool, Error> {
        let names = disk.list("").map_err(Error::io("list it", disk.path("")))?;
        if !names.iter().any(|name| name == LOCK) {
            return Ok(true);
        }
        if disk.is_link(LOCK) {
            return Ok(false);
        }
        match disk.read_first(LOCK, OWN_TEXT.len()) {
            Ok(first) => Ok(first.is_empty() || first == OWN_TEXT.as_bytes()),
            // Some systems do not let a file be read that another process has locked.
            Err(_) if disk.lock_text(LOCK).is_ok_and(|text| text.is_some()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(false),
            Err(error) => Err(Error::io("read it", disk.path(LOCK))(error)),
        }
    }

    /// Writes a status line for other processes, after the description of this one. It is for information only.
    pub(crate) fn set_status(&self, line: &str) {
        let _ = self.held.set_text(&format!("{}{line}\n", self.text));
    }

    /// Whether an earlier holder has left its text in the file, so that no process can still rely on another file that
    /// was removed.
    pub(crate) fn was_held(&self) -> bool {
        self.held.was_held()
    }

    /// Checks that this is not a process that was forked from the one that took the lock: both would hold it.
    ///
    /// # Errors
    /// When this is another process.
    pub fn check(&self) -> Result<(), Error> {
        match std::process::id() == self.process {
            true => Ok(()),
            false => Err(Error::Forked { path: self.path.clone(), opened_by: self.process }),
        }
    }
}

#[cfg(test)]
impl StoreLock {
    /// Returns the lock as a forked process has it.
    pub(crate) fn forked(self) -> Self {
        Self { process: self.process ^ 1, ..self }
    }
}

/// Returns the holder of a store and its status line; `None` if no process has the store open for writing.
pub(crate) fn holder_and_status(disk: &dyn Disk) -> Option<(String, String)> {
    let text = disk.lock_text(LOCK).ok().flatten()?;
    Some((holder(&text), text.lines().nth(1).unwrap_or_default().to_owned()))
}

/// Returns the holder of a lock from the text in its file, which may be any text.
fn holder(text: &str) -> String {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    if line.is_empty() { "another process".to_owned() } else { line }
}

fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    match i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0)) {
        Some(time) => time.to_string(),
        None => "an unknown time".to_owned(),
    }
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn a_second_one_is_told_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let first = StoreLock::take(&disk).unwrap();
        let error = StoreLock::take(&disk).unwrap_err();
        let expected = format!("in use by process {} on {} since 2", std::process::id(), host_name());
        assert!(error.to_string().contains(&expected), "{error}");
        assert!(error.to_string().ends_with(" UTC"), "{error}");
        drop(first);
        StoreLock::take(&disk).unwrap().check().unwrap();
    }

    #[test]
    fn a_holder_without_a_text_is_another_process() {
        assert_eq!(holder(""), "another process");
        assert_eq!(holder("\u{1b}[2Jprocess 7\nand more"), "[2Jprocess 7");
    }

    #[test]
    fn another_process_has_no_part_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut lock = StoreLock::take(&RealDisk::new(directory.path())).unwrap();
        lock.process += 1;
        assert!(matches!(lock.check(), Err(Error::Forked { opened_by, .. }) if opened_by == lock.process));
    }
}
