//! One set of the service: a store that it writes, a set that it only reads, or one that cannot be opened. It notices files
//! that are replaced, overwritten or gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::StatusCode;
use hamdex::set::Description;
use hamdex::{FingerprintSet, Verified, VerifyOptions};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_store::health::Event;
use hamdex_store::{AnyStore, Durability, for_any_store};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admission::Lane;
use crate::metrics::Metrics;
use crate::problem::{Failure, Problem};
use crate::sets::Extent;
use crate::sets::fixed::{self, Fixed, Stamp, Watch};
use crate::sets::own_stores::may_be_made;
use crate::sets::reading::{self, Key, Reading};

/// The file that changes when a store is repaired.
const MANIFEST: &str = "manifest";

/// Writes of a store that run at once, to share a sync, and writes that may wait.
const WRITES_AT_ONCE: usize = 64;
const WAITING_WRITES: usize = 4096;

/// The kind of the ids of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdKind {
    /// Fingerprints alone.
    None,
    /// Each with one or more numbers of at most 64 bits.
    Numbers,
    /// Each with one or more names.
    Names,
}

impl IdKind {
    pub(crate) fn of(description: &Description) -> Self {
        match (description.has_ids, description.has_names) {
            (_, true) => Self::Names,
            (true, false) => Self::Numbers,
            (false, false) => Self::None,
        }
    }
}

/// A set under its name.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Whether it was found in the directory of sets, rather than named by the operator.
    pub(super) is_found: bool,
    source: Source,
}

enum Source {
    Store(Box<Written>),
    /// A store that is open for reading.
    Reading(Box<Reading>, Directory),
    Fixed(Fixed),
    /// A store that cannot be opened; others are served.
    Broken(Broken),
}

/// The directory of a store, which may be moved away.
struct Directory(Option<Stamp>);

/// A set that cannot be opened, and the state that decides about another attempt.
struct Broken {
    problem: Problem,
    directory: Directory,
    /// The manifest and the damaged file, as they were.
    files: Vec<(PathBuf, Option<Stamp>)>,
}

/// A store that is open for writing.
pub(crate) struct Written {
    pub(crate) store: AnyStore,
    pub(crate) durability: Durability,
    pub(crate) has_lookups: bool,
    pub(crate) extent: Extent,
    pub(crate) writes: Lane,
    directory: Directory,
    /// The segments, unless they are in memory.
    watch: Option<Arc<Watch>>,
}

/// An index file that is a set, or a part of one.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Directory {
    fn of(path: &Path) -> Self {
        Self(Stamp::of(path))
    }

    /// Whether a path names the same directory.
    fn is_at(&self, path: &Path) -> bool {
        match (Stamp::of(path), &self.0) {
            // Elsewhere, a directory cannot be told from another.
            (Some(now), Some(before)) => !cfg!(unix) || now.is_of_same_file(before),
            _ => false,
        }
    }
}

impl Broken {
    fn of(path: &Path, problem: Problem) -> Self {
        let files = [Some(path.join(MANIFEST)), problem.damaged_file().map(Path::to_owned)];
        let files = files.into_iter().flatten().map(|path| (path.clone(), Stamp::of(&path))).collect();
        Self { problem, directory: Directory::of(path), files }
    }

    /// Whether a repair, or another file in place of the damaged one, may have mended it.
    fn has_changed(&self) -> bool {
        self.files.iter().any(|(path, before)| Stamp::of(path) != *before)
    }
}

impl Served {
    pub(super) fn of_store(
        name: String,
        path: PathBuf,
        store: AnyStore,
        durability: Durability,
        metrics: &Arc<Metrics>,
        in_memory: bool,
    ) -> Self {
        let watch = (!in_memory).then(|| Arc::new(Watch::default()));
        let on_event = {
            let (metrics, name, path, watch) =
                (Arc::clone(metrics), name.clone(), path.clone(), watch.clone());
            move |event: &Event| {
                metrics.event(&name, event);
                if let (Event::Added(number), Some(watch)) = (event, &watch) {
                    watch.add(reading::segment(&path, *number));
                }
            }
        };
        for_any_store!(&store, store => store.on_event(on_event));
        let writes = Lane::new("writes", WRITES_AT_ONCE, WAITING_WRITES);
        let description = for_any_store!(&store, store => store.snapshot().describe());
        let Description { has_lookups, .. } = description;
        let extent = Extent::of(&description);
        let directory = Directory::of(&path);
        let written = Written { store, durability, has_lookups, extent, writes, directory, watch };
        let served = Self { name, path, is_found: false, source: Source::Store(Box::new(written)) };
        served.look(false);
        served
    }

    pub(super) fn of_reading(name: String, path: &Path, in_memory: bool) -> Result<Self, Failure> {
        let directory = Directory::of(path);
        let source = Source::Reading(Box::new(Reading::open(path, in_memory)?), directory);
        Ok(Self { name, path: path.to_owned(), is_found: false, source })
    }

    pub(super) fn of_fixed(name: String, path: &Path, in_memory: bool) -> Result<Self, Failure> {
        let source = Source::Fixed(Fixed::open(path, in_memory)?);
        Ok(Self { name, path: path.to_owned(), is_found: false, source })
    }

    pub(super) fn broken(name: String, path: PathBuf, kind: Kind, in_memory: bool, problem: Problem) -> Self {
        let source = match kind {
            Kind::Store => Source::Broken(Broken::of(&path, problem)),
            _ => Source::Fixed(Fixed::broken(&path, in_memory, problem)),
        };
        Self { name, path, is_found: false, source }
    }

    /// Marks it as one of the directory of sets.
    pub(super) fn found(self) -> Self {
        Self { is_found: true, ..self }
    }

    /// Returns how far the queries of the set reach, without a look at the disk.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn extent(&self) -> Result<Extent, Problem> {
        match &self.source {
            Source::Store(written) => Ok(written.extent),
            Source::Reading(reading, _) => Ok(reading.extent()),
            Source::Fixed(fixed) => fixed.extent(),
            Source::Broken(broken) => Err(broken.problem.clone()),
        }
    }

    /// Returns the store, if it is open for writing.
    pub(crate) fn written(&self) -> Option<&Written> {
        match &self.source {
            Source::Store(written) => Some(written),
            _ => None,
        }
    }

    /// Returns the store.
    ///
    /// # Errors
    /// As for [`Served::opened_for_writing`]; when it is gone, or was overwritten in place.
    pub(crate) fn writable(&self) -> Result<&Written, Problem> {
        let written = self.opened_for_writing()?;
        self.check_store(written)?;
        Ok(written)
    }

    /// Returns the store, without a look at the disk.
    ///
    /// # Errors
    /// When the set is none, or open for reading only.
    pub(crate) fn opened_for_writing(&self) -> Result<&Written, Problem> {
        let read_only = |detail| Err(Problem::new(StatusCode::CONFLICT, "read_only", detail));
        match &self.source {
            Source::Store(written) => Ok(written),
            Source::Broken(broken) => Err(broken.problem.clone()),
            Source::Reading(..) => read_only(format!("{:?} is served for reading (--read-only)", self.name)),
            Source::Fixed(_) => {
                read_only(format!("{:?} is no store: index files and shards never change", self.name))
            }
        }
    }

    /// Returns the set as it is now.
    ///
    /// # Errors
    /// When it cannot be opened, is gone, or was overwritten in place.
    pub(crate) fn current(&self) -> Result<AnySet, Problem> {
        match &self.source {
            Source::Store(written) => {
                self.check_store(written)?;
                let set = for_any_store!(&written.store, store => AnySet::new(Kind::Store, Arc::new(store.snapshot())));
                set.check_files()?;
                Ok(set)
            }
            Source::Reading(reading, directory) => {
                self.check_directory(directory)?;
                reading.current()
            }
            Source::Fixed(fixed) => fixed.current(),
            Source::Broken(broken) => Err(broken.problem.clone()),
        }
    }

    /// Calls `read` with the set as it is now. An answer from files that were overwritten or cut off meanwhile is an
    /// error.
    ///
    /// # Errors
    /// As for [`Served::current`]; that of `read`.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&AnySet) -> Result<T, Problem>) -> Result<T, Problem> {
        let set = self.current()?;
        let outcome = read(&set);
        self.check(&set)?;
        outcome
    }

    /// Checks that no file of the set was overwritten or truncated since the result was computed.
    ///
    /// # Errors
    /// When one was.
    pub(crate) fn check(&self, set: &AnySet) -> Result<(), Problem> {
        set.check_files()?;
        match &self.source {
            Source::Store(written) => written.watch.as_ref().map_or(Ok(()), |watch| watch.check()),
            Source::Reading(reading, _) => reading.check(),
            Source::Fixed(fixed) => fixed.check(),
            Source::Broken(_) => Ok(()),
        }
    }

    /// The problem of a store whose directory was moved away or removed.
    pub(super) fn gone(&self) -> Problem {
        let may_be_made = self.is_found && self.written().is_some() && may_be_made(&self.path);
        Problem::gone(&self.path, may_be_made)
    }

    fn check_directory(&self, directory: &Directory) -> Result<(), Problem> {
        if directory.is_at(&self.path) { Ok(()) } else { Err(self.gone()) }
    }

    fn check_store(&self, written: &Written) -> Result<(), Problem> {
        self.check_directory(&written.directory)?;
        written.watch.as_ref().map_or(Ok(()), |watch| watch.check())
    }

    /// Looks whether files of the set were overwritten in place; whether another attempt is due to open one for which the
    /// system is to blame.
    pub(super) fn look(&self, is_due: bool) {
        match &self.source {
            Source::Store(written) => {
                if let Some(watch) = &written.watch {
                    watch.look(self.segments_of(written));
                }
            }
            Source::Reading(reading, _) => reading.look(),
            Source::Fixed(fixed) => fixed.look(is_due),
            Source::Broken(_) => {}
        }
    }

    /// Whether it is a store whose directory was moved away or removed.
    pub(super) fn is_gone(&self) -> bool {
        match &self.source {
            Source::Store(written) => !written.directory.is_at(&self.path),
            Source::Reading(_, directory) => !directory.is_at(&self.path),
            Source::Fixed(_) | Source::Broken(_) => false,
        }
    }

    /// Whether something lies in its place that is opened in another way, or with a lock: another directory in that of a
    /// store, or a store in that of a file or of shards.
    pub(super) fn is_replaced(&self) -> bool {
        let directory = match &self.source {
            Source::Store(written) => &written.directory,
            Source::Reading(_, directory) => directory,
            Source::Broken(broken) => &broken.directory,
            Source::Fixed(_) => return fixed::is_store(&self.path),
        };
        self.path.exists() && !directory.is_at(&self.path)
    }

    /// Whether requests to it fail, and another attempt to open it may succeed: of one for which the system is to blame
    /// when it `is_due`, of others after a repair, or when another file lies in place of one that was overwritten.
    pub(super) fn may_open_now(&self, is_due: bool) -> bool {
        let fails = || self.current().is_err();
        match &self.source {
            Source::Broken(broken) => is_due && !broken.problem.is_damage() || broken.has_changed(),
            Source::Fixed(fixed) => fails() && fixed.has_other_file() || is_due && fixed.is_refused_for_now(),
            Source::Reading(reading, _) => fails() && reading.has_other_file(),
            Source::Store(written) => {
                let is_lost = || for_any_store!(&written.store, store => store.is_lost());
                let watch = written.watch.as_ref();
                watch.is_some_and(|watch| fails() && watch.has_other_file()) || !self.is_gone() && is_lost()
            }
        }
    }

    fn segments_of(&self, written: &Written) -> Vec<PathBuf> {
        let stats = for_any_store!(&written.store, store => store.stats());
        stats.segments.iter().map(|segment| reading::segment(&self.path, segment.number)).collect()
    }

    /// Returns the properties of the set as it is now.
    ///
    /// # Errors
    /// As for [`Served::current`].
    pub(crate) fn description(&self) -> Result<Description, Problem> {
        match &self.source {
            Source::Store(written) => {
                self.check_store(written)?;
                Ok(for_any_store!(&written.store, store => store.snapshot().describe()))
            }
            _ => Ok(self.current()?.description().clone()),
        }
    }

    /// Reads and checks all files of the set.
    ///
    /// # Errors
    /// The first damage; as for [`Served::current`].
    pub(crate) fn verify(&self, options: &VerifyOptions) -> Result<Verified, Problem> {
        match &self.source {
            Source::Store(written) => {
                self.check_store(written)?;
                Ok(for_any_store!(&written.store, store => store.verify(options))?)
            }
            Source::Reading(reading, directory) => {
                self.check_directory(directory)?;
                Ok(reading.verify(options)?)
            }
            _ => self.read(|set| Ok(set.verify(options)?)),
        }
    }

    /// Returns the fingerprints of an id, ascending, as hexadecimal digits, in a set with look-ups.
    ///
    /// # Errors
    /// When a page is damaged; as for [`Served::current`].
    pub(crate) fn find(&self, key: &Key) -> Result<Vec<String>, Problem> {
        self.read(|set| match &self.source {
            Source::Store(written) => {
                for_any_store!(&written.store, store => reading::in_snapshot(&store.snapshot(), key))
            }
            Source::Reading(reading, _) => reading.find(key),
            _ => for_width!(set.description().width, F => {
                let index = set.typed::<F>().and_then(|set| set.as_index());
                reading::in_index(index.ok_or_else(Problem::no_lookups)?, key)
            }),
        })
    }

    /// Returns the index files of the set.
    ///
    /// # Errors
    /// When a manifest cannot be read.
    pub(crate) fn parts(&self) -> Result<Vec<Part>, Problem> {
        let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parts =
            |paths: Vec<PathBuf>| paths.into_iter().map(|path| Part { name: name_of(&path), path }).collect();
        match &self.source {
            Source::Broken(broken) => Err(broken.problem.clone()),
            Source::Store(written) => {
                self.check_store(written)?;
                Ok(parts(self.segments_of(written)))
            }
            Source::Reading(_, directory) => {
                self.check_directory(directory)?;
                Ok(parts(reading::segments_of(&self.path)?))
            }
            Source::Fixed(fixed) if fixed.kind() == Kind::Shards => {
                let manifest =
                    hamdex_shards::inspect::read_manifest(&self.path).map_err(hamdex::SetError::from)?;
                let shards = manifest.shards.into_iter();
                Ok(shards.map(|shard| Part { path: self.path.join(&shard.file), name: shard.file }).collect())
            }
            Source::Fixed(fixed) => {
                fixed.current()?;
                Ok(parts(vec![self.path.clone()]))
            }
        }
    }
}
