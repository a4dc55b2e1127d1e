//! The tables that a scan builds over the queries: their design, and a budget of comparisons, since a sample has estimated
//! them. A scan that exceeds it is abandoned.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::scan::query_table::mark_bits;
use crate::batch::scan::sieve::halves::Halves;
use crate::batch::scan::sieve::{KEPT, sift_ns};
use crate::batch::{BatchContext, Stop};
use crate::bits::first_of_mask;
use crate::design::{Design, TableDesign};
use crate::filter_bits;
use hamdex_fingerprint::Fingerprint;

/// To look up whether a prefix occurs among the queries.
const LOOKUP_NS: f64 = 5.5;

/// To go on to the queries that share a prefix.
pub(super) const MET_NS: f64 = 12.0;

/// To compare a fingerprint with one of them.
pub(super) const CANDIDATE_NS: f64 = 1.5;

/// Queries, and as many stored fingerprints, that are compared to estimate how often they meet: the minimum,
/// the maximum, and the interval of sampled queries. With uneven bits but no clusters, one in ten thousand
/// comparisons is a meeting, and they still decide the cost of a scan.
const MIN_SAMPLE: usize = 128;
const MAX_SAMPLE: usize = 512;
const QUERIES_PER_SAMPLED: usize = 256;

/// Maximum share of the fingerprints in clusters of queries for which a sieve pays.
const MAX_CROWDED: f64 = 0.2;

/// Tables of queries, and what they cost.
pub(in crate::batch) struct TableChoice<F> {
    pub(in crate::batch) tables: Vec<TableDesign<F>>,
    pub(in crate::batch) cost: LookupCost,
    /// The share of the fingerprints in clusters of queries, by a sample: they pass any sieve.
    crowded: f64,
}

/// Nanoseconds to look one fingerprint up in tables of queries.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::batch) struct LookupCost {
    /// The part that does not depend on the data.
    pub(in crate::batch) lookup_ns: f64,
    /// For the queries that share a prefix with it.
    pub(in crate::batch) meeting_ns: f64,
}

impl<F: Fingerprint> TableChoice<F> {
    /// Returns the cost with a sieve; `None` if that is no cheaper. A sieve saves look-ups and meetings of
    /// evenly spread fingerprints, not of clusters that queries share.
    pub(in crate::batch) fn sieved(&self, queries: usize, stored: u64, distance: u32) -> Option<LookupCost> {
        let LookupCost { lookup_ns, meeting_ns } = self.cost;
        if self.crowded > MAX_CROWDED {
            return None;
        }
        let even = even_cost(&self.tables, queries);
        let kept = (KEPT + self.crowded).min(1.0);
        let sieved = LookupCost {
            lookup_ns: sift_ns::<F>(queries, stored, distance)? + kept * lookup_ns,
            meeting_ns: (meeting_ns - even.meeting_ns).max(0.0) + kept * even.meeting_ns,
        };
        (sieved.sum_ns() < self.cost.sum_ns()).then_some(sieved)
    }
}

impl LookupCost {
    fn sum_ns(&self) -> f64 {
        self.lookup_ns + self.meeting_ns
    }
}

/// Returns the tables that cover `distance` errors and are fastest for this number of queries by the model,
/// without a sieve; not necessarily the fastest if none is expected to take less than `most_ns` per look-up.
pub(in crate::batch) fn choose<F: Fingerprint>(
    distance: u32,
    queries: usize,
    crowding: &Crowding<F>,
    most_ns: f64,
) -> TableChoice<F> {
    // All queries compared with each fingerprint: exact for every distance, and right for a few queries.
    let all = vec![TableDesign { mask: F::ZERO, radius: 0 }];
    let crowded = crowding.share(distance);
    let mut best = TableChoice { cost: even_cost(&all, queries), tables: all, crowded };
    let names = Design::<F>::names(distance);
    let designs =
        names.iter().map(|name| Design::named(name, distance).expect("it is a name for this distance"));
    let mut designs: Vec<(LookupCost, Design<F>)> =
        designs.map(|design| (even_cost(design.tables(), queries), design)).collect();
    designs.sort_by(|(a, _), (b, _)| a.sum_ns().total_cmp(&b.sum_ns()));
    for (even, design) in designs {
        // Crowding makes nothing cheaper.
        let most_ns = best.cost.sum_ns().min(most_ns);
        if even.sum_ns() >= most_ns {
            break;
        }
        let cost = crowding.cost(design.tables(), queries, most_ns);
        if cost.sum_ns() < best.cost.sum_ns() {
            best = TableChoice { tables: design.tables().to_vec(), cost, crowded };
        }
    }
    best
}

/// For evenly spread queries.
fn even_cost<F: Fingerprint>(tables: &[TableDesign<F>], queries: usize) -> LookupCost {
    Crowding { queries: Vec::new(), stored: Vec::new() }.cost(tables, queries, f64::MAX)
}

/// A few queries and a few stored fingerprints: how often does one meet the other?
pub(in crate::batch) struct Crowding<F> {
    queries: Vec<F>,
    stored: Vec<F>,
}

impl<F: Fingerprint> Crowding<F> {
    /// Takes a fingerprint from each of a few blocks of table 0, from first to last.
    pub(in crate::batch) fn of(context: &BatchContext<'_, F>) -> Self {
        let BatchContext { index, queries, .. } = context;
        let table = &index.tables[0];
        let keys = table.keys.in_file(index.data.as_ref());
        let blocks = keys.len();
        let count = (queries.len() / QUERIES_PER_SAMPLED).clamp(MIN_SAMPLE, MAX_SAMPLE);
        let step = blocks.div_ceil(count).max(1);
        let stored = (0..blocks).step_by(step).map(|block| keys.get(block)).collect();
        Self { queries: spread(queries, count).collect(), stored }
    }

    /// Returns the share of the stored fingerprints that are near a query of the sample in the upper or the lower half
    /// of their bits: spread evenly, none would be.
    fn share(&self, distance: u32) -> f64 {
        let halves = Halves::behind::<F>(0);
        let is_crowded =
            |&&stored: &&F| self.queries.iter().any(|&query| halves.are_near(stored, query, distance));
        let crowded = self.stored.iter().filter(is_crowded).count();
        crowded as f64 / self.stored.len().max(1) as f64
    }

    /// Returns the cost of looking a fingerprint up in these tables: the cost for even queries, or more if the
    /// sample meets more often. Stops adding beyond `most_ns`.
    fn cost(&self, tables: &[TableDesign<F>], queries: usize, most_ns: f64) -> LookupCost {
        let mut cost = LookupCost::default();
        for table in tables {
            if cost.sum_ns() > most_ns {
                break;
            }
            let (marked, compared) = self.meetings(table, queries);
            cost.lookup_ns += lookups(table) * LOOKUP_NS;
            cost.meeting_ns += marked * MET_NS + compared * CANDIDATE_NS;
        }
        cost
    }

    /// Returns the number of look-ups of a stored fingerprint whose prefix may occur, and of queries compared
    /// with it.
    fn meetings(&self, table: &TableDesign<F>, queries: usize) -> (f64, f64) {
        let (lookups, queries) = (lookups(table), queries as f64);
        let prefix_bits = table.prefix_bits();
        let share = |bits: u32| queries / f64::from(bits).exp2();
        let marked_bits = prefix_bits.min(mark_bits(queries as usize));
        let even_marked = lookups * share(marked_bits).min(1.0);
        let even_compared = lookups * share(prefix_bits);
        if self.stored.is_empty() || self.queries.is_empty() {
            return (even_marked, even_compared);
        }
        let marked = TableDesign { mask: first_of_mask(table.mask, marked_bits), radius: table.radius };
        // Each query of the sample represents as many.
        let stands_for = queries / self.queries.len() as f64;
        let (mut all_marked, mut all_compared) = (0.0, 0.0);
        for &stored in &self.stored {
            let (mut share_mark, mut share_prefix) = (0, 0);
            for &query in &self.queries {
                share_mark += u32::from(marked.admits(query ^ stored));
                share_prefix += u32::from(table.admits(query ^ stored));
            }
            all_marked += (f64::from(share_mark) * stands_for).min(lookups);
            all_compared += f64::from(share_prefix) * stands_for;
        }
        let stored = self.stored.len() as f64;
        (even_marked.max(all_marked / stored), even_compared.max(all_compared / stored))
    }
}

/// Returns the number of prefixes by which a fingerprint is looked up: the ways to place at most `radius`
/// errors in the prefix.
fn lookups<F: Fingerprint>(table: &TableDesign<F>) -> f64 {
    filter_bits::ways(table.prefix_bits(), table.radius)
}

/// Nanoseconds of the cost model that all tasks of a scan may still spend on fingerprints that meet queries.
pub(super) struct Budget {
    left_ns: Option<AtomicU64>,
}

impl Budget {
    /// Creates a budget; `None` means no limit.
    pub(super) fn new(most_ns: Option<u64>) -> Self {
        Self { left_ns: most_ns.map(AtomicU64::new) }
    }

    /// # Errors
    /// When more is spent than there is left.
    pub(super) fn spend(&self, ns: f64) -> Result<(), Stop> {
        let Some(left) = &self.left_ns else { return Ok(()) };
        // An overdraft leaves nothing for later tasks.
        let spend = |left: u64| Some(left.saturating_sub(ns as u64));
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).unwrap_or(0);
        if before < ns as u64 { Err(Stop::Costly) } else { Ok(()) }
    }
}

/// At most `count` of the queries, and at least one, from first to last.
pub(in crate::batch) fn spread<T: Copy>(all: &[T], count: usize) -> impl Iterator<Item = T> {
    all.iter().step_by(all.len().div_ceil(count.max(1)).max(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SAMPLE: Crowding<u64> = Crowding { queries: Vec::new(), stored: Vec::new() };

    #[test]
    fn few_queries_are_compared_and_many_looked_up() {
        assert_eq!(choose(3, 2, &NO_SAMPLE, f64::MAX).tables[0].mask, 0);
        assert_eq!(choose(20, 1_000_000, &NO_SAMPLE, f64::MAX).tables[0].mask, 0);
        assert!(choose(3, 1_000_000, &NO_SAMPLE, f64::MAX).tables.len() > 4);
        for distance in 0..=9 {
            for queries in [1, 100, 10_000, 1_000_000] {
                let crowding = Crowding { queries: Vec::new(), stored: Vec::new() };
                let tables = choose::<u128>(distance, queries, &crowding, f64::MAX).tables;
                assert!(tables[0].mask == 0 || Design::custom("it covers", distance, tables).is_ok());
            }
        }
    }

    /// If all stored fingerprints and queries share half of their bits, tables that lead with these are
    /// useless, and the model knows the result of each look-up.
    #[test]
    fn crowding_costs_what_is_compared() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let even =
            Crowding { queries: (1..200).map(spread).collect(), stored: (300..500).map(spread).collect() };
        let low = |i: u64| spread(i) >> 32;
        let crowded =
            Crowding { queries: (1..200).map(low).collect(), stored: (300..500).map(low).collect() };
        let high_bits = [TableDesign { mask: 0xffff_ffff << 32, radius: 0 }];
        let queries = 20_000;
        assert_eq!(
            even.cost(&high_bits, queries, f64::MAX).sum_ns(),
            NO_SAMPLE.cost(&high_bits, queries, f64::MAX).sum_ns()
        );
        let all = crowded.cost(&high_bits, queries, f64::MAX);
        let expected = MET_NS + 20_000.0 * CANDIDATE_NS;
        assert!((all.meeting_ns / expected - 1.0).abs() < 0.01, "{all:?}");
        let low_bits = [TableDesign { mask: 0xffff_ffff, radius: 0 }];
        assert!(crowded.cost(&low_bits, queries, f64::MAX).sum_ns() < 0.001 * all.sum_ns());
    }

    #[test]
    fn what_is_spent_is_gone_for_all() {
        let budget = Budget::new(Some(100));
        assert!(budget.spend(60.0).is_ok());
        assert!(budget.spend(40.0).is_ok());
        assert!(budget.spend(0.0).is_ok());
        assert!(budget.spend(1.0).is_err());
        assert!(Budget::new(None).spend(f64::MAX).is_ok());
    }
}
