//! The names of sets, and a record of the stores that the service has made: only these may it remove. It has the
//! durability of each, too.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use hamdex::chain;
use hamdex_atomic_file::AtomicFile;
use hamdex_store::{Durability, Error as StoreError};
use serde::{Deserialize, Serialize};

use crate::problem::{Failure, Problem, store_io};

/// The file of the directory of sets that has them.
const FILE: &str = ".stores.json";

/// The beginning of the names of stores that are being deleted.
pub(super) const DELETED: &str = ".deleted-";

/// A store that the service has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Its id: another store that was put in its place is not meant.
    store: String,
    durability: String,
}

/// The stores that the service has made, by name.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Made(BTreeMap<String, Entry>);

impl Made {
    /// Reads the file of a directory of sets.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn read(data: &Path) -> Result<Self, Failure> {
        let path = data.join(FILE);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let remedy =
                    "remove it, and every write is durable when it is answered, and no store can be deleted";
                Failure::input(&path, format!("{error}; {remedy}"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::io("read it", &path)(error)),
        }
    }

    /// How durable a store is: every write, unless it was made otherwise.
    pub(super) fn durability(&self, name: &str, path: &Path) -> Durability {
        let entry = self.0.get(name).filter(|_| self.has(name, path));
        entry.and_then(|entry| entry.durability.parse().ok()).unwrap_or(Durability::Sync)
    }

    /// Whether the service has made the store of this name that lies at a path.
    pub(super) fn has(&self, name: &str, path: &Path) -> bool {
        self.0.get(name).is_some_and(|entry| id_of(path).is_ok_and(|id| id == entry.store))
    }
}

/// Records a new store, before it has its name.
///
/// # Errors
/// When the disk refuses it.
pub(super) fn remember(
    data: &Path,
    name: &str,
    path: &Path,
    durability: Durability,
) -> Result<(), StoreError> {
    let mut made = Made::read_again(data)?;
    made.0.insert(name.to_owned(), Entry { store: id_of(path)?, durability: durability.to_string() });
    made.write(data)
}

/// Forgets a store.
///
/// # Errors
/// When the disk refuses it.
pub(super) fn forget(data: &Path, name: &str) -> Result<(), StoreError> {
    let mut made = Made::read_again(data)?;
    if made.0.remove(name).is_none() {
        return Ok(());
    }
    made.write(data)
}

impl Made {
    fn read_again(data: &Path) -> Result<Self, StoreError> {
        Self::read(data)
            .map_err(|error| store_io("read it", data.join(FILE))(io::Error::other(chain(&error))))
    }

    fn write(&self, data: &Path) -> Result<(), StoreError> {
        let path = data.join(FILE);
        let refused = store_io("write it", &path);
        let io = |error: hamdex_atomic_file::Error| {
            refused(match error {
                hamdex_atomic_file::Error::Io { source, .. } => source,
                other => io::Error::other(other),
            })
        };
        let mut file = AtomicFile::options().overwrite(true).create(&path).map_err(io)?;
        let text = serde_json::to_vec_pretty(self).expect("texts");
        file.write_all(&text).map_err(&refused)?;
        file.finish().map_err(io)
    }
}

/// Returns the id of a store, as hexadecimal digits.
fn id_of(path: &Path) -> Result<String, StoreError> {
    let id = hamdex_store::inspect(path)?.manifest.identity.store.0;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}

/// Removes what a service that was killed has not deleted.
pub(super) fn remove_deleted(data: &Path) {
    let Ok(entries) = fs::read_dir(data) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(DELETED.as_bytes()) {
            // It takes space, and hinders nothing.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// The most bytes of the name of a new store.
const MAX_NAME: usize = 128;

/// Returns the name of a set: that of its file or directory.
pub(super) fn name_of(path: &Path) -> Result<String, Failure> {
    // `.` and `a/..` have no name of their own.
    let absolute = if path.file_name().is_none() { path.canonicalize().ok() } else { None };
    let name = absolute.as_deref().unwrap_or(path).file_name().and_then(|name| name.to_str());
    name.map(str::to_owned)
        .ok_or_else(|| Failure::input(path, "its name is not UTF-8, so no request can name it"))
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

/// Whether a new store can have this path: nothing lies there, or an empty directory, which a rename replaces.
pub(super) fn is_free(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => found.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        Err(_) => true,
    }
}

/// Whether PUT can make a store of this path.
pub(super) fn may_be_made(path: &Path) -> bool {
    name_of(path).is_ok_and(|name| check_name(&name).is_ok()) && is_free(path)
}

#[cfg(test)]
mod tests {
    use hamdex_store::{AnyStore, CreateOptions, StoreOptions};

    use super::*;

    #[test]
    fn a_store_is_known_by_its_name_and_its_id() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        let make = |name: &str| {
            let path = data.join(name);
            drop(AnyStore::create(&path, 64, &CreateOptions::new(), StoreOptions::new()).unwrap());
            path
        };
        let interval: Durability = "interval=1s".parse().unwrap();
        let (a, b) = (make("a"), make("b"));
        remember(data, "a", &a, interval).unwrap();
        remember(data, "b", &b, Durability::None).unwrap();
        remember(data, "b", &b, Durability::Sync).unwrap();
        let made = Made::read(data).unwrap();
        assert!(made.has("a", &a) && made.has("b", &b) && !made.has("a", &b) && !made.has("c", &a));
        assert_eq!((made.durability("a", &a), made.durability("b", &b)), (interval, Durability::Sync));
        // Another store in its place.
        fs::rename(&a, data.join("old")).unwrap();
        make("a");
        assert!(!made.has("a", &a) && made.has("a", &data.join("old")));
        assert_eq!(made.durability("a", &a), Durability::Sync);
        forget(data, "a").unwrap();
        forget(data, "a").unwrap();
        assert!(!Made::read(data).unwrap().has("a", &data.join("old")));
    }

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
}
