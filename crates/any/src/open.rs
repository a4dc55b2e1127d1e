//! From a path to a set.

use std::path::Path;
use std::sync::Arc;

use crate::for_width;
use crate::set::{AnySet, Kind};
use hamdex::{Fingerprint, FingerprintSet, OpenOptions, SetError};
use hamdex_shards::Shards;
use hamdex_store::{ReadOptions, StoreReader};

fn width_of(kind: Kind, path: &Path) -> Result<u32, SetError> {
    Ok(match kind {
        Kind::File => hamdex::width(path)?,
        Kind::Store => hamdex_store::width(path)?,
        Kind::Shards => hamdex_shards::width(path)?,
    })
}

fn open_typed<F: Fingerprint>(
    kind: Kind,
    path: &Path,
    options: &OpenOptions,
) -> Result<Arc<dyn FingerprintSet<F>>, SetError> {
    Ok(match kind {
        Kind::File => Arc::new(options.open::<F>(path)?),
        Kind::Shards => Arc::new(Shards::<F>::open(path, options)?),
        Kind::Store => {
            let options = ReadOptions::new().in_memory(options.is_in_memory());
            Arc::new(StoreReader::<F>::open_with(path, options)?.into_snapshot())
        }
    })
}

/// The width of the fingerprints that a path names, in bits.
///
/// # Errors
/// As for [`open`].
pub fn width(path: impl AsRef<Path>) -> Result<u32, SetError> {
    let path = path.as_ref();
    width_of(Kind::of(path)?, path)
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
    for_width!(width_of(kind, path)?, F => Ok(AnySet::new::<F>(kind, open_typed(kind, path, options)?)))
}

/// Opens an index file. A directory is refused.
///
/// # Errors
/// As for [`open`].
pub fn open_file(path: impl AsRef<Path>, options: &OpenOptions) -> Result<AnySet, SetError> {
    let path = path.as_ref();
    let width = width_of(Kind::File, path)?;
    for_width!(width, F => Ok(AnySet::new::<F>(Kind::File, open_typed(Kind::File, path, options)?)))
}
