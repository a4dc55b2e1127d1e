//! Which way to answer is fastest: an explicit model, of nanoseconds on one thread.
//!
//! | what | costs |
//! |---|---|
//! | alone | for each block and query: [`LOCATE_NS`] and `probe_ns` |
//! | probe | for each block and query: [`LOCATE_NS`], [`ARRANGE_NS`], and `probe_ns`; where `dense_from` queries or more meet in a block, instead of the last, [`SEARCH_NS`] for each query and `decode_ns` for each entry of the block once |
//! | scan | `decode_ns` for each fingerprint once, and what [`scan::design`] says; [`FILL_NS`] for each query and table |
//!
//! How many blocks a query is led to, and how often queries meet in a block, is estimated from a sample of the
//! queries ([`sample`]); how many queries a stored fingerprint meets in a scan, from a sample of both. The constants
//! are rounded from profiles of batches against ten million uniform fingerprints on one machine; only their ratios
//! matter, and those within a factor of two or so. `cargo bench --bench batch` shows all ways; what decoding takes,
//! BENCHMARKS.md has.
//!
//! [`scan::design`]: crate::index::batch::scan::design
//! [`sample`]: crate::index::batch::sample

use crate::codec::BlockCodec;
use crate::index::batch::options::Strategy;
use crate::index::batch::question::Question;
use crate::index::batch::sample::Sample;
use crate::index::batch::scan::design::{self, Crowding, TableChoice};
use crate::index::batch::scan::{Scan, max_queries};
use hamdex_fingerprint::Fingerprint;

/// To locate a block for a query.
pub(super) const LOCATE_NS: f64 = 15.0;

/// To bring a query and its block in the order of blocks.
pub(super) const ARRANGE_NS: f64 = 25.0;

/// To search a decoded block for a query.
pub(super) const SEARCH_NS: f64 = 60.0;

/// To add a query to a table in memory.
const FILL_NS: f64 = 40.0;

/// How much dearer than estimated the meetings of a scan may become before it is left; beside that, the share of
/// the other way's cost that may be lost.
const TOLERANCE: f64 = 2.0;
const LOST_SHARE: f64 = 0.25;

/// What depends on how blocks are coded.
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

/// The way to take.
pub(super) enum Choice<F> {
    /// One query after the other.
    Alone,
    /// In the order of the blocks.
    Probe,
    Scan(Scan<F>),
}

pub(super) fn choose<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    question: &Question<'_, F, D>,
    sample: &Sample,
) -> Choice<F> {
    let Question { plan, queries, options, index, .. } = question;
    let tables = |most_ns| design::choose(plan.distance(), queries.len(), &Crowding::of(question), most_ns);
    match options.strategy {
        Strategy::Probe => Choice::Probe,
        Strategy::Scan => {
            Choice::Scan(Scan { tables: tables(f64::MAX).tables, most_meeting_ns: options.most_meeting_ns })
        }
        Strategy::Auto => {
            let (alone_ns, probe_ns) = (sample.alone_ns(), sample.probe_ns());
            let least_ns = alone_ns.min(probe_ns);
            // Whatever the tables, every fingerprint would be decoded: often that alone decides.
            let costs = CodecCosts::of(&index.tables[0].codec);
            if least_ns > index.len() as f64 * costs.decode_ns {
                let tables = tables(least_ns / index.len() as f64 - costs.decode_ns);
                let (scan_ns, meeting_ns) = scan_ns(question, &tables);
                if scan_ns < least_ns {
                    let most = TOLERANCE * meeting_ns + LOST_SHARE * least_ns;
                    return Choice::Scan(Scan { tables: tables.tables, most_meeting_ns: Some(most as u64) });
                }
            }
            if alone_ns <= probe_ns { Choice::Alone } else { Choice::Probe }
        }
    }
}

/// What a scan takes, and how much of that are meetings of fingerprints with queries, which only a sample can
/// estimate.
fn scan_ns<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    question: &Question<'_, F, D>,
    choice: &TableChoice<F>,
) -> (f64, f64) {
    let Question { index, queries, options, .. } = question;
    let tables = choice.tables.len();
    let at_once = max_queries::<F>(options.work_bytes(), tables).min(queries.len());
    let passes = queries.len().div_ceil(at_once) as f64;
    let costs = CodecCosts::of(&index.tables[0].codec);
    let streamed_ns = passes * index.len() as f64 * (costs.decode_ns + choice.cost.lookup_ns);
    // Those of all passes together: each holds a part of the queries.
    let meeting_ns = index.len() as f64 * choice.cost.meeting_ns;
    (streamed_ns + meeting_ns + (queries.len() * tables) as f64 * FILL_NS, meeting_ns)
}
