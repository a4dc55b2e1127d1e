//! Stores that are open for reading, which another process may write to, and records by their id, in a set with look-ups.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use hamdex::{Fingerprint, Index, SetError, Verified, VerifyOptions};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_store::{Error, ReadOptions, Snapshot, StoreReader};

use crate::problem::Problem;
use crate::sets::Extent;
use crate::sets::fixed::Watch;

/// A store that is open for reading: no lock is taken, and nothing written.
pub(super) struct Reading {
    path: PathBuf,
    in_memory: bool,
    reader: Mutex<Box<dyn Reader>>,
    current: ArcSwap<AnySet>,
    watch: Watch,
}

/// A reader whose width is erased.
trait Reader: Send {
    /// Returns the store as it is now; `None` if it has not changed.
    fn refreshed(&mut self) -> Result<Option<AnySet>, Error>;

    fn snapshot(&self) -> AnySet;

    /// Returns a function that finds the records of an id in the store as it is now.
    fn finder(&self) -> Finder;
}

type Finder = Box<dyn FnOnce(&Key) -> Result<Vec<String>, Problem>>;

impl<F: Fingerprint> Reader for StoreReader<F> {
    fn refreshed(&mut self) -> Result<Option<AnySet>, Error> {
        if !self.has_changed()? {
            return Ok(None);
        }
        self.refresh()?;
        Ok(Some(Reader::snapshot(self)))
    }

    fn snapshot(&self) -> AnySet {
        AnySet::new::<F>(Kind::Store, Arc::new(StoreReader::snapshot(self)))
    }

    fn finder(&self) -> Finder {
        let snapshot = StoreReader::snapshot(self);
        Box::new(move |key| in_snapshot(&snapshot, key))
    }
}

fn open<F: Fingerprint>(path: &Path, in_memory: bool) -> Result<Box<dyn Reader>, Error> {
    Ok(Box::new(StoreReader::<F>::open_with(path, ReadOptions::new().in_memory(in_memory))?))
}

impl Reading {
    pub(super) fn open(path: &Path, in_memory: bool) -> Result<Self, SetError> {
        let reader = for_width!(hamdex_store::width(path)?, F => open::<F>(path, in_memory)?);
        let current = ArcSwap::from_pointee(reader.snapshot());
        let opened = Self {
            path: path.to_owned(),
            in_memory,
            reader: Mutex::new(reader),
            current,
            watch: Watch::default(),
        };
        opened.look();
        Ok(opened)
    }

    /// Returns the store as it is now.
    ///
    /// # Errors
    /// When it cannot be read any more, or was overwritten in place.
    pub(super) fn current(&self) -> Result<AnySet, Problem> {
        self.watch.check()?;
        // Another request that finds it changed meanwhile is answered from the store as it was.
        if let Ok(mut reader) = self.reader.try_lock()
            && let Some(changed) = reader.refreshed()?
        {
            self.current.store(Arc::new(changed));
            self.look();
        }
        let current = AnySet::clone(&self.current.load());
        current.check_files()?;
        Ok(current)
    }

    /// Returns the extent as it was last, without a look at the disk.
    pub(super) fn extent(&self) -> Extent {
        Extent::of(self.current.load().description())
    }

    /// Returns the fingerprints of an id: see [`in_snapshot`].
    ///
    /// # Errors
    /// When a page is damaged.
    pub(super) fn find(&self, key: &Key) -> Result<Vec<String>, Problem> {
        let find = self.reader.lock().unwrap_or_else(PoisonError::into_inner).finder();
        find(key)
    }

    /// Checks that no file was overwritten.
    ///
    /// # Errors
    /// When one was.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.watch.check()
    }

    /// Looks at all files that are mapped.
    pub(super) fn look(&self) {
        if !self.in_memory
            && let Ok(files) = segments_of(&self.path)
        {
            self.watch.look(files);
        }
    }

    /// Whether another file lies in the place of one of its files.
    pub(super) fn has_other_file(&self) -> bool {
        self.watch.has_other_file()
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// The first damage.
    pub(super) fn verify(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        // Queries go on meanwhile.
        hamdex_any::open(&self.path)?.verify(options)
    }
}

/// Returns the paths of the segments of a store.
///
/// # Errors
/// When its manifest cannot be read.
pub(super) fn segments_of(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let manifest = hamdex_store::inspect(path)?.manifest;
    Ok(manifest.segments.iter().map(|entry| segment(path, entry.number)).collect())
}

/// Returns the path of a segment of a store.
pub(super) fn segment(path: &Path, number: u64) -> PathBuf {
    path.join("segments").join(format!("{number:06}.hamdex"))
}

/// The most records of an id that are answered.
const MAX_MATCHES: usize = 1_000_000;

/// An id to look for.
pub(crate) enum Key {
    Number(u64),
    /// The names that are shown as one text.
    Names(Vec<Vec<u8>>),
}

/// Returns the fingerprints of an id, ascending, as hexadecimal digits: all if they are at most [`MAX_MATCHES`].
///
/// # Errors
/// When they are more, of which no more are gathered; when a page is damaged.
pub(super) fn in_snapshot<F: Fingerprint>(snapshot: &Snapshot<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let ids = match key {
        Key::Number(id) => HashSet::from([*id]),
        Key::Names(names) => snapshot.some_ids_of_names(&names.iter().cloned().collect(), MAX_MATCHES)?,
    };
    check_number(ids.len())?;
    let pairs = snapshot.some_pairs_of(&ids, MAX_MATCHES)?;
    digits(pairs.into_iter().map(|(fingerprint, _)| fingerprint).collect())
}

/// As [`in_snapshot`].
pub(super) fn in_index<F: Fingerprint>(index: &Index<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let lookups = index.lookups()?.ok_or_else(Problem::no_lookups)?;
    let mut ids = Vec::new();
    match key {
        Key::Number(id) => ids.push(*id),
        Key::Names(names) => {
            for name in names {
                ids.extend(lookups.ids_of_name_from(name, 0, MAX_MATCHES + 1)?);
                check_number(ids.len())?;
            }
        }
    }
    let mut found = Vec::new();
    for id in ids {
        for place in lookups.places_of(id, MAX_MATCHES + 1, |_| true)? {
            found.push(index.fingerprint_at(place)?);
        }
        check_number(found.len())?;
    }
    digits(found)
}

fn check_number(found: usize) -> Result<(), Problem> {
    if found <= MAX_MATCHES {
        return Ok(());
    }
    let detail = format!("the id has more than {MAX_MATCHES} records; entries has all");
    Err(Problem::unprocessable("too_many_matches", detail))
}

fn digits<F: Fingerprint>(mut fingerprints: Vec<F>) -> Result<Vec<String>, Problem> {
    check_number(fingerprints.len())?;
    fingerprints.sort_unstable();
    fingerprints.dedup();
    Ok(fingerprints.into_iter().map(|fingerprint| fingerprint.hex().to_string()).collect())
}
