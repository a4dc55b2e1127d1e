//! Reading a store that another process may write to: its view, and the refresh of that after later writes.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use hamdex::{Fingerprint, Verified, VerifyOptions};

use crate::disk::lock::holder_and_status;
use crate::disk::{Disk, RealDisk, layout};
use crate::error::Error;
use crate::health::Health;
use crate::log::{HEADER_BYTES, Position, replay_by_log};
use crate::maintenance::inspect::StoreStats;
use crate::maintenance::verify;
use crate::manifest::Schema;
use crate::manifest::{self, Manifest, SegmentEntry};
use crate::memtable::Memtable;
use crate::read::Snapshot;
use crate::recovery::{Applier, load_segments, open_segment};
use crate::segment::removed_places::RemovedPlaces;
use crate::segment::{LiveSegment, Opening, removals_file};
use crate::view::{FrozenMemtable, View};
use crate::write::Pair;

/// Maximum number of retries after a writer has replaced files meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A store that is open for reading only. It takes no lock and changes nothing. Any number of processes may have one,
/// also while another process writes. It has every write that was acknowledged before it was opened or last refreshed.
///
/// ```
/// use hamdex_store::{CreateOptions, Store, StoreOptions, StoreReader};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.store");
/// let store = Store::<u64>::create(&path, &CreateOptions::new(), StoreOptions::new())?;
/// store.insert(0x00ff, 1)?;
///
/// let mut reader = StoreReader::<u64>::open(&path)?;
/// assert!(reader.snapshot().contains(0x00ff)?);
/// store.insert(0xff00, 2)?;
/// assert!(!reader.snapshot().contains(0xff00)?);
/// reader.refresh()?;
/// assert_eq!(reader.snapshot().ids(0xff00)?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoreReader<F: Fingerprint> {
    disk: Box<dyn Disk>,
    options: ReadOptions,
    seen: Seen<F>,
    /// The removals in the live logs; `None` after a failure, so that everything is read again.
    removed: Option<LoggedRemovals<F>>,
}

/// Options for opening a store for reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    in_memory: bool,
}

impl ReadOptions {
    /// Returns the defaults: files are mapped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether segments are read into process memory, in huge pages if the system has them, instead of mapped.
    /// Queries never wait for storage then, and later damage to the files does no harm.
    #[must_use]
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    fn opening(self) -> Opening {
        Opening { in_memory: self.in_memory, is_checked: false }
    }
}

impl<F: Fingerprint> StoreReader<F> {
    /// Opens a store for reading.
    ///
    /// # Errors
    /// When the directory is not a store, is damaged or has another width, or the disk refuses an operation.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, ReadOptions::new())
    }

    /// Opens a store for reading with options.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }

    /// Opens a store for reading on any disk.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    #[doc(hidden)]
    pub fn open_on(disk: impl Disk, options: ReadOptions) -> Result<Self, Error> {
        let mut removed = Vec::new();
        let opening = options.opening();
        let seen =
            retry_if_manifest_changed(&disk, |manifest| Seen::of(&disk, manifest, opening, &mut removed))?;
        Ok(Self { disk: Box::new(disk), options, seen, removed: Some(removed) })
    }

    /// Reads later writes: the end of the log, and new segments. It reads no pair again that was flushed or merged. If
    /// the path leads to another store by now, it opens that.
    ///
    /// # Errors
    /// As for [`StoreReader::open`]. The previous view stays in use then.
    pub fn refresh(&mut self) -> Result<(), Error> {
        if check_held(&*self.disk).is_err() {
            return self.follow();
        }
        let (disk, opening) = (&*self.disk, self.options.opening());
        let manifest = manifest::read(disk)?;
        if let Some(mut removed) = self.removed.take()
            && let Ok(refreshed) = self.seen.refreshed(disk, manifest, opening, &mut removed)
        {
            (self.seen, self.removed) = (refreshed, Some(removed));
            return Ok(());
        }
        // Files of the previous view may have been removed meanwhile.
        let mut removed = Vec::new();
        self.seen =
            retry_if_manifest_changed(disk, |manifest| Seen::of(disk, manifest, opening, &mut removed))?;
        self.removed = Some(removed);
        Ok(())
    }

    /// Opens the store to which the path leads now.
    fn follow(&mut self) -> Result<(), Error> {
        let (disk, opening) = (self.disk.opened_anew(), self.options.opening());
        let mut removed = Vec::new();
        self.seen =
            retry_if_manifest_changed(&*disk, |manifest| Seen::of(&*disk, manifest, opening, &mut removed))?;
        (self.disk, self.removed) = (disk, Some(removed));
        Ok(())
    }

    /// Whether [`StoreReader::refresh`] may find later writes, by the manifest and the length of the log. It may return
    /// true for a batch that is only partly written.
    ///
    /// # Errors
    /// When the manifest cannot be read, or the disk refuses an operation.
    pub fn has_changed(&self) -> Result<bool, Error> {
        if check_held(&*self.disk).is_err() {
            // Another store is there, if there is one.
            return manifest::read(&*self.disk.opened_anew()).map(|_| true);
        }
        self.seen.has_changed(&*self.disk, &manifest::read(&*self.disk)?)
    }

    /// Returns a snapshot of the current view.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(Arc::clone(&self.seen.view), Arc::clone(&self.seen.schema))
    }

    /// Returns a snapshot of the current view as a set of its own: [`FingerprintSet::verify_all`] of it checks all files
    /// of the store, as [`StoreReader::verify`] does.
    ///
    /// [`FingerprintSet::verify_all`]: hamdex::FingerprintSet::verify_all
    #[must_use]
    pub fn into_snapshot(self) -> Snapshot<F> {
        let mut snapshot = self.snapshot();
        snapshot.files = Some(self.disk);
        snapshot
    }

    /// Returns counts and costs of the store: see [`Store::stats`](crate::Store::stats).
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let health = holder_and_status(&*self.disk).map(|(holder, status)| Health::parse(holder, &status));
        StoreStats { health, ..StoreStats::of(&self.seen.manifest, &self.seen.view) }
    }

    /// Reads and checks all files of the store.
    ///
    /// # Errors
    /// The first damage that is found; when the disk refuses an operation.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, Error> {
        verify_files::<F>(&*self.disk, options)
    }
}

/// Reads and checks all files of a store that another process may write to.
pub(super) fn verify_files<F: Fingerprint>(
    disk: &dyn Disk,
    options: &VerifyOptions,
) -> Result<Verified, Error> {
    retry_if_manifest_changed(disk, |_| verify::<F>(disk, options))
}

/// Reads the manifest and calls `read` with it. Retries if that fails and a writer has replaced the manifest meanwhile.
pub(crate) fn retry_if_manifest_changed<T>(
    disk: &dyn Disk,
    mut read: impl FnMut(Manifest) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut attempts = 0;
    let mut attempt = || loop {
        let manifest = manifest::read(disk)?;
        match read(manifest.clone()) {
            Err(_) if attempts < MAX_ATTEMPTS && manifest::read(disk)? != manifest => attempts += 1,
            outcome => return outcome,
        }
    };
    // Files of a directory that was removed are not damaged.
    attempt().or_else(|error| check_held(disk).and(Err(error)))
}

/// Checks that the path of a store still leads to the directory that was opened.
fn check_held(disk: &dyn Disk) -> Result<(), Error> {
    disk.check_held().map_err(Error::io("look for it", disk.path("")))
}

impl<F: Fingerprint> fmt::Debug for StoreReader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("disk", &*self.disk).finish_non_exhaustive()
    }
}

/// The view of a reader.
///
/// The pairs of each log are a memtable of their own, as in the writing process: after a flush, the logs and their
/// memtables are dropped together.
struct Seen<F: Fingerprint> {
    manifest: Manifest,
    view: Arc<View<F>>,
    schema: Arc<Schema>,
    /// The end of the logs.
    end: Position,
    /// The length of the last log, including bytes that are not a record.
    length: u64,
}

/// The removals in the live logs, which new segments may not reflect.
type LoggedRemovals<F> = Vec<LoggedRemoval<F>>;

/// A removal in a log.
struct LoggedRemoval<F> {
    log: u64,
    sequence: u64,
    pair: Pair<F>,
}

impl<F: Fingerprint> Seen<F> {
    /// Reads all files that a manifest names.
    fn of(
        disk: &dyn Disk,
        manifest: Manifest,
        opening: Opening,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        removed.clear();
        let view = load_segments(disk, &manifest, opening)?;
        let from = manifest.logs_start();
        Self::with_logs(disk, manifest, view, from, removed)
    }

    /// Reads later writes: the end of the logs, and the new files of a new manifest.
    fn refreshed(
        &self,
        disk: &dyn Disk,
        manifest: Manifest,
        opening: Opening,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        let mut view = View::clone(&self.view);
        let mut from = self.end;
        if manifest != self.manifest {
            if manifest.identity != self.manifest.identity {
                return Self::of(disk, manifest, opening, removed);
            }
            removed.retain(|removed| removed.log >= manifest.first_log);
            view.frozen.retain(|frozen| frozen.next_log > manifest.first_log);
            if from.log < manifest.first_log {
                view.memtable = Memtable::new(manifest.distance);
                from = manifest.logs_start();
            }
            if from == self.end && length_of(disk, from.log)? < from.offset {
                // The directory has been replaced by a backup of the same store.
                return Self::of(disk, manifest, opening, removed);
            }
            view.sequence = view.sequence.max(manifest.sequence);
            view.next_id = view.next_id.max(manifest.next_id);
            let segments =
                manifest.segments.iter().map(|entry| self.segment(disk, &manifest, entry, opening, removed));
            view.segments = segments.collect::<Result<Vec<_>, _>>()?.into();
        }
        Self::with_logs(disk, manifest, view, from, removed)
    }

    /// Returns a segment of a new manifest, without opening it again if it has not changed.
    fn segment(
        &self,
        disk: &dyn Disk,
        manifest: &Manifest,
        entry: &SegmentEntry,
        opening: Opening,
        removed: &LoggedRemovals<F>,
    ) -> Result<LiveSegment<F>, Error> {
        let before = self.manifest.entry(entry.number);
        let live = self.view.segments.iter().find(|live| live.segment.number == entry.number);
        let mut live = match (before, live) {
            (Some(before), Some(live)) if before.file_id == entry.file_id => {
                if before.removals == entry.removals {
                    return Ok(live.clone());
                }
                let removed = RemovedPlaces::of(removals_file::read(disk, manifest.identity.store, entry)?);
                LiveSegment { segment: Arc::clone(&live.segment), removed }
            }
            _ => open_segment(disk, manifest, entry, opening)?,
        };
        for &LoggedRemoval { sequence, pair, .. } in removed {
            if sequence > entry.applied
                && let Some(place) = live.find(pair)?
            {
                live.removed.insert(place);
            }
        }
        Ok(live)
    }

    /// Applies the logs from a position on.
    fn with_logs(
        disk: &dyn Disk,
        manifest: Manifest,
        mut view: View<F>,
        from: Position,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        let mut current = from.log;
        let last_id = view.memtables().find_map(|memtable| memtable.documents.last_id());
        let mut applier = Applier::new(&manifest, &mut view);
        let apply = |log, sequence, batch: &_| {
            if log > current {
                begin_memtable(applier.view(), log, manifest.distance);
                current = log;
            }
            applier.apply(sequence, batch, |pair| removed.push(LoggedRemoval { log, sequence, pair }))
        };
        let replayed = replay_by_log(disk, &manifest.identity, from, last_id, manifest.sealed, apply)?;
        applier.finish(&replayed);
        if replayed.end.log > current {
            begin_memtable(&mut view, replayed.end.log, manifest.distance);
        }
        let length = replayed.end.offset + replayed.torn.map_or(0, |torn| torn.bytes);
        let schema = Arc::new(Schema::of(&manifest));
        Ok(Self { manifest, view: Arc::new(view), schema, end: replayed.end, length })
    }

    /// Whether the manifest has changed, or the logs have grown.
    fn has_changed(&self, disk: &dyn Disk, manifest: &Manifest) -> Result<bool, Error> {
        if *manifest != self.manifest {
            return Ok(true);
        }
        let is_longer = length_of(disk, self.end.log + 1)? > HEADER_BYTES as u64;
        Ok(is_longer || length_of(disk, self.end.log)? != self.length)
    }
}

/// Returns the length of a log; 0 if it does not exist.
fn length_of(disk: &dyn Disk, log: u64) -> Result<u64, Error> {
    let name = layout::log(log);
    match disk.length(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        length => length.map_err(Error::io("read it", disk.path(&name))),
    }
}

/// Freezes the memtable of a log, and begins the one of a later log.
fn begin_memtable<F: Fingerprint>(view: &mut View<F>, log: u64, distance: u32) {
    let memtable = std::mem::replace(&mut view.memtable, Memtable::new(distance));
    let sequence = view.sequence;
    view.frozen.push(FrozenMemtable { memtable, next_log: log, sequence, log_bytes: 0 });
    view.generation += 1;
}
