//! A compressed on-disk index that finds every stored fingerprint within k bits of a query.

mod arch;
mod build;
mod checked;
mod codec;
mod design;
mod digest;
mod error;
mod fingerprint;
mod format;
mod ids;
mod index;
mod mapping;
mod metadata;
mod permutation;
mod progress;
mod table;

pub use build::{BuildOptions, Builder, DesignChoice, Summary};
pub use codec::block::BlockError;
pub use codec::reference;
pub use design::{AUTO, Cost, Design, DesignError, MAX_TABLES, Plan, Probe, TableDesign};
pub use error::{BuildError, Place, ReadError};
pub use fingerprint::{Fingerprint, Hex, ParseFingerprintError};
pub use ids::Ids;
pub use index::{
    Checksums, Fingerprints, IdStats, Index, Match, OpenOptions, RawBlock, Searcher, Stats, TableStats,
    Verified, width,
};
pub use mapping::Mapping;
pub use permutation::Permutation;
pub use progress::{Phase, Progress};

/// The block codec itself, for the project's own benches. Nothing here is promised to stay.
#[doc(hidden)]
pub mod internals {
    pub use crate::codec::{BlockCodec, Differences, Layout, Target, count_differences};
}
