//! All sets by name, and the directory in which new stores are made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::failure::{Failure, chain};
use crate::metrics::Metrics;
use crate::options::Config;
use crate::problem::Problem;
use crate::sets::fixed::Stamp;
use crate::sets::opening::{Opener, durability_of, listed};
use crate::sets::own_stores::{Made, may_be_made, remove_deleted};
use crate::sets::served::{Served, Written};

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
    /// Entries that are no sets, as they were.
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

    /// Returns a set.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Served>, Problem> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.get(name).cloned().ok_or_else(|| match &self.data {
            Some(data) if self.lock_gone().contains(name) => {
                let path = data.join(name);
                Problem::gone(&path, !self.opener.read_only && may_be_made(&path))
            }
            _ => Problem::not_found("no_set", format!("there is no set {name:?}; GET /v1/sets lists all")),
        })
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
