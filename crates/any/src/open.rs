//! From a path to a set.

use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, FingerprintSet, OpenOptions, SetError};
use hamdex_shards::Shards;
use hamdex_store::{ReadOptions, StoreReader};

use crate::for_width;
use crate::set::AnySet;
use crate::store::OpenStore;

/// The kind of container that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An index file.
    File,
    /// The directory of a store.
    Store,
    /// The directory of a set of shards.
    Shards,
}

impl Kind {
    /// Looks at what a path names: the beginning of its manifest tells a set of shards from a store. A path that cannot be
    /// looked at counts as a file, and opening it fails.
    ///
    /// # Errors
    /// When the system refuses to read a manifest.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, SetError> {
        let path = path.as_ref();
        if !path.is_dir() {
            return Ok(Self::File);
        }
        Ok(if hamdex_shards::is_set(path)? { Self::Shards } else { Self::Store })
    }

    fn width(self, path: &Path) -> Result<u32, SetError> {
        Ok(match self {
            Self::File => hamdex::width(path)?,
            Self::Store => hamdex_store::width(path)?,
            Self::Shards => hamdex_shards::width(path)?,
        })
    }

    fn open<F: Fingerprint>(
        self,
        path: &Path,
        options: &OpenOptions,
    ) -> Result<Arc<dyn FingerprintSet<F>>, SetError> {
        Ok(match self {
            Self::File => Arc::new(options.open::<F>(path)?),
            Self::Shards => Arc::new(Shards::<F>::open(path, options)?),
            Self::Store => {
                let options = ReadOptions::new().in_memory(options.is_in_memory());
                Arc::new(OpenStore::of(StoreReader::<F>::open_with(path, options)?))
            }
        })
    }
}

/// The width of the fingerprints that a path names, in bits.
///
/// # Errors
/// As for [`open`].
pub fn width(path: impl AsRef<Path>) -> Result<u32, SetError> {
    let path = path.as_ref();
    Kind::of(path)?.width(path)
}

/// Opens an index file, a store as it is now, or a set of shards, by mapping their files.
///
/// # Errors
/// When there is none of these, it is damaged, or the system refuses something.
pub fn open(path: impl AsRef<Path>) -> Result<AnySet, SetError> {
    open_with(path, &OpenOptions::new())
}

/// As [`open`], with options. Of those, a store knows [`OpenOptions::in_memory`] only.
///
/// # Errors
/// As for [`open`].
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<AnySet, SetError> {
    let path = path.as_ref();
    let kind = Kind::of(path)?;
    for_width!(kind.width(path)?, F => Ok(AnySet::new::<F>(kind, kind.open(path, options)?)))
}
