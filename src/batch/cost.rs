//! The fastest way to answer, by the candidate blocks of a sample of the queries, and an explicit model of the cost of
//! each way, in nanoseconds of one thread.
//!
//! | what | costs |
//! |---|---|
//! | alone | for each query, its lines of filters; for each block and query: [`LOCATE_NS`] and `probe_ns`; [`WAIT_NS`] for each block read for the first time, if most are |
//! | probe | for each query, the lines of filters that its neighbours do not read ([`shared_lines`]); for each block and query: [`LOCATE_NS`], [`ARRANGE_NS`], and `probe_ns`; if `dense_from` queries or more meet in a block, instead of the last, [`SEARCH_NS`] for each query and `decode_ns` for each entry of the block once |
//! | scan | `decode_ns` for each fingerprint once, and the cost by [`scan::design`]; [`FILL_NS`] for each query and table |
//!
//! The number of blocks per query, and how often queries meet in a block, are estimated from a sample of the
//! queries ([`Sample`]); the number of queries that a stored fingerprint meets in a scan, from a sample of
//! both. The constants are rounded from batches of a hundred to a million queries against 2^17 to 2^26 uniform
//! fingerprints on one machine; only their ratios matter, within a factor of two or so. `cargo bench
//! --bench strategies` shows all ways and the choice; benches/results/engine.md has the time of decoding.
//!
//! [`scan::design`]: crate::batch::scan::design

use crate::batch::scan::design::{self, Crowding, TableChoice, spread};
use crate::batch::scan::sieve::sift_ns;
use crate::batch::scan::{Scan, max_queries};
use crate::batch::{BatchContext, Strategy};
use crate::codec::BlockCodec;
use crate::design::AskingCost;
use crate::error::ReadError;
use crate::filter_bits;
use crate::filter_bits::Geometry;
use crate::progress::Stopped;
use crate::table::filter::Filter;
use crate::table::locate::target_of;
use hamdex_fingerprint::Fingerprint;

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
    let near = filter_bits::ways(CACHED_LINES_LOG2, errors);
    let near_share = near / filter_bits::ways(filter.lines.ilog2(), errors);
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

/// One query in this many is located, so that a small batch does not pay for a large sample.
const QUERIES_PER_LOCATED: usize = 16;

/// The most queries that are located.
const MAX_LOCATED: usize = 256;

/// Blocks in a table after which no further query of the sample is located there.
const MAX_BLOCKS: usize = 1 << 18;

/// Nanoseconds that the sample may ask the filter of a table, by the cost model: a query whose prefix may have several
/// errors probes thousands of prefixes.
const MAX_ASKING_NS: f64 = 2e6;

/// Queries of the sample that ask a filter, however long that takes.
const LEAST_ASKING: f64 = 8.0;

/// One query in this many is answered, to learn how many matches there are.
const QUERIES_PER_ANSWERED: usize = 512;

/// Queries from which on one is answered if only some matches of each are wanted: where matches crowd, that saves most of
/// the work.
const FEWEST_LIMITED: usize = 32;

/// The most queries that are answered.
const MAX_ANSWERED: usize = 16;

/// The candidate blocks of a sample of the queries, for each probe of the plan.
pub(super) struct Sample {
    pub(super) loads: Vec<Load>,
}

/// The work of all queries in the table of one probe, on one thread.
pub(super) struct Load {
    /// Average number of candidate blocks per query.
    pub(super) blocks_per_query: f64,
    /// Nanoseconds to answer the queries one by one.
    alone_ns: f64,
    /// Nanoseconds to answer them in the order of the blocks.
    probe_ns: f64,
}

impl Sample {
    /// # Errors
    /// When the batch is cancelled, or a filter is damaged.
    pub(super) fn of<F: Fingerprint>(context: &BatchContext<'_, F>) -> Result<Self, ReadError> {
        let mut blocks = Vec::new();
        let loads = (0..context.plan.probes().len()).map(|number| {
            context.done.check()?;
            load(context, number, &mut blocks)
        });
        Ok(Self { loads: loads.collect::<Result<_, _>>()? })
    }

    /// Nanoseconds to answer the queries one by one.
    pub(super) fn alone_ns(&self) -> f64 {
        self.loads.iter().map(|load| load.alone_ns).sum()
    }

    /// Nanoseconds to answer them in the order of the blocks.
    pub(super) fn probe_ns(&self) -> f64 {
        self.loads.iter().map(|load| load.probe_ns).sum()
    }
}

fn load<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    number: usize,
    blocks: &mut Vec<u32>,
) -> Result<Load, ReadError> {
    let BatchContext { index, plan, queries, options, .. } = context;
    let probe = &plan.probes()[number];
    let (table, file) = (&index.tables[probe.table], index.data.as_ref());
    let filter = table.filter.as_ref().map(Filter::geometry);
    let asking = filter.and_then(|geometry| Some((geometry, plan.asking_cost(number, filter)?)));
    let most_asking = asking.map_or(f64::MAX, |(_, AskingCost { lines_ns, patterns_ns })| {
        (MAX_ASKING_NS / (lines_ns + patterns_ns)).max(LEAST_ASKING)
    });
    let sampled = (queries.len() / QUERIES_PER_LOCATED).min(MAX_LOCATED).min(most_asking as usize);
    blocks.clear();
    let mut located = 0;
    for query in spread(queries, sampled) {
        let target = target_of(&probe.reach, plan.distance(), table.permutation.apply(query));
        table.for_each_target(file, &target, plan.asks_filter(number), |target| {
            table.locate(file, &target, blocks);
        })?;
        located += 1;
        if blocks.len() > MAX_BLOCKS {
            break;
        }
    }
    let costs = CodecCosts::of(&table.codec);
    let crowd = Crowd {
        located,
        queries: queries.len() as f64,
        blocks: table.keys.len().max(1) as f64,
        entries_per_block: table.entries_per_block as f64,
        dense_from: options.tuning.dense_from.unwrap_or(costs.dense_from) as f64,
        unread_share: index.read_ahead.unread_share(table),
    };
    blocks.sort_unstable();
    let mut load = crowd.load(&costs, blocks);
    if let Some((geometry, AskingCost { lines_ns, patterns_ns })) = asking {
        let unshared = 1.0 - shared_lines(queries.len(), geometry, plan.prefix_errors(number));
        load.alone_ns += (lines_ns + patterns_ns) * queries.len() as f64;
        load.probe_ns += (lines_ns * unshared + patterns_ns) * queries.len() as f64;
    }
    Ok(load)
}

/// Number of queries, and number of blocks in which they may meet.
struct Crowd {
    /// Queries of the sample.
    located: usize,
    queries: f64,
    blocks: f64,
    entries_per_block: f64,
    /// From how many queries on a block is decoded.
    dense_from: f64,
    /// The share of the blocks that storage may have to be waited for.
    unread_share: f64,
}

impl Crowd {
    /// Estimates the load from the candidate blocks of the sample, ascending, with repeats.
    fn load(&self, costs: &CodecCosts, blocks: &[u32]) -> Load {
        let all_by_one = self.queries / self.located.max(1) as f64;
        let looked_into = blocks.len() as f64 * all_by_one;
        let mut arranged_ns = 0.0;
        for meeting in blocks.chunk_by(|a, b| a == b) {
            // A block that only one query of the sample meets may be met by many of all.
            let others = (meeting.len() - 1) as f64 * all_by_one;
            let in_block = 1.0 + others.max(looked_into / self.blocks);
            let each_ns = if in_block >= self.dense_from {
                SEARCH_NS + costs.decode_ns * self.entries_per_block / in_block
            } else {
                costs.probe_ns
            };
            arranged_ns += meeting.len() as f64 * (ARRANGE_NS + each_ns);
        }
        Load {
            blocks_per_query: blocks.len() as f64 / self.located.max(1) as f64,
            alone_ns: looked_into * (LOCATE_NS + costs.probe_ns) + self.wait_ns(looked_into),
            probe_ns: looked_into * LOCATE_NS + arranged_ns * all_by_one,
        }
    }

    /// Returns the extra time to read blocks one by one instead of in order. It is small if few blocks are
    /// read: neighbours are rare among them then, so each is waited for either way.
    fn wait_ns(&self, looked_into: f64) -> f64 {
        let read_share = 1.0 - (-looked_into / self.blocks).exp();
        read_share * read_share * self.unread_share * self.blocks * WAIT_NS
    }
}

/// Returns the average number of matches of a query, over a few of them; 0 if there are too few queries for a
/// sample.
pub(super) fn matches_per_query<F: Fingerprint>(context: &BatchContext<'_, F>) -> Result<f64, Stopped> {
    let answered = (context.queries.len() / QUERIES_PER_ANSWERED).min(MAX_ANSWERED);
    let is_limited = context.options.match_limit() < usize::MAX && context.queries.len() >= FEWEST_LIMITED;
    let answered = answered.max(usize::from(is_limited));
    if answered == 0 {
        return Ok(0.0);
    }
    let check_cancelled = |_, _| context.done.check();
    let mut searcher = context.index.searcher();
    let mut matches = 0;
    let mut tried = 0;
    for query in spread(context.queries, answered) {
        let count = |_, _| {
            matches += 1;
            Ok::<_, ReadError>(())
        };
        // Damage is reported when the query is answered.
        let _ = searcher.for_each_of_while(&[query], context.plan.distance(), &check_cancelled, count);
        context.done.check()?;
        tried += 1;
    }
    Ok(f64::from(matches) / f64::from(tried))
}

/// Factor by which the meetings of a scan may exceed their estimate before the scan is given up, and share of
/// the other way's cost that may be lost.
const TOLERANCE: f64 = 2.0;
const LOST_SHARE: f64 = 0.25;

/// The way to take.
pub(super) enum Choice<F> {
    /// One query after the other.
    Alone,
    /// In the order of the blocks.
    Probe,
    Scan(Scan<F>),
}

pub(super) fn choose<F: Fingerprint>(context: &BatchContext<'_, F>, sample: &Sample) -> Choice<F> {
    let BatchContext { plan, queries, options, index, .. } = context;
    let tables = |most_ns| design::choose(plan.distance(), queries.len(), &Crowding::of(context), most_ns);
    match options.strategy {
        Strategy::Probe => Choice::Probe,
        Strategy::Scan => {
            let most_meeting_ns = options.tuning.most_meeting_ns;
            Choice::Scan(Scan { most_meeting_ns, ..Priced::of(context, tables(f64::MAX)).scan })
        }
        Strategy::Auto => {
            let (alone_ns, probe_ns) = (sample.alone_ns(), sample.probe_ns());
            let least_ns = alone_ns.min(probe_ns);
            // Every fingerprint would be decoded, with any tables: often that alone decides.
            let costs = CodecCosts::of(&index.tables[0].codec);
            if least_ns > index.len() as f64 * costs.decode_ns {
                let most_ns = least_ns / index.len() as f64 - costs.decode_ns;
                let may_sift =
                    sift_ns::<F>(queries.len(), index.len(), plan.distance()).is_some_and(|ns| ns < most_ns);
                let scan = Priced::of(context, tables(if may_sift { f64::MAX } else { most_ns }));
                if scan.ns < least_ns {
                    let most = TOLERANCE * scan.meeting_ns + LOST_SHARE * least_ns;
                    return Choice::Scan(Scan { most_meeting_ns: Some(most as u64), ..scan.scan });
                }
            }
            if alone_ns <= probe_ns { Choice::Alone } else { Choice::Probe }
        }
    }
}

/// A scan, and what it takes.
struct Priced<F> {
    scan: Scan<F>,
    /// In all.
    ns: f64,
    /// The part of it for meetings of fingerprints with queries, which only a sample can estimate.
    meeting_ns: f64,
}

impl<F: Fingerprint> Priced<F> {
    fn of(context: &BatchContext<'_, F>, choice: TableChoice<F>) -> Self {
        let BatchContext { index, plan, queries, options, .. } = context;
        let tables = choice.tables.len();
        let at_once = max_queries::<F>(options.half_bytes(), tables).min(queries.len()).max(1);
        let passes = queries.len().div_ceil(at_once) as f64;
        let sieved = choice.sieved(at_once, index.len(), plan.distance());
        let cost = sieved.unwrap_or(choice.cost);
        let decode_ns = CodecCosts::of(&index.tables[0].codec).decode_ns;
        let streamed_ns = passes * index.len() as f64 * (decode_ns + cost.lookup_ns);
        // The meetings of all passes together: each pass has a part of the queries.
        let meeting_ns = index.len() as f64 * cost.meeting_ns;
        let is_sieved = options.tuning.is_sieved.unwrap_or(sieved.is_some());
        Self {
            scan: Scan { tables: choice.tables, is_sieved, most_meeting_ns: None },
            ns: streamed_ns + meeting_ns + (queries.len() * tables) as f64 * FILL_NS,
            meeting_ns,
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

    fn load(queries: f64, blocks: &[u32]) -> Load {
        load_of(queries, blocks, 0.0)
    }

    fn load_of(queries: f64, blocks: &[u32], unread_share: f64) -> Load {
        let crowd = Crowd {
            located: 4,
            queries,
            blocks: 1e6,
            entries_per_block: 100.0,
            dense_from: 4.0,
            unread_share,
        };
        let costs = CodecCosts { decode_ns: 2.0, probe_ns: 200.0, dense_from: 4 };
        crowd.load(&costs, blocks)
    }

    #[test]
    fn queries_that_meet_in_blocks_share_their_decoding() {
        let apart = load(1000.0, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let together = load(1000.0, &[1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(apart.blocks_per_query, 2.0);
        assert_eq!(together.blocks_per_query, 2.0);
        assert_eq!(apart.alone_ns, together.alone_ns);
        assert!(apart.probe_ns > apart.alone_ns, "arranging is in vain where nothing is shared");
        assert!(together.probe_ns < 0.5 * together.alone_ns, "{} {}", together.probe_ns, together.alone_ns);
        assert_eq!(load(2000.0, &[1, 2]).alone_ns, 2.0 * load(1000.0, &[1, 2]).alone_ns);
    }

    #[test]
    fn most_of_a_file_that_was_not_read_before_is_read_in_its_order() {
        let blocks = [1, 2, 3, 4, 5, 6, 7, 8];
        for (queries, unread_share, in_order) in
            [(1e6, 0.0, false), (1e6, 1.0, true), (1e6, 0.1, true), (1e2, 1.0, false)]
        {
            let load = load_of(queries, &blocks, unread_share);
            assert_eq!(load.probe_ns < load.alone_ns, in_order, "{queries} queries, {unread_share}");
        }
    }

    #[test]
    fn a_sample_is_spread_over_all_queries_and_never_empty() {
        let all: Vec<u32> = (0..100).collect();
        for count in 0..120 {
            let sample: Vec<u32> = spread(&all, count).collect();
            assert!((1..=count.clamp(1, 100)).contains(&sample.len()), "{count}: {}", sample.len());
            assert!(sample[0] == 0 && sample[sample.len() - 1] as usize + 200 / sample.len() >= 100);
        }
        assert_eq!(spread(&[0u32; 0], 5).count(), 0);
    }
}
