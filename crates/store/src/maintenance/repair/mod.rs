//! Repair: salvages a damaged store.
//!
//! - [`evidence`]: gathers all that is there
//! - [`plan`]: decides, from the evidence alone, what becomes of every line, file and gap; then it is carried out
//!   here, and the manifest replaced once, at the end
//! - [`salvage`]: salvages the readable pairs of segments and the intact records of logs
//! - [`report`]: the findings, also after an interruption

mod evidence;
mod plan;
mod report;
mod salvage;

use std::path::{Path, PathBuf};

use hamdex::{Fingerprint, Report, for_width};

pub use report::{Repaired, RepairedFile};

use crate::disk::copy::keep_aside;
use crate::disk::layout::{DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::disk::lock::StoreLock;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::maintenance::inspect::StoreStats;
use crate::manifest::{self, MAX_NUMBER, Manifest, ManifestFile};
use crate::recovery::load;
use crate::segment::Opening;
use evidence::{Evidence, Texts, read_texts};
use plan::Plan;
use report::KeptReport;
use salvage::repair_segment;

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

/// Repairs a store with a progress callback and a cancellation, as [`Store::compact_with`](crate::Store::compact_with):
/// while each segment is checked, and while a new one is written in its place. Calls `tell` with what was repaired. That
/// stays in the store until `tell` succeeds: if the process ends before, or `tell` fails, the next repair tells the same.
///
/// # Errors
/// As for [`repair`]; when it is cancelled, after which the repair can be repeated; the error of `tell`.
pub fn repair_with<E: From<Error>>(
    path: impl AsRef<Path>,
    report: &Report,
    tell: impl FnOnce(&Repaired) -> Result<(), E>,
) -> Result<Repaired, E> {
    repair_and_tell(&RealDisk::new(path), report, tell)
}

/// Repairs a store on any disk: see [`repair`].
pub fn repair_on(disk: &dyn Disk) -> Result<Repaired, Error> {
    repair_and_tell(disk, &Report::new(), |_| Ok(()))
}

/// Repairs a store on any disk: see [`repair_with`].
pub fn repair_and_tell<E: From<Error>>(
    disk: &dyn Disk,
    report: &Report,
    tell: impl FnOnce(&Repaired) -> Result<(), E>,
) -> Result<Repaired, E> {
    let width = width_of(disk, &read_texts(disk)?)?;
    let _lock = StoreLock::take(disk)?;
    let repaired = for_width!(width, F => run::<F>(disk, report))?;
    tell(&repaired)?;
    KeptReport::remove(disk)?;
    Ok(repaired)
}

/// Repairs a store whose lock the caller has.
fn run<F: Fingerprint>(disk: &dyn Disk, report: &Report) -> Result<Repaired, Error> {
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
    let repaired = apply::<F>(disk, &evidence, plan, report)?;
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

/// Applies a plan. Names in the report are relative to the directory of the store.
fn apply<F: Fingerprint>(
    disk: &dyn Disk,
    evidence: &Evidence,
    plan: Plan,
    report: &Report,
) -> Result<Repaired, Error> {
    let Plan { manifest, segments, files, is_doubtful, new_log, first_new_segment } = plan;
    let mut damaged: Vec<String> =
        files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
    let mut changes = Changes::new(disk, evidence, manifest.generation, first_new_segment);
    let mut repaired = Repaired { files, ..Repaired::default() };
    let as_found = Manifest {
        segments: segments.iter().map(|segment| segment.entry.clone()).collect(),
        ..manifest.clone()
    };
    let mut mended = manifest;
    for planned in &segments {
        let outcome = repair_segment::<F>(&mut changes, &as_found, planned, report)?;
        outcome.files.into_iter().for_each(|file| repaired.add(file));
        damaged.extend(outcome.damaged);
        mended.segments.extend(outcome.entry);
    }
    mended.segments.sort_unstable_by_key(|entry| entry.number);
    mended.next_segment = mended.next_segment.max(changes.next_segment());
    let (log_damage, has_removals) = salvage::check_logs::<F>(disk, &mended)?;
    let are_logs_damaged = log_damage.is_some();
    if let Some(damage) = log_damage {
        changes.begin()?;
        damaged.extend(salvage::copy_intact_logs::<F>(disk, &mut mended, new_log, &damage, &mut repaired)?);
    }
    // Pairs that the logs remove may have been in a lost part of a segment.
    let is_lost_known = repaired.lost_pairs() == 0 || !has_removals;
    let is_known =
        !are_logs_damaged && repaired.returned_pairs() == 0 && repaired.unknown_parts() == 0 && is_lost_known;
    let is_changed = !repaired.was_whole();
    if is_changed {
        if is_doubtful {
            // Files that only a lost line named look like leftovers.
            let unnamed = manifest::leftovers(disk, &as_found)?.into_iter();
            damaged.extend(unnamed.filter(|name| !evidence.is_own(name)));
        }
        repaired.kept = keep_damaged(disk, damaged)?;
    }
    if let Some(earlier) = &evidence.earlier {
        repaired = repaired.after(&earlier.repaired);
    }
    if is_changed {
        changes.keep(repaired.clone())?;
        let mut file = ManifestFile::new(disk);
        file.replace(&mended)?;
        file.take_over(&mended, true)?;
    } else {
        mended = manifest::read(disk)?;
    }
    repaired.pairs_after = count::<F>(disk, &mended)?;
    let has_earlier = evidence.earlier.is_some();
    repaired.pairs_before = (is_known && !has_earlier).then(|| repaired.pairs_after + repaired.lost_pairs());
    Ok(repaired)
}

/// Gives files a second name, as far as they exist. Returns the new names.
fn keep_damaged(disk: &dyn Disk, mut names: Vec<String>) -> Result<Vec<PathBuf>, Error> {
    names.sort_unstable();
    names.dedup();
    names.retain(|name| disk.exists(name).unwrap_or(true));
    let kept = keep_aside(disk, names.into_iter())?;
    Ok(kept.into_iter().map(Into::into).collect())
}

/// Counts the pairs of an intact store.
fn count<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<u64, Error> {
    let (view, _) = load::<F>(disk, manifest, Opening::default())?;
    let stats = StoreStats::of(manifest, &view);
    let in_segments: u64 = stats.segments.iter().map(|segment| segment.pairs - segment.removed).sum();
    Ok(in_segments + stats.recent)
}

/// The right to make new files. Before the first one, the report in the store says which numbers they have, so that an
/// interrupted repair does not take its own files for those of the store.
struct Changes<'d> {
    pub(super) disk: &'d dyn Disk,
    /// The undelivered report of an earlier repair, with the numbers of this one.
    announced: KeptReport,
    has_begun: bool,
    next_segment: u64,
}

impl<'d> Changes<'d> {
    pub(super) fn new(disk: &'d dyn Disk, evidence: &Evidence, generation: u64, first_segment: u64) -> Self {
        let repaired = evidence.earlier.as_ref().map(|earlier| earlier.repaired.clone()).unwrap_or_default();
        let first_own = evidence.first_own_segment().unwrap_or(first_segment);
        let announced = KeptReport { generation, first_segment: first_own, repaired };
        Self { disk, announced, has_begun: false, next_segment: first_segment }
    }

    /// Announces changes, unless that was done before.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if !self.has_begun {
            self.announced.write(self.disk)?;
            self.has_begun = true;
        }
        Ok(())
    }

    /// Returns the number of a new segment.
    pub(super) fn new_segment(&mut self) -> Result<u64, Error> {
        if self.next_segment >= MAX_NUMBER {
            // A manifest has a number above those of all segments.
            return Err(Error::Irreparable { path: self.disk.path(MANIFEST) });
        }
        self.begin()?;
        self.next_segment += 1;
        Ok(self.next_segment - 1)
    }

    /// Returns a number above those of all segments.
    pub(super) fn next_segment(&self) -> u64 {
        self.next_segment
    }

    /// Keeps the report in the store until it is delivered.
    pub(super) fn keep(&mut self, repaired: Repaired) -> Result<(), Error> {
        self.announced.repaired = repaired;
        self.has_begun = true;
        self.announced.write(self.disk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// A closed store of segment 1, with pairs up to 20, of which 7 is removed. A byte too many is in its removals.
    fn with_damaged_removals() -> (tempfile::TempDir, RealDisk) {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions::new().merges(false);
        let store = Store::<u64>::create(directory.path(), &CreateOptions::new(), options).unwrap();
        (0..20).for_each(|number| store.insert(number << 40, number).unwrap());
        store.flush().unwrap();
        store.remove(7 << 40, 7).unwrap();
        store.flush().unwrap();
        store.close().unwrap();
        let removals = directory.path().join("deletes/000001-1");
        let mut bytes = std::fs::read(&removals).unwrap();
        bytes.push(0);
        std::fs::write(removals, bytes).unwrap();
        let disk = RealDisk::new(directory.path());
        (directory, disk)
    }

    #[test]
    fn removals_whose_versions_are_used_up_are_saved_with_another_segment() {
        let (directory, disk) = with_damaged_removals();
        std::fs::write(directory.path().join(format!("deletes/000001-{MAX_NUMBER}")), "").unwrap();
        let repaired = repair(directory.path()).unwrap();
        assert!(repaired.is_complete() && !repaired.was_whole(), "{repaired:?}");
        let manifest = crate::manifest::read(&disk).unwrap();
        let [entry] = &manifest.segments[..] else { panic!("{manifest:?}") };
        assert_eq!((entry.number, entry.removals.map(|removals| removals.version)), (2, Some(1)));
        let store = Store::<u64>::open(directory.path(), StoreOptions::new()).unwrap();
        let found: Vec<u64> =
            (0..20).filter(|number| store.snapshot().contains(number << 40).unwrap()).collect();
        assert_eq!(found, (0..20).filter(|number| *number != 7).collect::<Vec<_>>());
        assert_eq!(disk.list(DELETES).unwrap(), ["000002-1"]);
    }

    #[test]
    fn a_segment_without_a_number_for_another_is_not_repaired() {
        let (directory, disk) = with_damaged_removals();
        std::fs::write(directory.path().join(format!("deletes/000001-{MAX_NUMBER}")), "").unwrap();
        let manifest = crate::manifest::read(&disk).unwrap();
        ManifestFile::new(&disk).replace(&Manifest { next_segment: MAX_NUMBER, ..manifest }).unwrap();
        let names = || [SEGMENTS, DELETES, LOGS, ""].map(|directory| disk.list(directory).unwrap());
        let before = names();
        let outcome = repair(directory.path());
        assert!(matches!(outcome, Err(Error::Irreparable { .. })), "{outcome:?}");
        assert_eq!(names(), before);
    }
}
