//! Cost of each way to answer: an explicit model, in nanoseconds of one thread.
//!
//! | what | costs |
//! |---|---|
//! | alone | for each query, its lines of filters; for each block and query: [`LOCATE_NS`] and `probe_ns`; [`WAIT_NS`] for each block read for the first time, if most are |
//! | probe | for each query, the lines of filters that its neighbours do not read ([`shared_lines`]); for each block and query: [`LOCATE_NS`], [`ARRANGE_NS`], and `probe_ns`; if `dense_from` queries or more meet in a block, instead of the last, [`SEARCH_NS`] for each query and `decode_ns` for each entry of the block once |
//! | scan | `decode_ns` for each fingerprint once, and the cost by [`scan::design`]; [`FILL_NS`] for each query and table |
//!
//! The number of blocks per query, and how often queries meet in a block, are estimated from a sample of the
//! queries ([`sample`]); the number of queries that a stored fingerprint meets in a scan, from a sample of
//! both. The constants are rounded from batches of a hundred to a million queries against 2^17 to 2^26 uniform
//! fingerprints on one machine; only their ratios matter, within a factor of two or so. `cargo bench
//! --bench strategies` shows all ways and the choice; benches/results/engine.md has the time of decoding.
//!
//! [`scan::design`]: crate::batch::scan::design
//! [`sample`]: crate::batch::sample

use crate::codec::BlockCodec;
use crate::filter;
use crate::filter::Geometry;

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

/// Lines of a filter, as a power of two, that stay in the cache of a core.
const CACHED_LINES_LOG2: u32 = 15;

/// Returns the share of the lines of a filter for which queries in the order of a table need not wait, since others
/// shortly before them have read the same.
///
/// Neighbouring queries differ from a query, and from its flips of low bits, in low bits only: all these lines lie near
/// each other. Of a filter that stays in cache no line is waited for anyway.
pub(super) fn shared_lines(queries: usize, filter: &Geometry, errors: u32) -> f64 {
    let lines = filter.lines as f64;
    let uncached = 1.0 - f64::from(CACHED_LINES_LOG2).exp2() / lines;
    if uncached <= 0.0 {
        return 0.0;
    }
    let near = filter::count(CACHED_LINES_LOG2, errors);
    let near_share = near / filter::count(filter.lines.ilog2(), errors);
    // Readers of each line, which the first of them waits for.
    let readers = queries.max(1) as f64 * near / lines;
    let is_first = -(-readers).exp_m1() / readers;
    near_share * uncached * (1.0 - is_first)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_queries_the_more_lines_they_share() {
        let shares = |count: u128| {
            let filter = Geometry::within(10 * count, 32);
            [1_000, 100_000, 10_000_000].map(|queries| shared_lines(queries, &filter, 1))
        };
        assert_eq!(shares(100_000), [0.0; 3], "a filter in cache");
        let [few, more, most] = shares(100_000_000);
        assert!(
            few < 0.01 && (0.1..0.5).contains(&more) && (0.6..0.8).contains(&most),
            "{few} {more} {most}"
        );
    }
}
