//! Repair: salvages a damaged store.
//!
//! - [`manifest`]: restores the manifest
//! - [`segments`]: salvages the readable pairs of segments
//! - [`logs`]: salvages the intact records of logs

mod logs;
mod manifest;
mod segments;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::{Fingerprint, Progress, ProgressCallback};

pub use logs::{RepairedLogs, repair_logs};

use crate::disk::keep_aside::keep_aside;
use crate::disk::layout;
use crate::disk::lock::StoreLock;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::log::{Lost, operation_bytes};
use crate::maintenance::stats::StoreStats;
use crate::manifest::{Manifest, ManifestFile};
use crate::recovery::load;
use crate::segment::Opening;
use crate::write::batch::Operation;

/// The report of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The files that were damaged or missing; none if the store is intact.
    pub files: Vec<RepairedFile>,
    /// Pairs in the store before it was damaged, if that is known, as [`StoreStats`] counts them: a pair in a segment
    /// and in the logs counts twice.
    pub pairs_before: Option<u64>,
    /// Pairs in the store after the repair, counted alike.
    pub pairs_after: u64,
    /// Batches that were read from damaged logs.
    pub saved_batches: u64,
    /// Parts of logs with batches that could not be read.
    pub lost_log_parts: u64,
    /// The kept copies of damaged files.
    pub kept: Vec<PathBuf>,
}

/// The report of a file that was damaged or missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedFile {
    /// The file.
    pub path: PathBuf,
    /// Its damage, a sentence each.
    pub problems: Vec<String>,
    /// Pairs that were salvaged from it.
    pub saved_pairs: u64,
    /// Pairs that could not be read: an upper bound, since logs may have removed some of them, and some operations of a
    /// lost part of a log may be removals.
    pub lost_pairs: u64,
    /// Removed pairs that may have come back: an upper bound.
    pub returned_pairs: u64,
    /// Ids of salvaged pairs whose names could not be read. They have the empty name now.
    pub lost_names: u64,
}

impl RepairedFile {
    fn new(path: PathBuf, problem: &str) -> Self {
        Self { path, problems: vec![problem.to_owned()], ..Self::default() }
    }

    /// Returns the report of a damaged file, without the advice to repair it.
    fn damaged(path: PathBuf, damage: &Error) -> Self {
        let problem = match damage {
            Error::Missing { .. } => "it is missing".to_owned(),
            Error::Damaged { offset: Some(offset), what, .. } => format!("damaged at byte {offset}: {what}"),
            Error::Damaged { what, .. } => format!("damaged: {what}"),
            Error::NotAStore { .. } => "it is missing, or does not begin as a manifest does".to_owned(),
            Error::Read(error) => error.kind().to_string(),
            other => other.chain(),
        };
        Self::new(path, &problem)
    }
}

impl Repaired {
    /// Whether the store was intact, so that nothing was changed.
    #[must_use]
    pub fn was_whole(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether nothing was lost and no removed pair can have come back.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost_pairs() == 0
            && self.returned_pairs() == 0
            && self.lost_names() == 0
            && self.lost_log_parts == 0
    }

    /// Returns the number of pairs that were salvaged from damaged segments.
    #[must_use]
    pub fn saved_pairs(&self) -> u64 {
        self.sum(|file| file.saved_pairs)
    }

    /// Returns an upper bound of the pairs that could not be read: see [`RepairedFile::lost_pairs`].
    #[must_use]
    pub fn lost_pairs(&self) -> u64 {
        self.sum(|file| file.lost_pairs)
    }

    /// Returns an upper bound of the removed pairs that may have come back.
    #[must_use]
    pub fn returned_pairs(&self) -> u64 {
        self.sum(|file| file.returned_pairs)
    }

    /// Returns the number of ids of salvaged pairs whose names could not be read.
    #[must_use]
    pub fn lost_names(&self) -> u64 {
        self.sum(|file| file.lost_names)
    }

    fn sum(&self, of: fn(&RepairedFile) -> u64) -> u64 {
        self.files.iter().map(of).sum()
    }
}

/// Repairs a damaged store, so that it opens with everything that is salvageable: the copy of the manifest, the pairs
/// of every intact block of any table, every intact record of the logs, and the removals. Damaged files are kept in the
/// directory `damaged` of the store. An intact store is not changed.
///
/// An interrupted repair can be repeated. Unreadable removals are lost, unless the logs have them:
/// [`Repaired::returned_pairs`] is the number of pairs that may have come back.
///
/// # Errors
/// When the directory is not a store, the store is in use, or too little of the manifest and its copy is readable; when
/// the operating system refuses an operation, other than to read bytes that the disk has lost.
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, Error> {
    repair_on(&RealDisk::new(path))
}

/// Repairs a store with a progress callback, as [`Store::compact_with`](crate::Store::compact_with): while each segment
/// is checked, and while a new one is written in its place.
///
/// # Errors
/// As for [`repair`]; when the callback cancels it. The repair can be repeated then.
pub fn repair_with(
    path: impl AsRef<Path>,
    report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
) -> Result<Repaired, Error> {
    repair_and_report(&RealDisk::new(path), &(Arc::new(report) as ProgressCallback))
}

/// Repairs a store on any disk: see [`repair`].
///
/// # Errors
/// As for [`repair`].
pub fn repair_on(disk: &dyn Disk) -> Result<Repaired, Error> {
    repair_and_report(disk, &(Arc::new(|_| ControlFlow::Continue(())) as ProgressCallback))
}

fn repair_and_report(disk: &dyn Disk, report: &ProgressCallback) -> Result<Repaired, Error> {
    let width = manifest::width_of(disk)?;
    let _lock = StoreLock::take(disk)?;
    if width == 128 { run::<u128>(disk, report) } else { run::<u64>(disk, report) }
}

/// Separates damage, which a repair handles, from other errors, which end it: too many open files, for example, say
/// nothing about the bytes.
fn separate_damage<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error) if !error.is_damage() => Err(error),
        outcome => Ok(outcome),
    }
}

/// Repairs a store whose lock the caller has. The manifest comes first, so that it is intact if the repair is
/// interrupted later.
fn run<F: Fingerprint>(disk: &dyn Disk, report: &ProgressCallback) -> Result<Repaired, Error> {
    let manifest::Restored { manifest, files, kept } = manifest::restore::<F>(disk)?;
    let kept = kept.iter().map(|name| disk.path(name)).collect();
    let mut repaired = Repaired { files, kept, ..Repaired::default() };
    let mut mended = Manifest { segments: Vec::new(), ..manifest.clone() };
    let mut damaged = Vec::new();
    // Above all existing segments, live or not.
    let last = layout::listed(disk, layout::SEGMENTS, layout::parse_segment)?.last().copied();
    mended.next_segment = mended.next_segment.max(last.map_or(1, |last| last + 1));
    for entry in &manifest.segments {
        let outcome = segments::repair_segment::<F>(disk, &manifest, entry, mended.next_segment, report)?;
        repaired.files.extend(outcome.files);
        damaged.extend(outcome.damaged);
        if let Some(entry) = outcome.entry {
            mended.next_segment = mended.next_segment.max(entry.number + 1);
            mended.segments.push(entry);
        }
    }
    mended.segments.sort_unstable_by_key(|entry| entry.number);
    let (mut has_removals, start) = (false, mended.logs_start());
    let replayed = crate::log::replay::<F>(disk, &mended.identity, start, mended.sealed, |_, batch| {
        has_removals |= batch.operations.iter().any(|operation| matches!(operation, Operation::Remove(..)));
        Ok(())
    });
    let are_logs_damaged = separate_damage(replayed)?.is_err();
    damaged.retain(|name| disk.exists(name).unwrap_or(true));
    let kept = keep_aside(disk, damaged.into_iter())?;
    repaired.kept.extend(kept.iter().map(|name| disk.path(name)));
    if are_logs_damaged {
        mended = repair_logs_of::<F>(disk, &mended, &mut repaired)?;
    } else if mended.segments != manifest.segments {
        ManifestFile::new(disk).replace(&mended)?;
    }
    repaired.pairs_after = count::<F>(disk, &mended)?;
    // Pairs that the logs remove may have been in a lost part of a segment.
    let is_lost_known = repaired.lost_pairs() == 0 || !has_removals;
    let is_known = !are_logs_damaged && repaired.returned_pairs() == 0 && is_lost_known;
    repaired.pairs_before = is_known.then(|| repaired.pairs_after + repaired.lost_pairs());
    Ok(repaired)
}

/// Counts the pairs of an intact store.
fn count<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<u64, Error> {
    let (view, _) = load::<F>(disk, manifest, Opening::default())?;
    let stats = StoreStats::of(manifest, &view);
    let in_segments: u64 = stats.segments.iter().map(|segment| segment.pairs - segment.removed).sum();
    Ok(in_segments + stats.recent)
}

/// Salvages the logs and adds the results to the report. Returns the new manifest.
fn repair_logs_of<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    repaired: &mut Repaired,
) -> Result<Manifest, Error> {
    let RepairedLogs { manifest, batches, damaged_headers, lost, kept, .. } =
        repair_logs::<F>(disk, manifest)?;
    repaired.saved_batches += batches;
    repaired.lost_log_parts += lost.len() as u64;
    let headers =
        damaged_headers.into_iter().map(|log| (log, "the header is damaged; no batch is lost".to_owned()));
    let headers = headers.map(|(log, problem)| (log, problem, 0));
    let operation_bytes = operation_bytes(&manifest.identity) as u64;
    let parts = lost.into_iter().map(|Lost { log, offset, bytes, what }| {
        (log, format!("at byte {offset}: {what}; {bytes} bytes are lost"), bytes / operation_bytes)
    });
    for (log, problem, operations) in headers.chain(parts) {
        let path = disk.path(&layout::log(log));
        let at = repaired.files.iter().position(|file| file.path == path).unwrap_or_else(|| {
            repaired.files.push(RepairedFile { path, ..RepairedFile::default() });
            repaired.files.len() - 1
        });
        let file = &mut repaired.files[at];
        file.problems.push(problem);
        file.lost_pairs += operations;
        file.returned_pairs += operations;
    }
    repaired.kept.extend(kept.iter().map(|name| disk.path(name)));
    Ok(manifest)
}
