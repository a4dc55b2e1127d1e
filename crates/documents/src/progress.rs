//! Progress of a search for near-duplicates.

use std::sync::Arc;

/// Progress of a search for near-duplicates. The documents report how much is read
/// ([`Documents::on_read`](crate::Documents::on_read)).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress {
    /// The temporary index is being built.
    Index(hamdex::Progress),
    /// Fingerprints are being compared.
    Compare {
        /// Distinct fingerprints compared so far.
        done: u64,
        /// The total number of distinct fingerprints.
        total: u64,
    },
}

/// Receives progress.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;
