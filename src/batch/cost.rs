//! Cost of each way to answer: an explicit model, in nanoseconds of one thread.
//!
//! | what | costs |
//! |---|---|
//! | alone | for each block and query: [`LOCATE_NS`] and `probe_ns`; [`WAIT_NS`] for each block read for the first time, if most are |
//! | probe | for each block and query: [`LOCATE_NS`], [`ARRANGE_NS`], and `probe_ns`; if `dense_from` queries or more meet in a block, instead of the last, [`SEARCH_NS`] for each query and `decode_ns` for each entry of the block once |
//! | scan | `decode_ns` for each fingerprint once, and the cost by [`scan::design`]; [`FILL_NS`] for each query and table |
//!
//! The number of blocks per query, and how often queries meet in a block, are estimated from a sample of the
//! queries ([`sample`]); the number of queries that a stored fingerprint meets in a scan, from a sample of
//! both. The constants are rounded from batches of a hundred to a million queries against 2^17 to 2^26 uniform
//! fingerprints on one machine; only their ratios matter, within a factor of two or so. `cargo bench
//! --bench strategies` shows all ways and the choice; BENCHMARKS.md has the time of decoding.
//!
//! [`scan::design`]: crate::batch::scan::design
//! [`sample`]: crate::batch::sample

use crate::codec::BlockCodec;

/// To locate a block for a query.
pub(super) const LOCATE_NS: f64 = 15.0;

/// To bring a query and its block in the order of blocks.
pub(super) const ARRANGE_NS: f64 = 25.0;

/// To wait for a block that storage has, rather than read it with the one before: random reads of 1 KiB, of a
/// solid-state disk, by two threads with some tens each at once.
pub(super) const WAIT_NS: f64 = 8000.0;

/// To search a decoded block for a query.
pub(super) const SEARCH_NS: f64 = 40.0;

/// To add a query to a table in memory.
pub(super) const FILL_NS: f64 = 70.0;

/// Costs that depend on the codec.
pub(super) struct CodecCosts {
    /// To decode an entry, as part of its block.
    pub(super) decode_ns: f64,
    /// To scan a block for one query.
    pub(super) probe_ns: f64,
    /// From how many queries on it pays to decode a block: the larger it is, the more.
    pub(super) dense_from: usize,
}

impl CodecCosts {
    pub(super) fn of(codec: &BlockCodec) -> Self {
        let bytes = codec.layout().block_bytes;
        match codec {
            BlockCodec::Huffman(_) => Self { decode_ns: 1.8, probe_ns: 300.0, dense_from: bytes / 256 },
            BlockCodec::EliasFano(_) => Self { decode_ns: 0.55, probe_ns: 120.0, dense_from: bytes / 128 },
        }
    }
}
