//! Reading a store that another process may be writing to.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hamdex::{Engine, VerifyOptions};

use crate::admin::stats::StoreStats;
use crate::admin::verify::{StoreVerified, verify};
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::health::Health;
use crate::lock::holder_and_status;
use crate::log::Position;
use crate::manifest::{self, Manifest};
use crate::open::{load, replay_logs};
use crate::read::snapshot::Snapshot;
use crate::segment::Opening;
use crate::shape::Shape;
use crate::state::State;

/// How often the files of a store are read again because a writer has replaced them meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A store that is open for reading only. It takes no lock and changes nothing; any number of processes may have one,
/// also while another process writes. It shows what had been acknowledged when it was opened or refreshed last.
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
pub struct StoreReader<F: Engine, D: Disk = RealDisk> {
    disk: D,
    seen: Seen<F, D>,
}

/// What was found at one time.
struct Seen<F: Engine, D: Disk> {
    manifest: Manifest,
    state: Arc<State<F, D>>,
    shape: Arc<Shape>,
    /// Where the logs ended.
    end: Position,
}

impl<F: Engine> StoreReader<F> {
    /// Opens a store for reading.
    ///
    /// # Errors
    /// When it is no store, is damaged or holds another width, or the disk refuses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path))
    }
}

impl<F: Engine, D: Disk> StoreReader<F, D> {
    /// As [`StoreReader::open`], on any disk.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    pub fn open_on(disk: D) -> Result<Self, Error> {
        let seen = steadily(&disk, |manifest| Seen::of(&disk, manifest))?;
        Ok(Self { disk, seen })
    }

    /// Looks for what has been written since. Where no file has come or gone, only the end of the log is read.
    ///
    /// # Errors
    /// As for [`StoreReader::open`]; what was seen before is still there then.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let Self { disk, seen } = self;
        let refreshed = steadily(disk, |manifest| {
            if manifest == seen.manifest { seen.with_more(disk) } else { Seen::of(disk, manifest) }
        })?;
        self.seen = refreshed;
        Ok(())
    }

    /// The set as it was last seen, for as long as it is held.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F, D> {
        Snapshot::new(Arc::clone(&self.seen.state), Arc::clone(&self.seen.shape))
    }

    /// What the store held, and what that cost: see [`Store::stats`](crate::Store::stats).
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let health = holder_and_status(&self.disk).map(|(holder, status)| Health::parse(holder, &status));
        StoreStats { health, ..StoreStats::of(&self.seen.manifest, &self.seen.state) }
    }

    /// Reads and checks all files of the store.
    ///
    /// # Errors
    /// The first damage that is found; when the disk refuses something.
    pub fn verify(&self, options: &VerifyOptions) -> Result<StoreVerified, Error> {
        steadily(&self.disk, |_| verify::<F, D>(&self.disk, options))
    }
}

impl<F: Engine, D: Disk> Seen<F, D> {
    fn of(disk: &D, manifest: Manifest) -> Result<Self, Error> {
        let (state, replayed) = load(disk, &manifest, Opening::default())?;
        let shape = Arc::new(Shape::of(&manifest));
        Ok(Self { manifest, state: Arc::new(state), shape, end: replayed.end })
    }

    /// The same, and what the logs have since.
    fn with_more(&self, disk: &D) -> Result<Self, Error> {
        let mut state = State::clone(&self.state);
        let replayed = replay_logs(disk, &self.manifest, self.end, &mut state)?;
        let (manifest, shape) = (self.manifest.clone(), Arc::clone(&self.shape));
        Ok(Self { manifest, state: Arc::new(state), shape, end: replayed.end })
    }
}

/// Reads the manifest, and what it names. If that fails and the manifest is another one by then, a writer has
/// replaced files meanwhile, and all is read again.
pub(crate) fn steadily<D: Disk, T>(
    disk: &D,
    mut read: impl FnMut(Manifest) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut attempts = 0;
    loop {
        let manifest = manifest::read(disk)?;
        match read(manifest.clone()) {
            Err(_) if attempts < MAX_ATTEMPTS && manifest::read(disk)? != manifest => attempts += 1,
            outcome => return outcome,
        }
    }
}

impl<F: Engine, D: Disk> fmt::Debug for StoreReader<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("disk", &self.disk).finish_non_exhaustive()
    }
}
