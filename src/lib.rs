//! A compressed on-disk index that finds every stored fingerprint within k bits of a query.

mod fingerprint;

pub use fingerprint::{Fingerprint, Hex, ParseFingerprintError};
