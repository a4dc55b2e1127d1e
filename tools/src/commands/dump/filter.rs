//! The filter of a table, measured.

use hamdex::inspect::{FilterStats, Stats};
use hamdex::{Fingerprint, Index, ReadError};

/// Prefixes of which the share that passes is measured.
const SAMPLES: u32 = 20_000;

/// A filter, with measurements.
pub(super) struct MeasuredFilter {
    pub(super) stats: FilterStats,
    pub(super) bits_per_fingerprint: f64,
    /// An error if the filter, or a block that the measurement reads, is damaged.
    pub(super) measured: Result<Measured, ReadError>,
}

/// The measurements of a filter.
pub(super) struct Measured {
    /// The share of set bits.
    pub(super) load: f64,
    /// The share of absent prefixes that pass; `None` if no sampled prefix is absent.
    pub(super) false_positives: Option<f64>,
}

impl MeasuredFilter {
    /// Measures the filter of a table; `None` if it has none.
    pub(super) fn of<F: Fingerprint>(index: &Index<F>, stats: &Stats<F>, table: usize) -> Option<Self> {
        let filter = stats.tables[table].filter?;
        let bits_per_fingerprint = filter.bytes as f64 * 8.0 / stats.fingerprints.max(1) as f64;
        Some(Self { stats: filter, bits_per_fingerprint, measured: Measured::of(index, table) })
    }
}

impl Measured {
    fn of<F: Fingerprint>(index: &Index<F>, table: usize) -> Result<Self, ReadError> {
        let load = index.filter_load(table)?.unwrap_or(0.0);
        Ok(Self { load, false_positives: index.filter_false_positives(table, SAMPLES)? })
    }
}
