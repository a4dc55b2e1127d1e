//! Opens whatever a path names: an index file, a store or a set of shards, of fingerprints of any width.
//!
//! - [`open`] inspects a path and returns an [`AnySet`], which can be queried whatever its kind.
//! - [`AnySet::typed`] gives the set at its width, for work on whole arrays of fingerprints; [`for_width`] compiles
//!   such work once per width.
//!
//! A width is matched in `set.rs` and in [`for_width`], a kind of container in `set.rs` and here.
//!
//! ```
//! use hamdex::{BuildOptions, Builder};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("news.hamdex");
//! let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
//! builder.push_with_id(0x00ff, 17)?;
//! builder.finish()?;
//!
//! let set = hamdex_any::open(&path)?;
//! assert_eq!((set.description().width, set.description().fingerprints), (64, 1));
//! let mut searcher = set.searcher();
//! assert_eq!(searcher.nearest_within(0x01ff_u64.into(), 10, 3)?[0].distance, 1);
//! assert_eq!(searcher.ids(10)?.remove(0).map(|stored| stored.id).collect::<Vec<_>>(), [17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod set;

use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, FingerprintSet, OpenOptions, SetError};
use hamdex_shards::Shards;
use hamdex_store::{ReadOptions, StoreReader};

pub use set::{AnyFingerprint, AnyMatch, AnySearcher, AnySet, Kind};

/// Compiles an expression for each width, and evaluates the one for `$bits`: 128, or otherwise 64.
///
/// ```
/// let bytes = |bits: u32| hamdex_any::for_width!(bits, F => size_of::<F>());
/// assert_eq!((bytes(64), bytes(128)), (8, 16));
/// ```
#[macro_export]
macro_rules! for_width {
    ($bits:expr, $fingerprint:ident => $work:expr) => {
        match $bits {
            64 => {
                type $fingerprint = u64;
                $work
            }
            128 => {
                type $fingerprint = u128;
                $work
            }
            other => unreachable!("no fingerprints have {other} bits"),
        }
    };
}

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
