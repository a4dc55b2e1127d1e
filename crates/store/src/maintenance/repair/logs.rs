//! Repair of logs: every whole record goes to a new one.

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::keep_aside::keep_aside;
use crate::disk::layout;
use crate::error::Error;
use crate::log::{LogWriter, Lost, Salvaged, salvage};
use crate::manifest::{Manifest, ManifestFile};

/// The result of a repair of the logs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedLogs {
    /// The manifest as it is now.
    pub manifest: Manifest,
    /// How many batches were saved.
    pub batches: u64,
    /// How many operations they have.
    pub operations: u64,
    /// The logs whose headers are damaged. Their records are read all the same.
    pub damaged_headers: Vec<u64>,
    /// Parts that could not be read.
    pub lost: Vec<Lost>,
    /// Where the damaged logs are kept: names within the store's directory.
    pub kept: Vec<String>,
}

/// Writes every whole batch of the logs to a new log, which is the only one then. The damaged ones are kept aside, the
/// others go. If it is interrupted, the store is as damaged as before, or repaired.
///
/// The one who repairs a store must have its [lock](crate::disk::lock::StoreLock).
///
/// # Errors
/// When the operating system refuses it.
pub fn repair_logs<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<RepairedLogs, Error> {
    // Above all logs that are there, whether or not they count.
    let last = layout::listed(disk, layout::LOGS, layout::parse_log)?.last().copied();
    let new_log = last.unwrap_or(0).max(manifest.first_log) + 1;
    let mut log = LogWriter::<F>::create(disk, manifest.identity, new_log, manifest.sequence)?;
    let (identity, start) = (&manifest.identity, manifest.logs_start());
    let salvaged = salvage(disk, identity, start, manifest.sealed, |sequence, batch| {
        log.push_named(sequence, &batch.operations, &batch.names);
        log.write()
    })?;
    log.sync()?;
    let Salvaged { logs, batches, operations, mut damaged_headers, lost, .. } = salvaged;
    damaged_headers.retain(|&log| log != new_log);
    let is_damaged = |log: &u64| damaged_headers.contains(log) || lost.iter().any(|lost| lost.log == *log);
    let damaged = logs.into_iter().filter(|log| *log != new_log && is_damaged(log)).map(layout::log);
    let kept = keep_aside(disk, damaged)?;
    let repaired = Manifest { first_log: new_log, sealed: Some(log.sealed()), ..manifest.clone() };
    let mut file = ManifestFile::new(disk);
    file.replace(&repaired)?;
    file.take_over(&repaired, true)?;
    Ok(RepairedLogs { manifest: repaired, batches, operations, damaged_headers, lost, kept })
}
