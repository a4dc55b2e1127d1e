//! Which tables to make of the queries.

use crate::design::{Design, TableDesign};
use crate::index::batch::scan::lookup::mark_bits;
use hamdex_fingerprint::Fingerprint;

/// To look up whether a prefix occurs among the queries.
const LOOKUP_NS: f64 = 9.0;

/// To go on to the queries that share a prefix.
const MET_NS: f64 = 20.0;

/// To compare a fingerprint with one of them.
const CANDIDATE_NS: f64 = 1.5;

/// The tables that cover `distance` errors and serve this number of queries fastest, by the model
/// of [`cost_ns`].
pub(in crate::index::batch) fn choose<F: Fingerprint>(distance: u32, queries: usize) -> Vec<TableDesign<F>> {
    // All queries compared with each fingerprint: exact for every distance, and right for a few queries.
    let mut best = vec![TableDesign { mask: F::ZERO, radius: 0 }];
    let mut least = cost_ns(&best, queries);
    for name in Design::<F>::names(distance) {
        let design = Design::<F>::named(&name, distance).expect("it is a name for this distance");
        let cost = cost_ns(design.tables(), queries);
        if cost < least {
            least = cost;
            best = design.tables().to_vec();
        }
    }
    best
}

/// Nanoseconds to look one fingerprint up in tables of evenly spread queries.
pub(in crate::index::batch) fn cost_ns<F: Fingerprint>(tables: &[TableDesign<F>], queries: usize) -> f64 {
    let cost = |table: &TableDesign<F>| {
        let lookups = flips(table.prefix_bits(), table.radius);
        let share = |bits: u32| queries as f64 / f64::from(bits).exp2();
        let marked = share(table.prefix_bits().min(mark_bits(queries))).min(1.0);
        lookups * (LOOKUP_NS + marked * MET_NS + share(table.prefix_bits()) * CANDIDATE_NS)
    };
    tables.iter().map(cost).sum()
}

/// In how many ways at most `errors` errors can be placed in `bits` bits.
fn flips(bits: u32, errors: u32) -> f64 {
    let mut ways = 1.0;
    let mut all = ways;
    for error in 0..errors {
        ways *= f64::from(bits - error) / f64::from(error + 1);
        all += ways;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_queries_are_compared_and_many_looked_up() {
        assert_eq!(choose::<u64>(3, 2)[0].mask, 0);
        assert_eq!(choose::<u64>(20, 1_000_000)[0].mask, 0);
        assert!(choose::<u64>(3, 1_000_000).len() > 4);
        for distance in 0..=9 {
            for queries in [1, 100, 10_000, 1_000_000] {
                let tables = choose::<u128>(distance, queries);
                assert!(tables[0].mask == 0 || Design::custom("it covers", distance, tables).is_ok());
            }
        }
    }
}
