//! Carries out what a repair has decided. Until the manifest is replaced, once, at the end, the store is as it was.

use std::path::PathBuf;

use hamdex::{Fingerprint, ProgressCallback};

use crate::disk::Disk;
use crate::disk::keep_aside::keep_aside;
use crate::error::Error;
use crate::maintenance::repair::changes::Changes;
use crate::maintenance::repair::evidence::Evidence;
use crate::maintenance::repair::logs;
use crate::maintenance::repair::plan::Plan;
use crate::maintenance::repair::report::Repaired;
use crate::maintenance::repair::segments::repair_segment;
use crate::maintenance::stats::StoreStats;
use crate::manifest::{self, Manifest, ManifestFile};
use crate::recovery::load;
use crate::segment::Opening;

/// Applies a plan. Names in the report are relative to the directory of the store.
pub(super) fn apply<F: Fingerprint>(
    disk: &dyn Disk,
    evidence: &Evidence,
    plan: Plan,
    report: &ProgressCallback,
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
    let (log_damage, has_removals) = logs::check::<F>(disk, &mended)?;
    let are_logs_damaged = log_damage.is_some();
    if let Some(damage) = log_damage {
        changes.begin()?;
        damaged.extend(logs::copy_intact::<F>(disk, &mut mended, new_log, &damage, &mut repaired)?);
    }
    // Pairs that the logs remove may have been in a lost part of a segment.
    let is_lost_known = repaired.lost_pairs() == 0 || !has_removals;
    let is_known =
        !are_logs_damaged && repaired.returned_pairs() == 0 && repaired.unknown_parts() == 0 && is_lost_known;
    let is_changed = !repaired.was_whole();
    if is_changed {
        if is_doubtful {
            // Files that only a lost line named look like leftovers.
            let unnamed = manifest::leftovers(disk, &as_found)?.own.into_iter();
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
