//! Inspection: the manifest and the logs of a store of any width.

use std::io;
use std::path::{Path, PathBuf};

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

/// Returns a file, directory or link in the directory of a store that neither a store nor its repair has put there.
///
/// # Errors
/// When the operating system refuses to list a directory.
pub fn foreign_file(path: impl AsRef<Path>) -> Result<Option<PathBuf>, Error> {
    let disk = RealDisk::new(path);
    let io = |directory: &str| Error::io("list it", disk.path(directory));
    let own = [layout::SEGMENTS, layout::DELETES, layout::LOGS, layout::DAMAGED];
    for directory in [""].into_iter().chain(own) {
        let in_it = |name: String| match directory {
            "" => name,
            _ => format!("{directory}/{name}"),
        };
        let directories = match disk.list_directories(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names.map_err(io(directory))?,
        };
        let is_own_directory = |name: &str| directory.is_empty() && own.contains(&name);
        let is_own_file = |name: &str| match directory {
            layout::DAMAGED => layout::is_kept_aside(name),
            _ => layout::is_own(directory, name),
        };
        let files = disk.list(directory).map_err(io(directory))?;
        let named = directories.into_iter().map(|name| (is_own_directory(&name), name));
        let named = named.chain(files.into_iter().map(|name| (is_own_file(&name), name)));
        for (is_own, name) in named {
            let name = in_it(name);
            if !is_own || disk.is_link(&name) {
                return Ok(Some(disk.path(&name)));
            }
        }
    }
    Ok(None)
}
