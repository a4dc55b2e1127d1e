//! Repair of logs: intact records are copied to a new log.

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::keep_aside::keep_aside;
use crate::disk::layout;
use crate::error::Error;
use crate::log::{LogWriter, Lost, Salvaged, Sealed, salvage};
use crate::manifest::{Manifest, ManifestFile};

/// The result of a repair of the logs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedLogs {
    /// The new manifest.
    pub manifest: Manifest,
    /// The number of salvaged batches.
    pub batches: u64,
    /// The number of their operations.
    pub operations: u64,
    /// The logs whose headers are damaged. Their records were read nevertheless.
    pub damaged_headers: Vec<u64>,
    /// The parts that could not be read.
    pub lost: Vec<Lost>,
    /// The names of the kept damaged logs, relative to the directory of the store.
    pub kept: Vec<String>,
}

/// Replaces the logs by a new one with every intact batch. Damaged logs are kept aside. If it is interrupted, the store
/// is as damaged as before, or repaired.
///
/// The caller must have the [lock](crate::disk::lock::StoreLock) of the store.
///
/// # Errors
/// When the operating system refuses it.
pub fn repair_logs<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<RepairedLogs, Error> {
    // Above all existing logs, live or not.
    let last = layout::listed(disk, layout::LOGS, layout::parse_log)?.last().copied();
    let new_log = last.unwrap_or(0).max(manifest.first_log) + 1;
    let copied = copy_intact::<F>(disk, manifest, new_log);
    let (salvaged, sealed) = copied.inspect_err(|_| drop(disk.remove(&layout::new_log(new_log))))?;
    let Salvaged { logs, batches, operations, damaged_headers, lost, .. } = salvaged;
    let is_damaged = |log: &u64| damaged_headers.contains(log) || lost.iter().any(|lost| lost.log == *log);
    let damaged = logs.into_iter().filter(is_damaged).map(layout::log);
    let kept = keep_aside(disk, damaged)?;
    let repaired = Manifest { first_log: new_log, sealed: Some(sealed), ..manifest.clone() };
    let mut file = ManifestFile::new(disk);
    file.replace(&repaired)?;
    file.take_over(&repaired, true)?;
    Ok(RepairedLogs { manifest: repaired, batches, operations, damaged_headers, lost, kept })
}

/// Copies every intact batch to the log `number`, which gets its name when it is complete: an incomplete one would
/// count as damaged in the next repair.
fn copy_intact<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    number: u64,
) -> Result<(Salvaged, Sealed), Error> {
    let mut log = LogWriter::<F>::create_incomplete(disk, manifest.identity, number, manifest.sequence)?;
    let (identity, start) = (&manifest.identity, manifest.logs_start());
    let salvaged = salvage(disk, identity, start, manifest.sealed, |sequence, batch| {
        log.push_named(sequence, &batch.operations, &batch.names);
        log.write()
    })?;
    log.complete()?;
    Ok((salvaged, log.sealed()))
}
