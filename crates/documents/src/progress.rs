//! How far a search for near-duplicates has come.

use std::sync::Arc;

/// How far a search for near-duplicates has come. Reading is reported by the documents
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
        /// Distinct fingerprints in all.
        total: u64,
    },
}

/// Receives progress.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;
