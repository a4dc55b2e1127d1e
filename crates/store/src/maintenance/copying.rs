//! Copying the files of a store.

use std::io;
use std::ops::ControlFlow;

use hamdex::{BuildError, Fingerprint, Phase, Progress, default_memory};

use crate::disk::Disk;
use crate::disk::copy::{Copied, clone_or_copy, copy};
use crate::disk::layout::{self, DELETES, LOGS, SEGMENTS};
use crate::error::Error;
use crate::log::{Sealed, replay};
use crate::manifest::current::CurrentManifest;
use crate::manifest::{Manifest, SegmentEntry};
use crate::recovery::open_segment;
use crate::segment::Opening;

/// A progress callback.
pub(super) type Report = dyn Fn(Progress) -> ControlFlow<()>;

/// How the segments of a store come into its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A backup: each is a file of its own.
    Copied,
    /// A checkpoint: each is a second name of the original file.
    Linked,
}

/// Returns the current end of the live logs.
pub(super) fn end_of_logs<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<Sealed, Error> {
    let start = manifest.logs_start();
    let end = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, _| Ok(()))?.end;
    Ok(Sealed { log: end.log, bytes: end.offset })
}

/// The progress of a copy, in bytes.
struct Copying<'r> {
    report: &'r Report,
    done: u64,
    total: u64,
    is_stopped: bool,
}

impl Copying<'_> {
    fn add(&mut self, bytes: u64) -> ControlFlow<()> {
        self.done += bytes;
        // A log that is written to may be longer by now.
        let total = self.total.max(self.done);
        let outcome = (self.report)(Progress::new(Phase::Copy, self.done, Some(total)));
        self.is_stopped |= outcome.is_break();
        outcome
    }

    /// Fails if the callback has cancelled the copy.
    fn check(&mut self) -> Result<(), Error> {
        if self.is_stopped || self.add(0).is_break() { Err(BuildError::Stopped.into()) } else { Ok(()) }
    }

    /// Turns the outcome of copying a file into an error about the target.
    fn outcome<T>(&self, outcome: io::Result<T>, target: &dyn Disk, name: &str) -> Result<T, Error> {
        match outcome {
            Err(_) if self.is_stopped => Err(BuildError::Stopped.into()),
            outcome => outcome.map_err(Error::io("copy it", target.path(name))),
        }
    }
}

/// Copies all files that a manifest names, the logs up to an end, and the manifest last. Each copy is opened, and read
/// and checked as far as it is in memory. Appends the names of the copied files, without the manifest, to `copied`.
pub(super) fn copy_all<F: Fingerprint>(
    disk: &dyn Disk,
    (mut manifest, end): (Manifest, Sealed),
    target: &dyn Disk,
    kind: Kind,
    copied: &mut Vec<String>,
    report: &Report,
) -> Result<(), Error> {
    let removals = manifest.segments.iter().filter_map(|entry| {
        let removals = entry.removals?;
        Some((layout::removals(entry.number, removals.version), u64::MAX))
    });
    let logs = (manifest.first_log..=end.log).map(|number| {
        let bytes = if number == end.log { end.bytes } else { u64::MAX };
        (layout::log(number), bytes)
    });
    let small: Vec<(String, u64)> = removals.chain(logs).collect();
    // A file without a length fails when it is copied.
    let length = |name: &str| disk.length(name).unwrap_or(0);
    let total = manifest.segments.iter().map(|entry| length(&layout::segment(entry.number))).sum::<u64>()
        + small.iter().map(|(name, at_most)| length(name).min(*at_most)).sum::<u64>();
    let mut copying = Copying { report, done: 0, total, is_stopped: false };
    copying.check()?;
    for (name, at_most) in small {
        let written = copy(disk, &name, target, &name, at_most, &mut |bytes| copying.add(bytes));
        copying.outcome(written.map(drop), target, &name)?;
        copied.push(name);
    }
    for entry in &manifest.segments {
        let name = layout::segment(entry.number);
        let before = copying.done;
        let brought = match kind {
            Kind::Copied => clone_or_copy(disk, &name, target, &name, &mut |bytes| copying.add(bytes)),
            Kind::Linked => disk.link(&name, target, &name).map(|()| Copied::Cloned),
        };
        let brought = match (kind, copying.outcome(brought, target, &name)) {
            (Kind::Linked, Err(Error::Io { path, source, .. }))
                if source.kind() != io::ErrorKind::NotFound =>
            {
                Err(Error::CannotLink { path, source })
            }
            (_, outcome) => outcome,
        }?;
        copied.push(name);
        check::<F>(disk, target, &manifest, entry, brought)?;
        if copying.done == before {
            let _ = copying.add(entry.bytes);
        }
        copying.check()?;
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.sync_directory(directory).map_err(Error::io("sync it", target.path(directory)))?;
    }
    // All of it is durable: damage to the end of its last log is noticed.
    manifest.sealed = Some(end);
    replay::<F>(target, &manifest.identity, manifest.logs_start(), manifest.sealed, |_, _| Ok(()))?;
    CurrentManifest::new(target, manifest.clone()).replace(manifest)
}

/// Opens a copied segment and its removals. What was written just now, and is in memory still, is read as a whole.
fn check<F: Fingerprint>(
    disk: &dyn Disk,
    target: &dyn Disk,
    manifest: &Manifest,
    entry: &SegmentEntry,
    copied: Copied,
) -> Result<(), Error> {
    let is_checked = copied == Copied::Written && entry.bytes <= default_memory();
    let opening = Opening { in_memory: false, is_checked };
    let Err(error) = open_segment::<F>(target, manifest, entry, opening) else { return Ok(()) };
    if error.is_damage() {
        // It is the damage of the original, unless that can be read.
        open_segment::<F>(disk, manifest, entry, opening)?;
    }
    Err(error)
}
