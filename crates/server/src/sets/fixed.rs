//! Index files and sets of shards. They never change, but others may replace them by a rename.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use hamdex::set::Description;
use hamdex::{Fingerprint, OpenOptions, SetError};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_shards::Shards;

use crate::problem::Problem;

/// The set that a path named last.
pub(super) struct Fixed {
    path: PathBuf,
    current: ArcSwap<Opened>,
    /// Held while the path is opened anew; the file that could not be opened.
    opening: Mutex<Option<Stamp>>,
}

struct Opened {
    /// The set, or the reason why it cannot be opened.
    set: Result<AnySet, Problem>,
    kind: Kind,
    stamp: Option<Stamp>,
}

/// The properties that tell one file from another of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    file: (u64, u64),
}

impl Stamp {
    /// Returns the stamp of what a path names now; `None` if it names nothing that can be looked at.
    fn of(path: &Path, kind: Kind) -> Option<Self> {
        let metadata = match kind {
            Kind::Shards => fs::metadata(path.join(hamdex_shards::MANIFEST)),
            _ => fs::metadata(path),
        };
        let metadata = metadata.ok()?;
        Some(Self { length: metadata.len(), modified: metadata.modified().ok(), file: number(&metadata) })
    }
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

impl Fixed {
    pub(super) fn open(path: &Path) -> Result<Self, SetError> {
        let opened = Opened::open(path)?;
        Ok(Self { path: path.to_owned(), current: ArcSwap::from_pointee(opened), opening: Mutex::default() })
    }

    /// Returns one that cannot be opened before it is replaced.
    pub(super) fn broken(path: &Path, problem: Problem) -> Self {
        let kind = Kind::of(path).unwrap_or(Kind::File);
        let opened = Opened { set: Err(problem), kind, stamp: Stamp::of(path, kind) };
        Self { path: path.to_owned(), current: ArcSwap::from_pointee(opened), opening: Mutex::default() }
    }

    pub(super) fn kind(&self) -> Kind {
        self.current.load().kind
    }

    /// Returns the description of the set that was opened last, without a look at the disk.
    ///
    /// # Errors
    /// When it could not be opened.
    pub(super) fn description(&self) -> Result<Description, Problem> {
        self.current.load().set.as_ref().map(|set| set.description().clone()).map_err(Problem::clone)
    }

    /// Returns the set that the path names now. If it was replaced by one that cannot be opened, or removed, the set
    /// that was there before is returned.
    ///
    /// # Errors
    /// When none could be opened.
    pub(super) fn current(&self) -> Result<AnySet, Problem> {
        let current = self.current.load();
        let stamp = Stamp::of(&self.path, current.kind);
        if stamp.is_none() || stamp == current.stamp {
            return current.set.clone();
        }
        // Another request that finds it replaced meanwhile is answered from the set that was there before.
        let Ok(mut refused) = self.opening.try_lock() else { return current.set.clone() };
        if *refused == stamp {
            return current.set.clone();
        }
        match Opened::open(&self.path) {
            Ok(opened) => {
                tracing::info!(path = %self.path.display(), "opened anew, since it was replaced");
                self.current.store(Arc::new(opened));
                *refused = None;
            }
            Err(error) => {
                tracing::error!(path = %self.path.display(), %error, "was replaced by what cannot be opened; the one before is served");
                *refused = stamp;
            }
        }
        self.current.load().set.clone()
    }
}

impl Opened {
    fn open(path: &Path) -> Result<Self, SetError> {
        // Taken before: what is replaced meanwhile is opened once more.
        let kind = Kind::of(path)?;
        let stamp = Stamp::of(path, kind);
        let set = match kind {
            Kind::Shards => for_width!(hamdex_any::width(path)?, F => open_shards::<F>(path)?),
            _ => hamdex_any::open(path)?,
        };
        Ok(Self { set: Ok(set), kind, stamp })
    }
}

/// Opens a set of shards with all its files, which stay open when the directory is replaced.
fn open_shards<F: Fingerprint>(path: &Path) -> Result<AnySet, SetError> {
    let shards = Shards::<F>::open(path, &OpenOptions::new())?;
    for number in 0..shards.manifest().shards.len() {
        shards.shard(number)?;
    }
    Ok(AnySet::new::<F>(Kind::Shards, Arc::new(shards)))
}
