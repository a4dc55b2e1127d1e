//! Sets of either width, which is known when they are opened.

use std::path::Path;

use hamdex::OpenOptions;

use crate::error::Error;
use crate::manifest::{self, Manifest};
use crate::set::Shards;

/// Returns the width of the fingerprints in a set, in bits: 64 or 128.
///
/// # Errors
/// When the directory is no set of shards, or its manifest cannot be read.
pub fn width(directory: impl AsRef<Path>) -> Result<u32, Error> {
    Ok(manifest::read(directory)?.width)
}

/// A set of shards of either width.
///
/// ```
/// use hamdex::{BuildOptions, OpenOptions};
/// use hamdex_shards::{AnyShards, Layout, ShardsBuilder};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.shards");
/// ShardsBuilder::<u128>::create(&path, Layout::Hash, 2, BuildOptions::new())?.finish()?;
/// match AnyShards::open(&path, &OpenOptions::new())? {
///     AnyShards::Bits64(_) => unreachable!("it was built with 128"),
///     AnyShards::Bits128(set) => assert!(set.is_empty()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum AnyShards {
    /// Fingerprints of 64 bits.
    Bits64(Shards<u64>),
    /// Fingerprints of 128 bits.
    Bits128(Shards<u128>),
}

impl AnyShards {
    /// Opens a set: see [`Shards::open`].
    ///
    /// # Errors
    /// As for [`Shards::open`].
    pub fn open(directory: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, Error> {
        let directory = directory.as_ref();
        match width(directory)? {
            128 => Shards::open(directory, options).map(Self::Bits128),
            _ => Shards::open(directory, options).map(Self::Bits64),
        }
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        match self {
            Self::Bits64(set) => set.manifest(),
            Self::Bits128(set) => set.manifest(),
        }
    }
}
