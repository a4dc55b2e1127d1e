//! Inspection: the manifest and the logs of a store of any width.

use std::path::Path;

use crate::disk::layout;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::manifest::{self, Manifest};

/// The manifest and the logs of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspected {
    /// The manifest.
    pub manifest: Manifest,
    /// The live logs, by ascending number.
    pub logs: Vec<LogFile>,
}

/// A log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFile {
    /// The number in its name.
    pub number: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// Reads the manifest of a store and lists its logs. Takes no lock, and opens nothing else.
///
/// # Errors
/// When the directory is not a store, its manifest is damaged, or the operating system refuses an operation.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspected, Error> {
    let disk = RealDisk::new(path);
    let manifest = manifest::read(&disk)?;
    let mut logs = Vec::new();
    for number in layout::listed(&disk, layout::LOGS, layout::parse_log)? {
        // A writer may remove logs that are no longer live.
        if number >= manifest.first_log
            && let Ok(bytes) = disk.length(&layout::log(number))
        {
            logs.push(LogFile { number, bytes });
        }
    }
    Ok(Inspected { manifest, logs })
}
