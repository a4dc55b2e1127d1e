//! Creation of a store, and opening it for writing; and stores of either width, which is read when they are opened.

use std::io;
use std::path::Path;

use hamdex::{Design, Fingerprint};

use crate::disk::layout::{self, DELETES, LOGS, SEGMENTS};
use crate::disk::lock::StoreLock;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::inner::StoreInner;
use crate::log::{LogWriter, is_unused_log};
use crate::manifest::file::CurrentManifest;
use crate::manifest::identity::{Identity, StoreId};
use crate::manifest::{self, Manifest};
use crate::options::{CreateOptions, EXPECTED_FINGERPRINTS, StoreOptions};
use crate::recovery::Opened;
use crate::store::Store;
use crate::view::View;
use crate::write::writer::Writer;

/// The number of the log of a new store.
const FIRST_LOG: u64 = 1;

impl<F: Fingerprint> StoreInner<F> {
    /// Creates a store in a directory that does not exist yet or is empty.
    pub(crate) fn create(
        disk: Box<dyn Disk>,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        let design = design_of::<F>(create)?;
        let store = StoreId::random().map_err(Error::io("draw an id for it", disk.path("")))?;
        disk.create_directory("").map_err(|error| match error.kind() {
            // A file, or what else is no directory.
            io::ErrorKind::AlreadyExists => Error::Exists { path: disk.path("") },
            _ => Error::io("create it", disk.path(""))(error),
        })?;
        // Before the lock writes its text into a file that may be another's, and once more, since another process may
        // have created a store meanwhile.
        if !StoreLock::may_be_taken(&*disk)? {
            return Err(Error::Exists { path: disk.path("") });
        }
        check_empty(&*disk)?;
        let lock = StoreLock::take(&*disk)?;
        check_empty(&*disk)?;
        for directory in [SEGMENTS, DELETES, LOGS] {
            disk.create_directory(directory).map_err(Error::io("create it", disk.path(directory)))?;
        }
        let identity = Identity {
            store,
            width: F::BITS,
            has_ids: create.ids,
            has_names: create.names,
            has_shingles: create.shingles.is_some(),
        };
        let log = LogWriter::create(&*disk, identity, FIRST_LOG, 0)?;
        let manifest = Manifest {
            identity,
            distance: create.distance,
            design,
            codec: create.codec,
            filter: create.filter,
            recipe: create.recipe.clone(),
            shingles: create.shingles.clone(),
            lookups: create.lookups,
            generation: 0,
            sequence: 0,
            first_log: log.number(),
            sealed: None,
            next_segment: 1,
            next_id: 0,
            written: manifest::WrittenBytes::default(),
            segments: Vec::new(),
        };
        let mut current = CurrentManifest::new(&*disk, manifest.clone());
        current.replace(manifest)?;
        let mut view = View::new(create.distance);
        view.memtable = view.memtable.with_background_merges();
        let opened = Opened { current, writer: Writer::new(log, 0), view };
        Ok(Self::new(disk, lock, options, opened))
    }

    /// Opens a store for writing, and removes the leftovers of a crash.
    pub(crate) fn open(disk: Box<dyn Disk>, options: StoreOptions) -> Result<Self, Error> {
        // No lock file is created in a directory that is not a store.
        manifest::read(&*disk)?;
        let lock = StoreLock::take(&*disk)?;
        let opened = Opened::load(&*disk, options, lock.was_held())?;
        Ok(Self::new(disk, lock, options, opened))
    }
}

/// Returns the name of the design, chosen or checked.
fn design_of<F: Fingerprint>(create: &CreateOptions) -> Result<String, Error> {
    let design = match &create.design {
        Some(name) => Design::<F>::named(name, create.distance)?,
        None => {
            let block_bytes = create.codec.default_block_bytes() as u32;
            Design::<F>::auto(create.distance, EXPECTED_FINGERPRINTS, create.codec, block_bytes)?
        }
    };
    Ok(design.name().to_owned())
}

/// Rejects a directory that is not empty, except for files that an interrupted creation leaves.
fn check_empty(disk: &dyn Disk) -> Result<(), Error> {
    // Without a manifest and its copy, the next ones are not complete.
    let is_leftover = |name: &str| {
        Ok(matches!(name, layout::LOCK | layout::NEW_MANIFEST | layout::NEW_COPY)
            || name == layout::log(FIRST_LOG) && is_unused_log(disk, name)?)
    };
    match layout::is_occupied(disk, is_leftover)? {
        true => Err(Error::Exists { path: disk.path("") }),
        false => Ok(()),
    }
}

/// Returns the width of the fingerprints in a store, in bits: 64 or 128.
///
/// # Errors
/// When the directory is not a store, or its manifest cannot be read.
pub fn width(path: impl AsRef<Path>) -> Result<u32, Error> {
    Ok(manifest::read(&RealDisk::new(path))?.identity.width)
}

/// A store of either width, open for writing.
///
/// ```
/// use hamdex_store::{AnyStore, CreateOptions, StoreOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.store");
/// drop(AnyStore::create(&path, 128, &CreateOptions::new(), StoreOptions::new())?);
/// match AnyStore::open(&path, StoreOptions::new())? {
///     AnyStore::Bits64(store) => store.insert(7, 1)?,
///     AnyStore::Bits128(store) => store.insert(7, 1)?,
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyStore {
    /// Fingerprints of 64 bits.
    Bits64(Store<u64>),
    /// Fingerprints of 128 bits.
    Bits128(Store<u128>),
}

/// Runs the same code with an [`AnyStore`] of either width.
///
/// ```
/// use hamdex_store::{AnyStore, CreateOptions, StoreOptions, for_any_store};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.store");
/// let any = AnyStore::create(&path, 64, &CreateOptions::new(), StoreOptions::new())?;
/// assert_eq!(for_any_store!(&any, store => store.stats().recent), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! for_any_store {
    ($any:expr, $store:ident => $work:expr) => {
        match $any {
            $crate::AnyStore::Bits64($store) => $work,
            $crate::AnyStore::Bits128($store) => $work,
        }
    };
}

impl AnyStore {
    /// Creates a store for fingerprints of `width` bits: see [`Store::create`].
    ///
    /// # Errors
    /// As for [`Store::create`]; when the width is neither 64 nor 128.
    pub fn create(
        path: impl AsRef<Path>,
        width: u32,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        match width {
            64 => Store::create(path, create, options).map(Self::Bits64),
            128 => Store::create(path, create, options).map(Self::Bits128),
            width => Err(Error::NoWidth { width }),
        }
    }

    /// Opens a store for writing, or creates one for fingerprints of `width` bits: see [`Store::open_or_create`].
    ///
    /// # Errors
    /// As for [`Store::open_or_create`]; when the width is neither 64 nor 128, or not that of the store.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        width: u32,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        match width {
            64 => Store::open_or_create(path, create, options).map(Self::Bits64),
            128 => Store::open_or_create(path, create, options).map(Self::Bits128),
            width => Err(Error::NoWidth { width }),
        }
    }

    /// Opens a store for writing: see [`Store::open`].
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        match width(path)? {
            64 => Store::open(path, options).map(Self::Bits64),
            128 => Store::open(path, options).map(Self::Bits128),
            width => Err(Error::NoWidth { width }),
        }
    }
}
