//! What a store is made of, whatever its width.

use std::path::Path;

use crate::disk::layout;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::manifest::{self, Manifest};

/// What a store is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspected {
    /// What the manifest says.
    pub manifest: Manifest,
    /// The logs that count, by ascending numbers.
    pub logs: Vec<LogFile>,
}

/// A log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFile {
    /// The number in its name.
    pub number: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Reads the manifest of a store, and lists its logs. Takes no lock; nothing else is opened or checked.
///
/// # Errors
/// When it is no store, its manifest is damaged, or the operating system refuses something.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspected, Error> {
    let disk = RealDisk::new(path);
    let manifest = manifest::read(&disk)?;
    let mut logs = Vec::new();
    for number in layout::listed(&disk, layout::LOGS, layout::parse_log)? {
        // A writer removes logs that count no longer.
        if number >= manifest.first_log
            && let Ok(bytes) = disk.length(&layout::log(number))
        {
            logs.push(LogFile { number, bytes });
        }
    }
    Ok(Inspected { manifest, logs })
}
