//! Stores that are open for reading, which another process may write to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use hamdex::{Fingerprint, SetError, Verified, VerifyOptions};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_store::{Error, ReadOptions, StoreReader};

use crate::problem::Problem;
use crate::sets::Extent;
use crate::sets::source::{Key, Part, Source, in_snapshot, segment};
use crate::sets::watch::{Directory, Watch};

/// A store that is open for reading: no lock is taken, and nothing written.
pub(super) struct Reading {
    path: PathBuf,
    directory: Directory,
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
        let directory = Directory::of(path);
        let reader = for_width!(hamdex_store::width(path)?, F => open::<F>(path, in_memory)?);
        let current = ArcSwap::from_pointee(reader.snapshot());
        let opened = Self {
            path: path.to_owned(),
            directory,
            in_memory,
            reader: Mutex::new(reader),
            current,
            watch: Watch::default(),
        };
        opened.look(false);
        Ok(opened)
    }
}

impl Source for Reading {
    /// Returns the extent as it was last.
    fn extent(&self) -> Result<Extent, Problem> {
        Ok(Extent::of(self.current.load().description()))
    }

    fn current(&self) -> Result<AnySet, Problem> {
        self.watch.check()?;
        // Another request that finds it changed meanwhile is answered from the store as it was.
        if let Ok(mut reader) = self.reader.try_lock()
            && let Some(changed) = reader.refreshed()?
        {
            self.current.store(Arc::new(changed));
            self.look(false);
        }
        let current = AnySet::clone(&self.current.load());
        current.check_files()?;
        Ok(current)
    }

    fn check(&self) -> Result<(), Problem> {
        self.watch.check()
    }

    fn look(&self, _is_due: bool) {
        if !self.in_memory
            && let Ok(files) = segments_of(&self.path)
        {
            self.watch.look(files);
        }
    }

    fn directory(&self) -> Option<&Directory> {
        Some(&self.directory)
    }

    fn has_other_file(&self) -> bool {
        self.watch.has_other_file()
    }

    fn may_open_now(&self, _is_due: bool) -> bool {
        false
    }

    fn verify(&self, options: &VerifyOptions) -> Result<Verified, Problem> {
        // Queries go on meanwhile.
        Ok(hamdex_any::open(&self.path)?.verify(options)?)
    }

    fn find(&self, _set: &AnySet, key: &Key) -> Result<Vec<String>, Problem> {
        let find = self.reader.lock().unwrap_or_else(PoisonError::into_inner).finder();
        find(key)
    }

    fn parts(&self) -> Result<Vec<Part>, Problem> {
        Ok(segments_of(&self.path)?.into_iter().map(Part::of).collect())
    }
}

/// Returns the paths of the segments of a store.
///
/// # Errors
/// When its manifest cannot be read.
fn segments_of(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let manifest = hamdex_store::inspect(path)?.manifest;
    Ok(manifest.segments.iter().map(|entry| segment(path, entry.number)).collect())
}
