//! The fastest way to answer, by the cost model of [`cost`](crate::batch::cost).

use crate::batch::context::BatchContext;
use crate::batch::cost::{CodecCosts, FILL_NS};
use crate::batch::options::Strategy;
use crate::batch::sample::Sample;
use crate::batch::scan::design::{self, Crowding, TableChoice};
use crate::batch::scan::sieve::cost::sift_ns;
use crate::batch::scan::{Scan, max_queries};
use hamdex_fingerprint::Fingerprint;

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
            let most_meeting_ns = options.most_meeting_ns;
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
        let at_once = max_queries::<F>(options.work_bytes(), tables).min(queries.len()).max(1);
        let passes = queries.len().div_ceil(at_once) as f64;
        let sieved = choice.sieved(at_once, index.len(), plan.distance());
        let cost = sieved.unwrap_or(choice.cost);
        let decode_ns = CodecCosts::of(&index.tables[0].codec).decode_ns;
        let streamed_ns = passes * index.len() as f64 * (decode_ns + cost.lookup_ns);
        // The meetings of all passes together: each pass has a part of the queries.
        let meeting_ns = index.len() as f64 * cost.meeting_ns;
        let is_sieved = options.is_sieved.unwrap_or(sieved.is_some());
        Self {
            scan: Scan { tables: choice.tables, is_sieved, most_meeting_ns: None },
            ns: streamed_ns + meeting_ns + (queries.len() * tables) as f64 * FILL_NS,
            meeting_ns,
        }
    }
}
