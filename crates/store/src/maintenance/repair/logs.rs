//! Repair of logs: intact records are copied to a new log.

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::layout;
use crate::error::Error;
use crate::log::{LogWriter, Lost, Salvaged, Sealed, check_names, operation_bytes, replay, salvage};
use crate::maintenance::repair::report::{Repaired, RepairedFile};
use crate::maintenance::repair::separate_damage;
use crate::manifest::Manifest;
use crate::write::batch::Operation;

/// Returns the damage of the logs of a manifest, if they have any, and whether the batches before it remove pairs.
pub(super) fn check<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
) -> Result<(Option<Error>, bool), Error> {
    let (mut has_removals, start) = (false, manifest.logs_start());
    let replayed = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, batch| {
        has_removals |= batch.operations.iter().any(|operation| matches!(operation, Operation::Remove(..)));
        Ok(())
    });
    let named = || check_names(disk, &manifest.identity, manifest.first_log);
    Ok((separate_damage(replayed.and_then(|_| named()))?.err(), has_removals))
}

/// Copies every intact batch to the log `number`, which gets its name when it is complete: an incomplete one would
/// count as damaged in the next repair. The manifest begins with that log then. Adds to the report what was lost, and
/// returns the names of the damaged logs.
///
/// # Errors
/// When the operating system refuses an operation.
pub(super) fn copy_intact<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &mut Manifest,
    number: u64,
    damage: &Error,
    repaired: &mut Repaired,
) -> Result<Vec<String>, Error> {
    let copied = copy::<F>(disk, manifest, number);
    let (salvaged, sealed) = copied.inspect_err(|_| drop(disk.remove(&layout::new_log(number))))?;
    (manifest.first_log, manifest.sealed) = (number, Some(sealed));
    let Salvaged { batches, damaged_files, damaged_headers, misnamed, lost, .. } = salvaged;
    repaired.saved_batches += batches;
    repaired.lost_log_parts += lost.len() as u64;
    for (log, file) in &misnamed {
        add_part(repaired, *log, format!("its file has the name of another: {}", layout::log(*file)), 0);
    }
    if damaged_headers.is_empty() && misnamed.is_empty() && lost.is_empty() {
        repaired.add(RepairedFile::damaged(layout::LOGS, damage));
    }
    for log in &damaged_headers {
        add_part(repaired, *log, "the header is damaged; no batch is lost by that".to_owned(), 0);
    }
    let operation_bytes = operation_bytes(&manifest.identity) as u64;
    for Lost { log, offset, bytes, what } in lost {
        let problem = format!("at byte {offset}: {what}; {bytes} bytes are lost");
        add_part(repaired, log, problem, bytes / operation_bytes);
    }
    Ok(damaged_files.into_iter().map(layout::log).collect())
}

fn copy<F: Fingerprint>(
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

/// Adds a lost part of a log to the report. Its operations may be insertions or removals.
fn add_part(repaired: &mut Repaired, log: u64, problem: String, operations: u64) {
    let file = repaired.of_file(layout::log(log).as_ref());
    file.problems.push(problem);
    file.lost_pairs += operations;
    file.returned_pairs += operations;
}
