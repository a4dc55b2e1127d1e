//! A compressed on-disk index that finds every stored fingerprint within k bits of a query.

mod arch;
mod checked;
mod codec;
mod design;
mod error;
mod fingerprint;
mod format;
mod permutation;

pub use codec::block::BlockError;
pub use codec::reference;
pub use design::{AUTO, Cost, Design, DesignError, MAX_TABLES, Plan, Probe, TableDesign};
pub use error::{BuildError, Place, ReadError};
pub use fingerprint::{Fingerprint, Hex, ParseFingerprintError};
pub use permutation::Permutation;
