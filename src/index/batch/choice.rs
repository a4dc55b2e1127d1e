//! Which way to answer is fastest, by the model of [`cost`](crate::index::batch::cost).

use crate::index::batch::cost::{CodecCosts, FILL_NS};
use crate::index::batch::options::Strategy;
use crate::index::batch::question::Question;
use crate::index::batch::sample::Sample;
use crate::index::batch::scan::design::{self, Crowding, TableChoice};
use crate::index::batch::scan::{Scan, max_queries};
use hamdex_fingerprint::Fingerprint;

/// How much dearer than estimated the meetings of a scan may become before it is left; beside that, the share of
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
