//! All sets by name, and the directory in which new stores are made.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use axum::http::StatusCode;
use hamdex::Category;
use hamdex_any::Kind;
use hamdex_atomic_file::{AtomicFile, sync_directory};
use hamdex_store::{AnyStore, CreateOptions, Durability, Error as StoreError, StoreOptions, for_any_store};

use crate::failure::{Failure, chain};
use crate::metrics::Metrics;
use crate::options::Config;
use crate::problem::Problem;
use crate::sets::served::Served;

/// The file of the directory of sets that says how durable each store is, unless every write is.
const DURABILITIES: &str = ".durability.json";

/// The beginning of the names of stores that are not complete.
const UNFINISHED: &str = ".new-";

/// The directory of backups in the directory of sets.
const BACKUPS: &str = ".backups";

/// The most bytes of the name of a new store.
const MAX_NAME: usize = 128;

/// The sets of the service.
pub(crate) struct Sets {
    served: RwLock<BTreeMap<String, Arc<Served>>>,
    data: Option<PathBuf>,
    backups: Option<PathBuf>,
    metrics: Arc<Metrics>,
    /// Held while a store is made.
    making: Mutex<()>,
}

impl Sets {
    /// Opens all sets that are named.
    ///
    /// # Errors
    /// When one of these, or the directory of sets, cannot be opened; when a store is in use by another process; when
    /// two sets have the same name. A set in the directory that is damaged is served as such.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Self, Failure> {
        let mut served = BTreeMap::new();
        for path in &config.sets {
            let set = open_named(path, metrics)?;
            add(&mut served, set)?;
        }
        if let Some(data) = &config.data {
            let durabilities = durabilities(data)?;
            for path in listed(data)? {
                if let Some(set) = open_found(&path, &durabilities, metrics)? {
                    add(&mut served, set)?;
                }
            }
        }
        Ok(Self {
            served: RwLock::new(served.into_iter().map(|(name, set)| (name, Arc::new(set))).collect()),
            data: config.data.clone(),
            backups: config.backups.clone(),
            metrics: Arc::clone(metrics),
            making: Mutex::default(),
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
        served.get(name).cloned().ok_or_else(|| {
            Problem::not_found("no_set", format!("there is no set {name:?}; GET /v1/sets lists all"))
        })
    }

    /// Makes a store, which is complete when it appears under its name.
    ///
    /// # Errors
    /// When there is no directory for new stores, the name is not possible or taken, an option is wrong, or the disk
    /// refuses something.
    pub(crate) fn create(
        &self,
        name: &str,
        width: u32,
        options: &CreateOptions,
        durability: Durability,
    ) -> Result<Arc<Served>, Problem> {
        let Some(data) = &self.data else {
            let detail = "the service has no directory for new stores; start it with --data";
            return Err(Problem::unprocessable("no_data_directory", detail));
        };
        check_name(name)?;
        let exists = || Problem::new(StatusCode::CONFLICT, "exists", format!("{name:?} exists already"));
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let path = data.join(name);
        if self.get(name).is_ok() || path.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let unfinished = data.join(format!("{UNFINISHED}{name}"));
        // Left by a service that was killed.
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(StoreIo("remove it", &unfinished).wrap())?;
        }
        let made = AnyStore::create(&unfinished, width, options, StoreOptions::new());
        let moved = made.and_then(|store| {
            for_any_store!(&store, store => store.shutdown())?;
            remember(data, name, durability)?;
            fs::rename(&unfinished, &path).map_err(StoreIo("rename it", &unfinished).wrap())?;
            sync_directory(data).map_err(StoreIo("sync it", data).wrap())
        });
        if let Err(error) = moved {
            // Leftover files do not hinder the next attempt.
            drop(fs::remove_dir_all(&unfinished));
            return Err(error.into());
        }
        let store = AnyStore::open(&path, StoreOptions::new().durability(durability))?;
        let set = Arc::new(Served::of_store(name.to_owned(), path, store, durability, &self.metrics));
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        served.insert(name.to_owned(), Arc::clone(&set));
        Ok(set)
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
        let mut outcome = Ok(());
        // Every store is closed, whatever happens to another.
        for set in self.all() {
            let closed = set.written().map_or(Ok(()), super::served::Written::close);
            outcome = outcome.and(closed.map_err(Failure::from));
        }
        outcome
    }
}

/// An error of the operating system while a store is made.
struct StoreIo<'p>(&'static str, &'p Path);

impl StoreIo<'_> {
    fn wrap(self) -> impl FnOnce(std::io::Error) -> StoreError {
        let (doing, path) = (self.0, self.1.to_owned());
        move |source| StoreError::Io { doing, path, source }
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

/// Returns the name of a set: that of its file or directory.
fn name_of(path: &Path) -> Result<String, Failure> {
    // `.` and `a/..` have no name of their own.
    let absolute = if path.file_name().is_none() { path.canonicalize().ok() } else { None };
    let name = absolute.as_deref().unwrap_or(path).file_name().and_then(|name| name.to_str());
    name.map(str::to_owned)
        .ok_or_else(|| Failure::input(path, "its name is not UTF-8, so no request can name it"))
}

/// Opens a set that the operator names.
fn open_named(path: &Path, metrics: &Arc<Metrics>) -> Result<Served, Failure> {
    let name = name_of(path)?;
    if Kind::of(path)? == Kind::Store {
        let store = AnyStore::open(path, StoreOptions::new())?;
        return Ok(Served::of_store(name, path.to_owned(), store, Durability::Sync, metrics));
    }
    Served::of_fixed(name, path)
}

/// Opens what lies in the directory of sets; `None` if it is no set.
fn open_found(
    path: &Path,
    durabilities: &BTreeMap<String, String>,
    metrics: &Arc<Metrics>,
) -> Result<Option<Served>, Failure> {
    let name = name_of(path)?;
    let kind = Kind::of(path)?;
    let opened = match kind {
        Kind::Store => {
            let durability =
                durabilities.get(&name).and_then(|text| text.parse().ok()).unwrap_or(Durability::Sync);
            AnyStore::open(path, StoreOptions::new().durability(durability))
                .map(|store| Served::of_store(name.clone(), path.to_owned(), store, durability, metrics))
                .map_err(Failure::from)
        }
        _ => Served::of_fixed(name.clone(), path),
    };
    match opened {
        Ok(set) => Ok(Some(set)),
        Err(error) => match error.category() {
            Category::Format => {
                tracing::warn!(path = %path.display(), error = chain(&error), "is no set, and not served");
                Ok(None)
            }
            Category::Damaged => {
                tracing::error!(path = %path.display(), error = chain(&error), "is damaged; requests to it fail");
                let problem = match error {
                    Failure::Store(error) => error.into(),
                    Failure::Set(error) => error.into(),
                    other => Problem::internal(chain(&other)),
                };
                Ok(Some(Served::broken(name, path.to_owned(), kind == Kind::Store, problem)))
            }
            _ => Err(error),
        },
    }
}

/// Returns the visible entries of the directory of sets, in order.
fn listed(data: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(data).map_err(Failure::io("list it", data))? {
        let entry = entry.map_err(Failure::io("list it", data))?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Refuses names of new stores that are not portable, or hidden.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    let detail = format!(
        "the name of a set begins with a letter or digit, and has at most {MAX_NAME} letters, digits, dots, hyphens and \
         underscores"
    );
    Err(Problem::unprocessable("bad_name", detail))
}

/// Reads how durable stores are.
fn durabilities(data: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let path = data.join(DURABILITIES);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            Failure::input(
                &path,
                format!("{error}; remove it, and every write is durable when it is answered"),
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(Failure::io("read it", &path)(error)),
    }
}

/// Records how durable a new store is.
fn remember(data: &Path, name: &str, durability: Durability) -> Result<(), StoreError> {
    let mut all = durabilities(data).unwrap_or_default();
    let was = all.remove(name);
    if durability != Durability::Sync {
        all.insert(name.to_owned(), durability.to_string());
    } else if was.is_none() {
        return Ok(());
    }
    let path = data.join(DURABILITIES);
    let io = |error: hamdex_atomic_file::Error| StoreError::Io {
        doing: "write it",
        path: path.clone(),
        source: match error {
            hamdex_atomic_file::Error::Io { source, .. } => source,
            other => std::io::Error::other(other),
        },
    };
    let mut file = AtomicFile::options().overwrite(true).create(&path).map_err(io)?;
    let text = serde_json::to_vec_pretty(&all).expect("texts");
    file.write_all(&text).map_err(StoreIo("write it", &path).wrap())?;
    file.finish().map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_directory() {
        for name in ["a", "A.b-c_d", "0", "pages.store"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(129);
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a b", "ä", "-a", "a\0", &long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_durability_of_a_store_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let interval: Durability = "interval=1s".parse().unwrap();
        remember(directory.path(), "a", interval).unwrap();
        remember(directory.path(), "b", Durability::None).unwrap();
        remember(directory.path(), "c", Durability::Sync).unwrap();
        remember(directory.path(), "b", Durability::Sync).unwrap();
        let all = durabilities(directory.path()).unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(all["a"].parse::<Durability>().unwrap(), interval);
    }
}
