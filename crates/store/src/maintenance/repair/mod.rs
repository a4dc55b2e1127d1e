//! Repair: salvages a damaged store.
//!
//! - [`evidence`]: gathers all that is there
//! - [`plan`]: decides, from the evidence alone, what becomes of every line, file and gap
//! - [`apply`]: carries the decision out, and replaces the manifest once, at the end
//! - [`segments`], [`logs`]: salvage the readable pairs of segments and the intact records of logs
//! - [`report`], [`kept_report`], [`changes`]: what was found, also after an interruption

mod apply;
mod changes;
mod evidence;
mod kept_report;
mod logs;
mod plan;
mod report;
mod segments;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, Progress, ProgressCallback};

pub use report::{Repaired, RepairedFile};

use crate::disk::layout::{DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::disk::lock::StoreLock;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::manifest::MAX_NUMBER;
use evidence::{Evidence, Texts, read_texts};
use kept_report::KeptReport;

/// Repairs a damaged store, so that it opens with everything that is salvageable: the lines that the manifest and its
/// copy prove, the pairs of every intact block of any table, every intact record of the logs, and the removals. Damaged
/// files are kept in the directory `damaged` of the store. An intact store is not changed.
///
/// An interrupted repair can be repeated: the report says what all of them lost. Unreadable removals are lost, unless
/// the logs have them: [`Repaired::returned_pairs`] is the number of pairs that may have come back.
///
/// # Errors
/// When the directory is not a store, the store is in use, or too little of the manifest and its copy is readable; when
/// the operating system refuses an operation, other than to read bytes that the disk has lost.
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, Error> {
    repair_on(&RealDisk::new(path))
}

/// Repairs a store with a progress callback, as [`Store::compact_with`](crate::Store::compact_with): while each segment
/// is checked, and while a new one is written in its place. Calls `tell` with the report. The report stays in the
/// store until `tell` succeeds: if the process ends before, or `tell` fails, the next repair reports the same.
///
/// # Errors
/// As for [`repair`]; when the callback cancels it, after which the repair can be repeated; the error of `tell`.
pub fn repair_with<E: From<Error>>(
    path: impl AsRef<Path>,
    report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    tell: impl FnOnce(&Repaired) -> Result<(), E>,
) -> Result<Repaired, E> {
    repair_and_tell(&RealDisk::new(path), &(Arc::new(report) as ProgressCallback), tell)
}

/// Repairs a store on any disk: see [`repair`].
///
/// # Errors
/// As for [`repair`].
pub fn repair_on(disk: &dyn Disk) -> Result<Repaired, Error> {
    let report = Arc::new(|_| ControlFlow::Continue(())) as ProgressCallback;
    repair_and_tell(disk, &report, |_| Ok(()))
}

/// Repairs a store on any disk: see [`repair_with`].
///
/// # Errors
/// As for [`repair_with`].
pub fn repair_and_tell<E: From<Error>>(
    disk: &dyn Disk,
    report: &ProgressCallback,
    tell: impl FnOnce(&Repaired) -> Result<(), E>,
) -> Result<Repaired, E> {
    let width = width_of(disk, &read_texts(disk)?)?;
    let _lock = StoreLock::take(disk)?;
    let repaired = if width == 128 { run::<u128>(disk, report) } else { run::<u64>(disk, report) }?;
    tell(&repaired)?;
    KeptReport::remove(disk)?;
    Ok(repaired)
}

/// Repairs a store whose lock the caller has.
fn run<F: Fingerprint>(disk: &dyn Disk, report: &ProgressCallback) -> Result<Repaired, Error> {
    // Another process may have replaced the manifest before the lock was taken.
    let texts = read_texts(disk)?;
    let found = width_of(disk, &texts)?;
    if found != F::BITS {
        return Err(Error::Width { path: disk.path(""), found, expected: F::BITS });
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        disk.create_directory(directory).map_err(Error::io("create it", disk.path(directory)))?;
    }
    let salvaged = texts.salvaged.clone().ok_or_else(|| Error::Irreparable { path: disk.path(MANIFEST) })?;
    let evidence = Evidence::gather::<F>(disk, texts, &salvaged.manifest, report)?;
    let plan = plan::decide(&evidence, &salvaged);
    if plan.new_log.max(plan.first_new_segment) > MAX_NUMBER {
        // A manifest with a greater one is none.
        return Err(Error::Irreparable { path: disk.path(MANIFEST) });
    }
    let repaired = apply::apply::<F>(disk, &evidence, plan, report)?;
    Ok(repaired.on(disk))
}

/// Returns the width of the store.
///
/// # Errors
/// When the directory is not a store, its version is newer, or the width is unreadable.
fn width_of(disk: &dyn Disk, texts: &Texts) -> Result<u32, Error> {
    if let Some(salvaged) = &texts.salvaged {
        return Ok(salvaged.manifest.identity.width);
    }
    // A directory without anything of a store is none.
    let path = disk.path(MANIFEST);
    match crate::manifest::read(disk) {
        Err(Error::Missing { .. } | Error::Damaged { .. }) | Ok(_) => Err(Error::Irreparable { path }),
        Err(error) => Err(error),
    }
}

/// Separates damage, which a repair handles, from other errors, which end it: too many open files, for example, say
/// nothing about the bytes.
fn separate_damage<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error) if !error.is_damage() => Err(error),
        outcome => Ok(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ManifestFile;
    use crate::{CreateOptions, Store, StoreOptions};

    #[test]
    fn a_store_without_a_number_for_another_log_is_not_repaired() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        drop(Store::<u64>::create(directory.path(), &CreateOptions::new(), StoreOptions::new()).unwrap());
        let mut manifest = crate::manifest::read(&disk).unwrap();
        (manifest.first_log, manifest.sealed) = (MAX_NUMBER, None);
        ManifestFile::new(&disk).replace(&manifest).unwrap();
        let text = disk.read(MANIFEST).unwrap();
        let outcome = repair(directory.path());
        assert!(matches!(outcome, Err(Error::Irreparable { .. })), "{outcome:?}");
        assert_eq!(disk.read(MANIFEST).unwrap(), text);
    }
}
