//! Saving what can be had of a damaged store.

use std::path::{Path, PathBuf};

use hamdex::{Engine, VerifyOptions};
use hamdex_atomic_file::Pieces;

use crate::admin::readable::{readable_names, readable_pairs};
use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::Error;
use crate::layout;
use crate::lock::StoreLock;
use crate::log::Lost;
use crate::manifest::{self, Manifest, ManifestFile, SegmentEntry};
use crate::pair::Pair;
use crate::removals;
use crate::repair::{keep_aside, repair_logs};
use crate::segment::Segment;
use crate::shape::Shape;

/// What a repair has found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// What was damaged, and what has become of it; a sentence each. Empty for a store that is whole.
    pub found: Vec<String>,
    /// Pairs that were read from damaged segments.
    pub saved_pairs: u64,
    /// Pairs of damaged segments that could not be read.
    pub lost_pairs: u64,
    /// Ids of saved pairs whose names could not be read: they have the empty name now.
    pub lost_names: u64,
    /// Batches that were read from damaged logs.
    pub saved_batches: u64,
    /// Copies of all that was damaged, as it was.
    pub kept: Vec<PathBuf>,
}

/// Makes a damaged store one that opens, with all that can still be read: every whole batch of its logs, every whole
/// block of its segments. What was damaged is kept aside in the directory `damaged` of the store. A store that is
/// whole stays as it is.
///
/// If it is interrupted, the store is as damaged as before, and can be repaired again. Removals that cannot be read
/// are forgotten: their pairs are back.
///
/// # Errors
/// When it is no store, is in use, or its manifest says too little to go on; when the operating system refuses
/// something, other than to read bytes that the disk has lost.
pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, Error> {
    repair_on(&RealDisk::new(path))
}

/// As [`repair`], on any disk.
///
/// # Errors
/// As for [`repair`].
pub fn repair_on<D: Disk>(disk: &D) -> Result<Repaired, Error> {
    let (is_damaged, width) = match manifest::read(disk) {
        Ok(manifest) => (false, manifest.identity.width),
        Err(error @ Error::Damaged { .. }) => (true, salvage_manifest(disk, error)?.0.identity.width),
        Err(error) => return Err(error),
    };
    let lock = StoreLock::take(disk)?;
    let repaired = if width == 128 {
        Repair::<u128, _>::new(disk).run(is_damaged)
    } else {
        Repair::<u64, _>::new(disk).run(is_damaged)
    };
    drop(lock);
    repaired
}

/// What a damaged manifest still says, and what not; the damage itself, if that is too little.
fn salvage_manifest<D: Disk>(disk: &D, damage: Error) -> Result<(Manifest, Vec<String>), Error> {
    let path = disk.path(layout::MANIFEST);
    let text = disk.read(layout::MANIFEST).map_err(Error::io("read it", &path))?;
    let salvaged = manifest::salvage(&text).ok_or(damage)?;
    let mut found = vec![format!("{}: damaged; its lines that can be read count", path.display())];
    found.extend(salvaged.problems.into_iter().map(|problem| format!("{}: {problem}", path.display())));
    Ok((salvaged.manifest, found))
}

/// What was read, or the damage for which it cannot be. Any other error ends a repair: too many open files, say, mean
/// nothing for the bytes.
fn tried<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error) if !error.is_damage() => Err(error),
        outcome => Ok(outcome),
    }
}

/// A repair on its way.
struct Repair<'d, F, D> {
    disk: &'d D,
    repaired: Repaired,
    width: std::marker::PhantomData<F>,
}

impl<'d, F: Engine, D: Disk> Repair<'d, F, D> {
    fn new(disk: &'d D) -> Self {
        Self { disk, repaired: Repaired::default(), width: std::marker::PhantomData }
    }

    fn run(mut self, is_manifest_damaged: bool) -> Result<Repaired, Error> {
        let manifest = match tried(manifest::read(self.disk))? {
            Ok(manifest) => manifest,
            Err(damage) => {
                let (manifest, found) = salvage_manifest(self.disk, damage)?;
                self.repaired.found.extend(found);
                manifest
            }
        };
        let mut mended = manifest.clone();
        let mut damaged_files = Vec::new();
        mended.segments.clear();
        for entry in &manifest.segments {
            self.segment(&manifest, entry, &mut mended, &mut damaged_files)?;
        }
        mended.segments.sort_unstable_by_key(|entry| entry.number);
        if is_manifest_damaged {
            // What it named and names no more looks like a leftover.
            damaged_files.extend(manifest::leftovers(self.disk, &mended)?.own);
            damaged_files.push(layout::MANIFEST.to_owned());
        }
        let are_logs_damaged = self.are_logs_damaged(&mended)?;
        let is_whole = self.repaired.found.is_empty() && !are_logs_damaged;
        if is_whole {
            return Ok(self.repaired);
        }
        damaged_files.retain(|name| self.disk.exists(name).unwrap_or(true));
        damaged_files.dedup();
        self.keep(damaged_files)?;
        if are_logs_damaged {
            self.logs(&mended)?;
        } else {
            ManifestFile::new(self.disk.clone()).replace(&mended)?;
        }
        Ok(self.repaired)
    }

    /// Takes over a segment that is whole, or what can be read of one that is not.
    fn segment(
        &mut self,
        manifest: &Manifest,
        entry: &SegmentEntry,
        mended: &mut Manifest,
        damaged_files: &mut Vec<String>,
    ) -> Result<(), Error> {
        let removed = tried(removals::read(self.disk, manifest.identity.store, entry))?;
        let is_segment_whole = tried(self.check_segment(entry))?;
        let (damage, removed) = match (is_segment_whole, removed) {
            (Ok(()), Ok(_)) => {
                mended.segments.push(entry.clone());
                return Ok(());
            }
            (Err(damage), removed) => (damage, removed.ok()),
            (Ok(()), Err(damage)) => (damage, None),
        };
        self.repaired.found.push(damage.chain());
        damaged_files.push(layout::segment(entry.number));
        damaged_files.extend(entry.removals.map(|r| layout::removals(entry.number, r.version)));
        let damaged = self.open_damaged(entry)?;
        let pairs =
            damaged.as_ref().map_or_else(Vec::new, |damaged| readable_pairs(damaged, removed.as_ref()));
        let gone = removed.map_or(0, |removed| removed.len());
        let saved = pairs.len() as u64;
        self.repaired.saved_pairs += saved;
        self.repaired.lost_pairs += entry.pairs.saturating_sub(gone).saturating_sub(saved);
        if let Some(damaged) = damaged.filter(|_| !pairs.is_empty()) {
            let number = self.free_number()?.max(mended.next_segment);
            mended.next_segment = number + 1;
            let names =
                if manifest.identity.has_names { readable_names(&damaged, &pairs) } else { Vec::new() };
            self.count_lost_names(entry, &names);
            mended.segments.push(self.write(manifest, entry, number, &pairs, &names)?);
        }
        Ok(())
    }

    /// Whether a segment is the one that the manifest names, and whole.
    fn check_segment(&self, entry: &SegmentEntry) -> Result<(), Error> {
        let name = layout::segment(entry.number);
        let path = self.disk.path(&name);
        if !self.disk.exists(&name).map_err(Error::io("read it", &path))? {
            return Err(Error::Missing { path });
        }
        let segment = Segment::<F, D>::open(self.disk, entry.number)?;
        if segment.index.file_id().to_bytes() != entry.file_id {
            return Err(Error::damaged(path, None, "it is another file than the manifest names"));
        }
        F::verify(&segment.index, &VerifyOptions::new())?;
        Ok(())
    }

    /// A damaged segment, if it can be opened at all.
    fn open_damaged(&self, entry: &SegmentEntry) -> Result<Option<Segment<F, D>>, Error> {
        let name = layout::segment(entry.number);
        if !self.disk.exists(&name).map_err(Error::io("read it", self.disk.path(&name)))? {
            return Ok(None);
        }
        let segment = tried(Segment::<F, D>::open(self.disk, entry.number))?.ok();
        Ok(segment.filter(|segment| segment.index.file_id().to_bytes() == entry.file_id))
    }

    /// Says of how many ids the names are lost.
    fn count_lost_names(&mut self, entry: &SegmentEntry, names: &[(u64, Option<&[u8]>)]) {
        let lost = names.iter().filter(|(_, name)| name.is_none()).count() as u64;
        if lost > 0 {
            self.repaired.lost_names += lost;
            let path = self.disk.path(&layout::segment(entry.number));
            self.repaired.found.push(format!(
                "{}: the names of {lost} ids cannot be read; what has these ids is saved, with the empty name",
                path.display()
            ));
        }
    }

    /// A number above those of all segments that are there, whether or not they count.
    fn free_number(&self) -> Result<u64, Error> {
        let names = self.disk.list(layout::SEGMENTS);
        let names = names.map_err(Error::io("list it", self.disk.path(layout::SEGMENTS)))?;
        let last = names.iter().filter_map(|name| layout::parse_segment(name)).max();
        Ok(last.unwrap_or(0) + 1)
    }

    /// Writes a segment of these pairs in place of another.
    fn write(
        &self,
        manifest: &Manifest,
        old: &SegmentEntry,
        number: u64,
        pairs: &[Pair<F>],
        names: &[(u64, Option<&[u8]>)],
    ) -> Result<SegmentEntry, Error> {
        let name = layout::segment(number);
        let path = self.disk.path(&name);
        let file = self.disk.create_new(&name).map_err(Error::io("create it", &path))?;
        let mut file = Pieces::new(file);
        let mut names = names.iter().map(|&(id, name)| Ok((id, name.unwrap_or_default())));
        let options = Shape::of(manifest).build_options()?;
        F::write_sorted(options, &mut pairs.iter().copied(), &mut names, &mut file)?;
        let mut file = file.into_inner().map_err(Error::io("write it", &path))?;
        file.sync().map_err(Error::io("sync it", &path))?;
        self.disk.sync_directory(layout::SEGMENTS).map_err(Error::io("sync its directory", &path))?;
        let segment = Segment::<F, D>::open(self.disk, number)?;
        Ok(SegmentEntry {
            number,
            file_id: segment.index.file_id().to_bytes(),
            bytes: self.disk.length(&name).map_err(Error::io("read it", &path))?,
            fingerprints: segment.index.len(),
            pairs: segment.pairs(),
            removals: None,
            ..old.clone()
        })
    }

    /// Whether something of the logs cannot be read.
    fn are_logs_damaged(&self, manifest: &Manifest) -> Result<bool, Error> {
        let (identity, start) = (&manifest.identity, manifest.logs_start());
        let read = crate::log::replay::<F, D>(self.disk, identity, start, manifest.sealed, |_, _| Ok(()));
        Ok(tried(read)?.is_err())
    }

    /// Writes what can be read of the logs to a new one. The manifest is replaced then.
    fn logs(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let repaired = repair_logs::<F, D>(self.disk, manifest)?;
        self.repaired.saved_batches += repaired.batches;
        for Lost { log, offset, bytes, what } in repaired.lost {
            let path = self.disk.path(&layout::log(log));
            self.repaired
                .found
                .push(format!("{}: at byte {offset}: {what}; {bytes} bytes are lost", path.display()));
        }
        self.repaired.kept.extend(repaired.kept.iter().map(|name| self.disk.path(name)));
        Ok(())
    }

    /// Keeps damaged files aside.
    fn keep(&mut self, names: Vec<String>) -> Result<(), Error> {
        let kept = keep_aside(self.disk, names.into_iter())?;
        self.repaired.kept.extend(kept.iter().map(|name| self.disk.path(name)));
        Ok(())
    }
}
