//! A compressed on-disk index that finds every stored fingerprint within k bits of a query.

mod arch;
mod codec;
mod design;
mod fingerprint;
mod permutation;

pub use codec::block::BlockError;
pub use codec::reference;
pub use design::{AUTO, Cost, Design, DesignError, MAX_TABLES, Plan, Probe, TableDesign};
pub use fingerprint::{Fingerprint, Hex, ParseFingerprintError};
pub use permutation::Permutation;
