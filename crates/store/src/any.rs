//! Stores of either width, which is read when they are opened.

use std::path::Path;

use crate::disk::RealDisk;
use crate::error::Error;
use crate::manifest;
use crate::options::{CreateOptions, StoreOptions};
use crate::store::Store;

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
