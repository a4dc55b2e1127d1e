//! Which leads to bring together, in which order, and where their values come from.
//!
//! A table in whose order the bits of a lead stand first has the values that agree under it side by
//! side: it is gone through as it is. For any other lead the values of table 0 are gathered in memory.
//! What a schedule costs follows from the number of fingerprints and its leads; the cheapest is taken.

use crate::index::pairs::lead::{Agreement, Lead};
use crate::index::pairs::population::Population;
use crate::permutation::Permutation;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// Nanoseconds per value: to read it from a table and compare it with its next few.
const STREAM_NS: f64 = 4.0;

/// Nanoseconds per value: to read it from table 0, sort it and compare it with its next few.
const GATHER_NS: f64 = 14.0;

/// Nanoseconds per comparison beyond the next few.
const COMPARISON_NS: f64 = 0.3;

/// Comparisons of a value that are in the price of reading it.
const FREE_COMPARISONS: f64 = 8.0;

/// Where the values of a lead come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// This table has them in order.
    Table(usize),
    /// Table 0 has them in another order.
    Gathered,
}

/// A lead and where its values come from.
#[derive(Debug, Clone)]
pub(super) struct Step<F> {
    pub(super) source: Source,
    pub(super) lead: Lead<F>,
}

/// The cheapest schedule for a distance. With `gather_all`, for tests, only table 0 is read.
pub(super) fn choose<F: Fingerprint>(
    population: &dyn Population<F>,
    distance: u32,
    gather_all: bool,
) -> Vec<Step<F>> {
    let count = population.len() as f64;
    let (tables, _) = population.tables();
    let source_of = |&mask: &F| match streaming_table(tables, mask) {
        Some(table) if !gather_all || mask == F::ZERO => Source::Table(table),
        _ => Source::Gathered,
    };
    let cost = |leads: &[F]| -> f64 {
        let cost_of = |mask: &F| {
            let others = count / f64::from(mask.count_ones()).exp2() / 2.0;
            let comparisons = (others - FREE_COMPARISONS).max(0.0) * COMPARISON_NS;
            comparisons
                + match source_of(mask) {
                    Source::Table(_) => STREAM_NS,
                    Source::Gathered => GATHER_NS,
                }
        };
        leads.iter().map(cost_of).sum()
    };
    let sets = population.lead_sets(distance).into_iter();
    let priced = sets.map(|leads| (cost(&leads), leads));
    let (_, leads) = priced.min_by(|(a, _), (b, _)| a.total_cmp(b)).expect("there is one of no bits");
    (0..leads.len())
        .map(|number| {
            let source = source_of(&leads[number]);
            let permutation = match source {
                Source::Table(table) => tables[table].permutation.clone(),
                Source::Gathered => Permutation::new(leads[number]),
            };
            let mask = permutation.apply(leads[number]);
            let earlier = leads[..number].iter().map(|&lead| Agreement(permutation.apply(lead))).collect();
            Step { source, lead: Lead { permutation, mask, earlier } }
        })
        .collect()
}

/// The table in whose order the bits of a mask come first.
fn streaming_table<F: Fingerprint>(tables: &[Table<F>], mask: F) -> Option<usize> {
    let first = F::prefix_mask(mask.count_ones());
    tables.iter().position(|table| table.permutation.apply(mask) == first)
}
