//! Index files and sets of shards. They never change, but others may replace them by a rename, or overwrite them in
//! place, while they are served.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use hamdex::{Fingerprint, OpenOptions, SetError};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_shards::Shards;

use crate::problem::Problem;
use crate::sets::Extent;
use crate::sets::source::{Part, Source};
use crate::sets::watch::{Stamp, Watch};

/// The set that a path named last.
pub(super) struct Fixed {
    path: PathBuf,
    in_memory: bool,
    current: ArcSwap<Opened>,
    /// Held while the path is opened anew.
    opening: Mutex<Option<Refused>>,
}

/// A file that has taken the place of the set, and could not be opened.
struct Refused {
    stamp: Option<Stamp>,
    may_open_later: bool,
    is_due: bool,
}

struct Opened {
    /// The set, or the reason why it cannot be opened.
    set: Result<AnySet, Problem>,
    kind: Kind,
    stamp: Option<Stamp>,
    /// The files that are mapped.
    files: Vec<PathBuf>,
    watch: Watch,
}

/// Returns the stamp that shows whether a set was replaced.
fn stamp_of(path: &Path, kind: Kind) -> Option<Stamp> {
    if kind == Kind::Shards { Stamp::of(&path.join(hamdex_shards::MANIFEST)) } else { Stamp::of(path) }
}

/// Whether a path leads to a store, which is opened with its lock.
fn is_store(path: &Path) -> bool {
    path.is_dir() && matches!(Kind::recognise(path), Ok(Some(Kind::Store)))
}

impl Fixed {
    pub(super) fn open(path: &Path, in_memory: bool) -> Result<Self, SetError> {
        Ok(Self::of(path, in_memory, Opened::open(path, in_memory)?))
    }

    /// Returns one that cannot be opened before it is replaced.
    pub(super) fn broken(path: &Path, in_memory: bool, problem: Problem) -> Self {
        let kind = Kind::of(path).unwrap_or(Kind::File);
        let stamp = stamp_of(path, kind);
        let opened = Opened { set: Err(problem), kind, stamp, files: Vec::new(), watch: Watch::default() };
        Self::of(path, in_memory, opened)
    }

    fn of(path: &Path, in_memory: bool, opened: Opened) -> Self {
        let current = ArcSwap::from_pointee(opened);
        Self { path: path.to_owned(), in_memory, current, opening: Mutex::default() }
    }

    /// A damaged file stays damaged; one of several may be put back.
    fn may_open_later(&self, problem: &Problem) -> bool {
        !problem.is_damage() || self.path.is_dir()
    }

    /// Whether the file that is mapped was written to. In memory, that does not matter; one that cannot be opened may be
    /// mended in place.
    fn is_overwritten(&self, current: &Opened, stamp: Option<&Stamp>) -> bool {
        let (Some(before), Some(now)) = (&current.stamp, stamp) else { return false };
        current.set.is_ok() && !self.in_memory && before != now && before.is_of_same_file(now)
    }
}

impl Source for Fixed {
    fn extent(&self) -> Result<Extent, Problem> {
        self.current.load().set.as_ref().map(|set| Extent::of(set.description())).map_err(Problem::clone)
    }

    // If it was replaced by one that cannot be opened, or removed, the set that was there before is returned.
    fn current(&self) -> Result<AnySet, Problem> {
        let current = self.current.load();
        let stamp = stamp_of(&self.path, current.kind);
        if stamp.is_none() || stamp == current.stamp {
            return current.usable();
        }
        if self.is_overwritten(&current, stamp.as_ref()) {
            return Err(current.watch.spoil(&self.path));
        }
        // Another request that finds it replaced meanwhile is answered from the set that was there before.
        let Ok(mut refused) = self.opening.try_lock() else { return current.usable() };
        let before = refused.as_ref().filter(|refused| refused.stamp == stamp);
        if before.is_some_and(|before| !before.is_due) {
            return current.usable();
        }
        // The next look opens it with its lock.
        if is_store(&self.path) {
            return current.usable();
        }
        match Opened::open(&self.path, self.in_memory) {
            Ok(opened) => {
                tracing::info!(path = %self.path.display(), "opened anew, since it was replaced");
                self.current.store(Arc::new(opened));
                *refused = None;
            }
            Err(error) => {
                if before.is_none() {
                    tracing::error!(path = %self.path.display(), %error, "was replaced by what cannot be opened; the one before is served");
                }
                let may_open_later = self.may_open_later(&error.into());
                *refused = Some(Refused { stamp, may_open_later, is_due: false });
            }
        }
        self.current.load().usable()
    }

    fn check(&self) -> Result<(), Problem> {
        let current = self.current.load();
        if self.is_overwritten(&current, stamp_of(&self.path, current.kind).as_ref()) {
            return Err(current.watch.spoil(&self.path));
        }
        current.watch.check()
    }

    fn look(&self, is_due: bool) {
        if is_due
            && let Ok(mut refused) = self.opening.try_lock()
            && let Some(refused) = refused.as_mut()
        {
            refused.is_due = refused.may_open_later;
        }
        let current = self.current.load();
        current.watch.look(current.files.iter().cloned());
    }

    fn has_other_file(&self) -> bool {
        self.current.load().watch.has_other_file()
    }

    /// A store is opened with its lock.
    fn is_replaced(&self) -> bool {
        is_store(&self.path)
    }

    fn may_open_now(&self, is_due: bool) -> bool {
        is_due && self.current.load().set.as_ref().is_err_and(|problem| self.may_open_later(problem))
    }

    fn parts(&self) -> Result<Vec<Part>, Problem> {
        if self.current.load().kind != Kind::Shards {
            self.current()?;
            return Ok(vec![Part::of(self.path.clone())]);
        }
        let manifest = hamdex_shards::inspect::read_manifest(&self.path).map_err(SetError::from)?;
        let shards = manifest.shards.into_iter();
        Ok(shards.map(|shard| Part { path: self.path.join(&shard.file), name: shard.file }).collect())
    }
}

impl Opened {
    fn open(path: &Path, in_memory: bool) -> Result<Self, SetError> {
        // Stamps are taken before: what is replaced meanwhile is opened once more.
        let kind = Kind::of(path)?;
        let stamp = stamp_of(path, kind);
        let watch = Watch::default();
        let is_shards = kind == Kind::Shards;
        let files = if in_memory {
            Vec::new()
        } else if is_shards {
            files_of_shards(path)?
        } else {
            vec![path.to_owned()]
        };
        watch.look(files.iter().cloned());
        let options = OpenOptions::new().in_memory(in_memory);
        let set = if is_shards {
            for_width!(hamdex_any::width(path)?, F => open_shards::<F>(path, &options)?)
        } else {
            hamdex_any::open_with(path, &options)?
        };
        Ok(Self { set: Ok(set), kind, stamp, files, watch })
    }

    /// Returns the set, if answers from it are right.
    fn usable(&self) -> Result<AnySet, Problem> {
        self.watch.check()?;
        let set = self.set.clone()?;
        set.check_files()?;
        Ok(set)
    }
}

fn files_of_shards(path: &Path) -> Result<Vec<PathBuf>, SetError> {
    let manifest = hamdex_shards::inspect::read_manifest(path)?;
    Ok(manifest.shards.iter().map(|shard| path.join(&shard.file)).collect())
}

/// Opens a set of shards with all its files, which stay open when the directory is replaced.
fn open_shards<F: Fingerprint>(path: &Path, options: &OpenOptions) -> Result<AnySet, SetError> {
    let shards = Shards::<F>::open(path, options)?;
    for number in 0..shards.manifest().shards.len() {
        shards.shard(number)?;
    }
    Ok(AnySet::new::<F>(Kind::Shards, Arc::new(shards)))
}
