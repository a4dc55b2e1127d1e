//! Index files and sets of shards. They never change, but others may replace them by a rename, or overwrite them in
//! place, while they are served.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use hamdex::{Fingerprint, OpenOptions, SetError};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_shards::Shards;

use crate::problem::Problem;
use crate::sets::Extent;

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
    match kind {
        Kind::Shards => Stamp::of(&path.join(hamdex_shards::MANIFEST)),
        _ => Stamp::of(path),
    }
}

/// Whether a path leads to a store, which is opened with its lock.
pub(super) fn is_store(path: &Path) -> bool {
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

    pub(super) fn kind(&self) -> Kind {
        self.current.load().kind
    }

    /// Returns the extent of the set that was opened last, without a look at the disk.
    ///
    /// # Errors
    /// When it could not be opened.
    pub(super) fn extent(&self) -> Result<Extent, Problem> {
        self.current.load().set.as_ref().map(|set| Extent::of(set.description())).map_err(Problem::clone)
    }

    /// Returns the set that the path names now. If it was replaced by one that cannot be opened, or removed, the set
    /// that was there before is returned.
    ///
    /// # Errors
    /// When none could be opened; when the one that is open was overwritten in place.
    pub(super) fn current(&self) -> Result<AnySet, Problem> {
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

    /// Checks that no file of the set was overwritten since the result was computed.
    ///
    /// # Errors
    /// When one was.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let current = self.current.load();
        if self.is_overwritten(&current, stamp_of(&self.path, current.kind).as_ref()) {
            return Err(current.watch.spoil(&self.path));
        }
        current.watch.check()
    }

    /// Looks at all files that are mapped; whether another attempt is due to open what has taken the place of the set.
    pub(super) fn look(&self, is_due: bool) {
        if is_due
            && let Ok(mut refused) = self.opening.try_lock()
            && let Some(refused) = refused.as_mut()
        {
            refused.is_due = refused.may_open_later;
        }
        let current = self.current.load();
        current.watch.look(current.files.iter().cloned());
    }

    /// Whether another file lies in the place of one of its files.
    pub(super) fn has_other_file(&self) -> bool {
        self.current.load().watch.has_other_file()
    }

    /// Whether it cannot be opened, and another attempt may succeed although its stamp has not changed.
    pub(super) fn is_refused_for_now(&self) -> bool {
        self.current.load().set.as_ref().is_err_and(|problem| self.may_open_later(problem))
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

impl Opened {
    fn open(path: &Path, in_memory: bool) -> Result<Self, SetError> {
        // Stamps are taken before: what is replaced meanwhile is opened once more.
        let kind = Kind::of(path)?;
        let stamp = stamp_of(path, kind);
        let watch = Watch::default();
        let files = match kind {
            _ if in_memory => Vec::new(),
            Kind::Shards => files_of_shards(path)?,
            _ => vec![path.to_owned()],
        };
        watch.look(files.iter().cloned());
        let options = OpenOptions::new().in_memory(in_memory);
        let set = match kind {
            Kind::Shards => {
                for_width!(hamdex_any::width(path)?, F => open_shards::<F>(path, &options)?)
            }
            _ => hamdex_any::open_with(path, &options)?,
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

/// The properties that tell one file from another of the same name, and whether it was written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    file: (u64, u64),
}

impl Stamp {
    /// Returns the stamp of what a path names now; `None` if it names nothing that can be looked at.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { length: metadata.len(), modified: metadata.modified().ok(), file: number(&metadata) })
    }

    /// Whether it is of the same file, which may have been written to.
    pub(super) fn is_of_same_file(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

/// Returns the number of the file system, and that of the file in it.
#[cfg(unix)]
fn number(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

// Without numbers, a file that was replaced cannot be told from one that was overwritten: all count as replaced.
#[cfg(not(unix))]
fn number(metadata: &Metadata) -> (u64, u64) {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    (metadata.len(), modified.map_or(0, |time| time.as_nanos() as u64))
}

/// The files of a set as they were when they were first seen. They are mapped, so one that is overwritten in place makes
/// answers wrong.
#[derive(Default)]
pub(super) struct Watch {
    seen: Mutex<BTreeMap<PathBuf, Stamp>>,
    overwritten: OnceLock<Problem>,
}

impl Watch {
    /// Compares files, and the ones that were seen before, with what they were when they were first seen.
    pub(super) fn look(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths {
            if let Some(stamp) = Stamp::of(&path) {
                seen.entry(path).or_insert(stamp);
            }
        }
        // A merge may have removed some meanwhile.
        seen.retain(|path, first| {
            let Some(stamp) = Stamp::of(path) else { return false };
            if first.is_of_same_file(&stamp) && *first != stamp {
                self.spoil(path);
            }
            true
        });
    }

    /// Takes one more file as it is now, so that what happens to it before the next look is seen.
    pub(super) fn add(&self, path: PathBuf) {
        if let Some(stamp) = Stamp::of(&path) {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(stamp);
        }
    }

    /// Whether another file lies in the place of one of them.
    pub(super) fn has_other_file(&self) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().any(|(path, first)| Stamp::of(path).is_some_and(|now| !now.is_of_same_file(first)))
    }

    /// Ends the set, one of whose files was overwritten in place; returns the problem.
    pub(super) fn spoil(&self, path: &Path) -> Problem {
        let new = || {
            tracing::error!(path = %path.display(), "was overwritten in place: requests to its set fail");
            Problem::overwritten(path)
        };
        self.overwritten.get_or_init(new).clone()
    }

    /// Checks that no file was seen to be overwritten.
    ///
    /// # Errors
    /// When one was.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.overwritten.get().map_or(Ok(()), |problem| Err(problem.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_added_are_watched_before_the_first_look() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        let watch = Watch::default();
        for path in [&one, &two] {
            fs::write(path, "1").unwrap();
            watch.add(path.clone());
        }
        fs::write(directory.path().join("new"), "1").unwrap();
        fs::rename(directory.path().join("new"), &one).unwrap();
        assert!(watch.has_other_file());
        // A list of before they were added.
        watch.look([]);
        assert!(watch.has_other_file() && watch.check().is_ok());
        fs::write(&two, "12").unwrap();
        watch.look([]);
        assert!(watch.check().is_err());
    }

    #[test]
    fn a_file_that_is_overwritten_is_told_from_one_that_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        let watch = Watch::default();
        let paths = || [one.clone(), two.clone()];
        fs::write(&one, "1").unwrap();
        watch.look(paths());
        fs::write(directory.path().join("new"), "12").unwrap();
        fs::rename(directory.path().join("new"), &one).unwrap();
        fs::write(&two, "2").unwrap();
        watch.look(paths());
        fs::remove_file(&two).unwrap();
        watch.look(paths());
        assert!(watch.check().is_ok() && watch.has_other_file());
        let watch = Watch::default();
        watch.look(paths());
        assert!(!watch.has_other_file());
        fs::write(&one, "123").unwrap();
        watch.look(paths());
        let problem = watch.check().unwrap_err();
        assert!(problem.code() == "damaged" && problem.detail().contains("mv"), "{}", problem.detail());
    }
}
