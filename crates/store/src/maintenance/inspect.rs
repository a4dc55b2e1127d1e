//! Inspection: the manifest and the logs of a store of any width, and the counts and costs of an open one.

use std::io;
use std::path::{Path, PathBuf};

use hamdex::Fingerprint;

use crate::disk::{Disk, RealDisk, layout};
use crate::error::Error;
use crate::health::{Health, Merges};
use crate::inner::StoreInner;
use crate::manifest::{self, Manifest};
use crate::store::Store;
use crate::view::View;

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

/// Reads the manifest of a store and lists its logs. Takes no lock, and opens no other file.
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

/// Counts and costs of a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreStats {
    /// Fingerprints: an upper bound, exact if `is_exact`.
    pub fingerprints: u64,
    /// Pairs of fingerprint and id: an upper bound, exact if `is_exact`. 0 in a store without ids.
    pub ids: u64,
    /// Whether the counts are exact: no pair can be stored twice, and no fingerprint has lost only some of its ids.
    pub is_exact: bool,
    /// The segments.
    pub segments: Vec<SegmentStats>,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Pairs in memtables, including the ones that are being flushed.
    pub recent: u64,
    /// Bytes of the memtables.
    pub recent_bytes: u64,
    /// Removed pairs that segments still hold.
    pub removed: u64,
    /// The number of the last batch.
    pub sequence: u64,
    /// Bytes written to segments, removals and logs since the store was created, divided by the bytes of segments that
    /// flushes and ingestion have added. 0 before the first of these. A log counts from the flush of its pairs on.
    pub write_amplification: f64,
    /// The health of the process that has the store open for writing; `None` if there is none.
    pub health: Option<Health>,
}

/// Counts of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// The number in its name.
    pub number: u64,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Distinct fingerprints, including removed ones.
    pub fingerprints: u64,
    /// Pairs, including removed ones.
    pub pairs: u64,
    /// Removed pairs.
    pub removed: u64,
    /// The number of merges that its oldest part has been through.
    pub level: u32,
}

impl StoreStats {
    pub(crate) fn of<F: Fingerprint>(manifest: &Manifest, view: &View<F>) -> Self {
        // The manifest may be of another moment, so only the level comes from it.
        let level_of = |number: u64| manifest.entry(number).map_or(0, |entry| entry.level);
        let segments: Vec<SegmentStats> = view
            .segments
            .iter()
            .map(|live| SegmentStats {
                number: live.segment.number,
                bytes: live.segment.bytes,
                fingerprints: live.index().len(),
                pairs: live.segment.pairs(),
                removed: live.removed.len(),
                level: level_of(live.segment.number),
            })
            .collect();
        let recent: u64 = view.memtables().map(crate::memtable::Memtable::len).sum();
        let sum = |of: fn(&SegmentStats) -> u64| segments.iter().map(of).sum::<u64>();
        let (pairs, removed, bytes) = (sum(|s| s.pairs), sum(|s| s.removed), sum(|s| s.bytes));
        let left = pairs - removed + recent;
        let has_ids = manifest.identity.has_ids;
        let written = manifest.written;
        let all_written =
            [written.removals, written.logs].into_iter().fold(written.segments, u64::saturating_add);
        let (fingerprints, is_exact) = view.fingerprints(has_ids);
        Self {
            fingerprints,
            ids: if has_ids { left } else { 0 },
            is_exact,
            bytes,
            recent,
            recent_bytes: view.memtables().map(|recent| recent.bytes() as u64).sum(),
            removed,
            sequence: view.sequence,
            write_amplification: if written.added == 0 {
                0.0
            } else {
                all_written as f64 / written.added as f64
            },
            segments,
            health: None,
        }
    }
}

impl<F: Fingerprint> Store<F> {
    /// Returns counts, costs and health of the store. It reads no file and waits for no lock.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let inner = self.inner();
        StoreStats {
            health: Some(inner.health()),
            ..StoreStats::of(&inner.manifest.load(), &inner.view.load())
        }
    }

    /// Returns the health of the store: background work that fails, and the pressure on writers.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner().health()
    }
}

impl<F: Fingerprint> StoreInner<F> {
    fn health(&self) -> Health {
        Health {
            holder: String::new(),
            merges: match (self.options.merges, self.background.is_paused()) {
                (false, _) => Merges::Off,
                (true, true) => Merges::Paused,
                (true, false) => Merges::On,
            },
            pressure: self.background.pressure(),
            queue: self.queue.len(),
            unsynced: self.unsynced(),
            failures: self.background.failures(),
        }
    }

    /// Writes the health to the lock file for other processes, if it has changed.
    pub(crate) fn publish_health(&self, shown: &mut String) {
        let line = self.health().to_line();
        if line != *shown {
            self.set_status(&line);
            *shown = line;
        }
    }
}
