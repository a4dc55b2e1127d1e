//! Saving what can be had of a damaged store.
//!
//! - [`manifest`]: chooses the manifest to go on with, or puts one together
//! - [`segments`]: the pairs that the rest of a segment proves
//! - [`logs`]: the whole records of logs

mod logs;
mod manifest;
mod segments;

use std::path::{Path, PathBuf};

use hamdex::Fingerprint;

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
    /// The files that were damaged or missing. None in a store that is whole.
    pub files: Vec<RepairedFile>,
    /// Pairs in the store before it was damaged, where that can be known, as [`StoreStats`] counts them: a pair that a
    /// segment and the logs have counts twice.
    pub pairs_before: Option<u64>,
    /// Pairs in the store now, counted alike.
    pub pairs_after: u64,
    /// Batches that were read from damaged logs.
    pub saved_batches: u64,
    /// Parts of logs that could not be read, which held batches.
    pub lost_log_parts: u64,
    /// Copies of all that was damaged, as it was.
    pub kept: Vec<PathBuf>,
}

/// A file that was damaged or missing, and what has become of what it held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedFile {
    /// The file.
    pub path: PathBuf,
    /// Its damage; a sentence each.
    pub problems: Vec<String>,
    /// Pairs that were read from it, and are in the store.
    pub saved_pairs: u64,
    /// Pairs of it that could not be read, at most: some of them may have been removed by the logs, and of a log it is
    /// not known which of its operations were insertions.
    pub lost_pairs: u64,
    /// Pairs that had been removed and may have come back, at most.
    pub returned_pairs: u64,
    /// Ids of saved pairs whose names could not be read: they have the empty name now.
    pub lost_names: u64,
}

impl RepairedFile {
    fn new(path: PathBuf, problem: &str) -> Self {
        Self { path, problems: vec![problem.to_owned()], ..Self::default() }
    }

    /// A file with this damage, without the advice to repair it.
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
    /// Whether the store was whole, so that nothing was changed.
    #[must_use]
    pub fn was_whole(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether nothing is missing and nothing that was removed can have come back.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost_pairs() == 0
            && self.returned_pairs() == 0
            && self.lost_names() == 0
            && self.lost_log_parts == 0
    }

    /// Pairs that were read from damaged segments.
    #[must_use]
    pub fn saved_pairs(&self) -> u64 {
        self.sum(|file| file.saved_pairs)
    }

    /// Pairs that could not be read, at most: see [`RepairedFile::lost_pairs`].
    #[must_use]
    pub fn lost_pairs(&self) -> u64 {
        self.sum(|file| file.lost_pairs)
    }

    /// Pairs that had been removed and may have come back, at most.
    #[must_use]
    pub fn returned_pairs(&self) -> u64 {
        self.sum(|file| file.returned_pairs)
    }

    /// Ids of saved pairs whose names could not be read: they have the empty name now.
    #[must_use]
    pub fn lost_names(&self) -> u64 {
        self.sum(|file| file.lost_names)
    }

    fn sum(&self, of: fn(&RepairedFile) -> u64) -> u64 {
        self.files.iter().map(of).sum()
    }
}

/// Makes a damaged store one that opens, with all that its files prove: what the copy of the manifest says, the pairs
/// of every whole block, in whichever table, every whole record of the logs, and the removals. What was damaged is kept
/// aside in the directory `damaged` of the store. A store that is whole stays as it is.
///
/// If it is interrupted, the store can be repaired again. Removals that cannot be read are forgotten, unless the logs
/// have them: [`Repaired::returned_pairs`] says how many pairs may be back.
///
/// # Errors
/// When it is no store, is in use, or its manifest and the copy of that say too little to go on; when the operating
/// system refuses something, other than to read bytes that the disk has lost.
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, Error> {
    repair_on(&RealDisk::new(path))
}

/// As [`repair`], on any disk.
///
/// # Errors
/// As for [`repair`].
pub fn repair_on(disk: &dyn Disk) -> Result<Repaired, Error> {
    let width = manifest::width_of(disk)?;
    let _lock = StoreLock::take(disk)?;
    if width == 128 { run::<u128>(disk) } else { run::<u64>(disk) }
}

/// Separates damage, which a repair goes on after, from other errors. Any other error ends a repair: too many open files, say, mean
/// nothing for the bytes.
fn tried<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error) if !error.is_damage() => Err(error),
        outcome => Ok(outcome),
    }
}

/// Repairs a store whose lock the caller has. The manifest comes first, so that a repair that is interrupted later finds
/// it whole.
fn run<F: Fingerprint>(disk: &dyn Disk) -> Result<Repaired, Error> {
    let manifest::Restored { manifest, files, kept } = manifest::restore::<F>(disk)?;
    let kept = kept.iter().map(|name| disk.path(name)).collect();
    let mut repaired = Repaired { files, kept, ..Repaired::default() };
    let mut mended = Manifest { segments: Vec::new(), ..manifest.clone() };
    let mut damaged = Vec::new();
    // Above all segments that are there, whether or not they count.
    let last = layout::listed(disk, layout::SEGMENTS, layout::parse_segment)?.last().copied();
    mended.next_segment = mended.next_segment.max(last.map_or(1, |last| last + 1));
    for entry in &manifest.segments {
        let outcome = segments::repair_segment::<F>(disk, &manifest, entry, mended.next_segment)?;
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
    let are_logs_damaged = tried(replayed)?.is_err();
    damaged.retain(|name| disk.exists(name).unwrap_or(true));
    let kept = keep_aside(disk, damaged.into_iter())?;
    repaired.kept.extend(kept.iter().map(|name| disk.path(name)));
    if are_logs_damaged {
        mended = repair_logs_of::<F>(disk, &mended, &mut repaired)?;
    } else if mended.segments != manifest.segments {
        ManifestFile::new(disk).replace(&mended)?;
    }
    repaired.pairs_after = count::<F>(disk, &mended)?;
    // What the logs remove may have been in a part of a segment that is lost.
    let is_lost_known = repaired.lost_pairs() == 0 || !has_removals;
    let is_known = !are_logs_damaged && repaired.returned_pairs() == 0 && is_lost_known;
    repaired.pairs_before = is_known.then(|| repaired.pairs_after + repaired.lost_pairs());
    Ok(repaired)
}

/// Counts the pairs of a store that is whole.
fn count<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<u64, Error> {
    let (view, _) = load::<F>(disk, manifest, Opening::default())?;
    let stats = StoreStats::of(manifest, &view);
    let in_segments: u64 = stats.segments.iter().map(|segment| segment.pairs - segment.removed).sum();
    Ok(in_segments + stats.recent)
}

/// Writes what can be read of the logs to a new one. The manifest is replaced then.
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
