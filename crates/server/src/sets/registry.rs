//! All sets by name, how each is opened from its path, and the directory in which new stores are made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::{fs, io};

use hamdex::{Category, chain};
use hamdex_any::Kind;
use hamdex_store::{AnyStore, Durability, Error as StoreError, StoreOptions};

use crate::metrics::Metrics;
use crate::options::Config;
use crate::problem::{Failure, Problem};
use crate::sets::own_stores::{Made, may_be_made, name_of, remove_deleted};
use crate::sets::served::Served;
use crate::sets::watch::Stamp;
use crate::sets::written::Written;

/// The directory of backups in the directory of sets.
const BACKUPS: &str = ".backups";

/// The sets of the service.
pub(crate) struct Sets {
    served: RwLock<BTreeMap<String, Arc<Served>>>,
    pub(super) data: Option<PathBuf>,
    backups: Option<PathBuf>,
    pub(super) opener: Opener,
    /// Held while sets are made, deleted, and looked for.
    changing: Mutex<Changing>,
    /// Names of sets whose directory or file has disappeared.
    gone: Mutex<BTreeSet<String>>,
}

/// Results of the scans of the directory of sets.
#[derive(Default)]
pub(super) struct Changing {
    pub(super) looks: u64,
    pub(super) is_closed: bool,
    /// Entries that are not sets, as they were.
    pub(super) passed_over: BTreeMap<PathBuf, Option<Stamp>>,
    /// Sets that were not there at the last look.
    pub(super) missing: BTreeSet<String>,
    /// Whether the directory could not be listed at the last look.
    pub(super) is_unlisted: bool,
}

impl Sets {
    /// Opens all sets. One that is there and cannot be opened is served as such.
    ///
    /// # Errors
    /// When one that is named is missing or no set; when none that is named can be opened, and there is no directory of
    /// sets, or that cannot be listed; when two sets have the same name.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Self, Failure> {
        let opener =
            Opener { metrics: Arc::clone(metrics), in_memory: config.in_memory, read_only: config.read_only };
        let mut served = BTreeMap::new();
        let mut reasons = Vec::new();
        for path in &config.sets {
            let (set, reason) = opener.open_named(path)?;
            add(&mut served, set)?;
            reasons.extend(reason);
        }
        if config.data.is_none() && reasons.len() == config.sets.len() {
            return Err(reasons.swap_remove(0));
        }
        for reason in reasons {
            tracing::error!(error = chain(&reason), "cannot be opened; requests to it fail");
        }
        let mut changing = Changing::default();
        if let Some(data) = &config.data {
            if !opener.read_only {
                remove_deleted(data);
            }
            let made = Made::read(data)?;
            for path in listed(data).map_err(Failure::io("list it", data))? {
                match opener.open_found(&path, durability_of(&made, &path), false) {
                    Some(set) => add(&mut served, set)?,
                    None => drop(changing.passed_over.insert(path.clone(), Stamp::of(&path))),
                }
            }
        }
        Ok(Self {
            served: RwLock::new(served.into_iter().map(|(name, set)| (name, Arc::new(set))).collect()),
            data: config.data.clone(),
            backups: config.backups.clone(),
            opener,
            changing: Mutex::new(changing),
            gone: Mutex::default(),
        })
    }

    /// Returns all sets, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Served>> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns a set, without a look at the disk.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Served>> {
        self.served.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns a set. If it is gone, a look at the disk says whether PUT can make another.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Served>, Problem> {
        self.find(name).ok_or_else(|| match &self.data {
            Some(data) if self.is_gone(name) => {
                let path = data.join(name);
                Problem::gone(&path, !self.opener.read_only && may_be_made(&path))
            }
            _ => Problem::no_set(name),
        })
    }

    /// Whether a set of this name has disappeared.
    pub(crate) fn is_gone(&self, name: &str) -> bool {
        self.lock_gone().contains(name)
    }

    fn lock_gone(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_changing(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, set: Served) -> Arc<Served> {
        let set = Arc::new(set);
        self.lock_gone().remove(&set.name);
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        served.insert(set.name.clone(), Arc::clone(&set));
        set
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<Served>> {
        self.served.write().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    /// Removes a set that is not in its place any more; requests to it are answered so.
    pub(super) fn remove_gone(&self, name: &str) {
        self.lock_gone().insert(name.to_owned());
        self.remove(name);
    }

    /// Returns the directory of backups of a set.
    pub(crate) fn backups_of(&self, set: &Served) -> PathBuf {
        if let Some(backups) = &self.backups {
            return backups.clone();
        }
        let parent = set.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).join(BACKUPS)
    }

    /// Closes all stores, and returns the first error.
    ///
    /// # Errors
    /// When the disk refuses something.
    pub(crate) fn close(&self) -> Result<(), Failure> {
        self.lock_changing().is_closed = true;
        let mut outcome = Ok(());
        // Every store is closed, whatever happens to another.
        for set in self.all() {
            let closed = set.written().map_or(Ok(()), Written::close);
            outcome = outcome.and(closed.map_err(Failure::from));
        }
        outcome
    }
}

fn add(served: &mut BTreeMap<String, Served>, set: Served) -> Result<(), Failure> {
    if let Some(other) = served.get(&set.name) {
        return Err(Failure::Usage(format!(
            "two sets are named {:?}: {} and {}; rename one",
            set.name,
            other.path.display(),
            set.path.display()
        )));
    }
    served.insert(set.name.clone(), set);
    Ok(())
}

/// The directory that file systems have at their root.
const LOST_AND_FOUND: &str = "lost+found";

/// How sets are opened.
pub(super) struct Opener {
    pub(super) metrics: Arc<Metrics>,
    /// Whether files are read into memory instead of mapped.
    pub(super) in_memory: bool,
    /// Whether stores are opened for reading, without their lock.
    pub(super) read_only: bool,
}

impl Opener {
    /// Opens a set that the operator names. One that is there and cannot be opened is served as such, and the reason is
    /// returned, not logged.
    ///
    /// # Errors
    /// When there is none, or its name is not possible.
    pub(super) fn open_named(&self, path: &Path) -> Result<(Served, Option<Failure>), Failure> {
        let name = name_of(path)?;
        let kind = Kind::of(path)?;
        match self.open(&name, path, kind, Durability::Sync) {
            Ok(set) => Ok((set, None)),
            Err(error) if path.symlink_metadata().is_err() || error.category() == Category::Format => {
                Err(error)
            }
            Err(error) => {
                let reason = Failure::Unavailable { what: chain(&error), category: error.category() };
                Ok((self.unavailable(name, path, kind, error, true), Some(reason)))
            }
        }
    }

    /// Opens what lies in the directory of sets; `None` if it is not a set. One that could not be opened before (`is_again`)
    /// is not logged a second time.
    pub(super) fn open_found(&self, path: &Path, durability: Durability, is_again: bool) -> Option<Served> {
        let passed_over = |reason: &str| {
            tracing::warn!(path = %path.display(), reason, "is no set, and not served");
            None
        };
        let Ok(name) = name_of(path) else {
            return passed_over("its name is not UTF-8, so no request can name it");
        };
        if name == LOST_AND_FOUND {
            return None;
        }
        if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return passed_over("it is neither a file nor a directory");
        }
        let kind = match Kind::of(path) {
            Ok(kind) => kind,
            Err(error) => {
                return Some(self.unavailable(name, path, Kind::Shards, error.into(), is_again).found());
            }
        };
        match self.open(&name, path, kind, durability) {
            Ok(set) => Some(set.found()),
            Err(error) if error.category() == Category::Format => passed_over(&chain(&error)),
            Err(error) => Some(self.unavailable(name, path, kind, error, is_again).found()),
        }
    }

    /// Opens what lies in the place of a set now; `None` if it is not a set. The reason why it cannot be opened is not logged if
    /// it `is_known`.
    pub(super) fn open_again(&self, set: &Served, made: &Made, is_known: bool) -> Option<Served> {
        if set.is_found {
            return self.open_found(&set.path, durability_of(made, &set.path), is_known);
        }
        let (opened, reason) = self.open_named(&set.path).ok()?;
        if let Some(reason) = reason.filter(|_| !is_known) {
            tracing::error!(error = chain(&reason), "cannot be opened; requests to it fail");
        }
        Some(opened)
    }

    fn open(&self, name: &str, path: &Path, kind: Kind, durability: Durability) -> Result<Served, Failure> {
        let name = name.to_owned();
        if kind != Kind::Store {
            return Served::of_fixed(name, path, self.in_memory);
        }
        if self.read_only {
            return Served::of_reading(name, path, self.in_memory);
        }
        let store = AnyStore::open(path, self.options(durability))?;
        Ok(self.of_store(name, path, store, durability))
    }

    /// Returns a store that is open for writing as a set.
    pub(super) fn of_store(
        &self,
        name: String,
        path: &Path,
        store: AnyStore,
        durability: Durability,
    ) -> Served {
        let written = Written::of(&name, path, store, durability, &self.metrics, self.in_memory);
        Served::of_store(name, path, written)
    }

    /// The options of a store that is open for writing.
    pub(super) fn options(&self, durability: Durability) -> StoreOptions {
        StoreOptions::new().durability(durability).in_memory(self.in_memory)
    }

    /// Returns a set that cannot be opened, with the reason.
    fn unavailable(&self, name: String, path: &Path, kind: Kind, error: Failure, is_again: bool) -> Served {
        if !is_again {
            tracing::error!(path = %path.display(), error = chain(&error), "cannot be opened; requests to it fail");
        }
        Served::broken(name, path, kind, self.in_memory, problem_of(error))
    }
}

/// The problem of a set that cannot be opened.
fn problem_of(error: Failure) -> Problem {
    const REMEDY: &str = "--read-only serves stores for reading, without their lock";
    match error {
        Failure::Store(error @ (StoreError::InUse { .. } | StoreError::Io { doing: "lock it", .. })) => {
            Problem::from(error).with_remedy(REMEDY)
        }
        Failure::Store(error) => error.into(),
        Failure::Set(error) => error.into(),
        other => Problem::internal(chain(&other)),
    }
}

/// Returns the visible entries of the directory of sets, in order.
///
/// # Errors
/// When the system refuses to list it.
pub(super) fn listed(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns how durable the store at a path is to be.
pub(super) fn durability_of(made: &Made, path: &Path) -> Durability {
    name_of(path).map_or(Durability::Sync, |name| made.durability(&name, path))
}
