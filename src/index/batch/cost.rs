//! Which strategy is faster: an explicit model, of nanoseconds on one thread.
//!
//! | what | costs |
//! |---|---|
//! | probe | for each block and query: to locate and arrange it [`ARRANGE_NS`]; where more than `dense_from` queries meet in a block on average, [`SEARCH_NS`] for each and `decode_ns` for each entry once, elsewhere `probe_ns` for each |
//! | scan | `decode_ns` for each fingerprint once, and what [`cost_ns`] says; [`FILL_NS`] for each query and table |
//!
//! How many blocks a query has to look into is estimated from a sample of the queries. The constants are rounded
//! from profiles of batches against ten million uniform fingerprints on one machine; only their ratios
//! matter, and those within a factor of two or so. `cargo bench --bench batch` shows both strategies; what
//! decoding takes, BENCHMARKS.md has.
//!
//! [`cost_ns`]: crate::index::batch::scan::design::cost_ns

use crate::codec::{BlockCodec, Target};
use crate::design::TableDesign;
use crate::index::batch::options::Strategy;
use crate::index::batch::question::Question;
use crate::index::batch::scan::{design, max_queries};
use crate::table::locate::target_of;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// To locate a block for a query, and bring it in order.
const ARRANGE_NS: f64 = 30.0;

/// To search a decoded block for a query.
const SEARCH_NS: f64 = 60.0;

/// To add a query to a table in memory.
const FILL_NS: f64 = 40.0;

/// Queries that are located to estimate how many blocks a query looks into.
const SAMPLE: usize = 64;

/// What depends on how blocks are coded.
pub(super) struct CodecCosts {
    /// To decode an entry, as part of its block.
    decode_ns: f64,
    /// To scan a block for one query.
    probe_ns: f64,
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

/// The strategy to take.
pub(super) enum Choice<F> {
    Probe,
    /// With these tables of the queries.
    Scan(Vec<TableDesign<F>>),
}

pub(super) fn choose<F: Fingerprint, D: AsRef<[u8]> + Sync>(question: &Question<'_, F, D>) -> Choice<F> {
    let Question { plan, queries, options, .. } = question;
    let tables = || design::choose(plan.distance(), queries.len());
    match options.strategy {
        Strategy::Probe => Choice::Probe,
        Strategy::Scan => Choice::Scan(tables()),
        Strategy::Auto => {
            // Whatever the tables, every fingerprint would be decoded: often that alone decides.
            let probe = probe_ns(question);
            let costs = CodecCosts::of(&question.index.tables[0].codec);
            if probe < question.index.len() as f64 * costs.decode_ns {
                return Choice::Probe;
            }
            let tables = tables();
            if probe < scan_ns(question, &tables) { Choice::Probe } else { Choice::Scan(tables) }
        }
    }
}

fn probe_ns<F: Fingerprint, D: AsRef<[u8]> + Sync>(question: &Question<'_, F, D>) -> f64 {
    let Question { index, plan, queries, options, .. } = question;
    let mut sum = 0.0;
    for probe in plan.probes() {
        let table = &index.tables[probe.table];
        let blocks = table.keys.len().max(1) as f64;
        let looked_into = queries.len() as f64
            * blocks_of_sample(table, queries, |query| target_of(&probe.reach, plan.distance(), query));
        let costs = CodecCosts::of(&table.codec);
        let dense_from = options.dense_from.unwrap_or(costs.dense_from);
        sum += looked_into * ARRANGE_NS;
        sum += if looked_into / blocks >= dense_from as f64 {
            looked_into * SEARCH_NS + index.len() as f64 * costs.decode_ns
        } else {
            looked_into * costs.probe_ns
        };
    }
    sum
}

fn scan_ns<F: Fingerprint, D>(question: &Question<'_, F, D>, tables: &[TableDesign<F>]) -> f64
where
    D: AsRef<[u8]> + Sync,
{
    let Question { index, queries, options, .. } = question;
    let at_once = max_queries::<F>(options.work_bytes(), tables.len()).min(queries.len());
    let passes = queries.len().div_ceil(at_once) as f64;
    let look_up = CodecCosts::of(&index.tables[0].codec).decode_ns + design::cost_ns(tables, at_once);
    passes * index.len() as f64 * look_up + (queries.len() * tables.len()) as f64 * FILL_NS
}

/// How many blocks of a table a query looks into, on average over a sample of the queries.
pub(super) fn blocks_of_sample<F: Fingerprint>(
    table: &Table<F>,
    queries: &[F],
    target: impl Fn(F) -> Target<F>,
) -> f64 {
    let step = queries.len().div_ceil(SAMPLE).max(1);
    let mut blocks = Vec::new();
    let mut located = 0;
    let mut sampled = 0;
    for &query in queries.iter().step_by(step) {
        blocks.clear();
        table.locate(&target(table.permutation.apply(query)), &mut blocks);
        located += blocks.len();
        sampled += 1;
    }
    located as f64 / f64::from(sampled.max(1))
}
