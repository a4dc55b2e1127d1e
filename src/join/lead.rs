//! The leads of a join, which are the bits that bring pairs together; their order, and the sources of their values.
//!
//! A table whose order begins with the bits of a lead has the values that agree under it adjacent: it is
//! streamed. For any other lead the values are gathered in memory, from the table in which its bits come
//! earliest. The number of fingerprints and the leads determine the cost of a schedule; the cheapest is taken.

use crate::design::Admits;
use crate::join::population::Population;
use crate::permutation::Permutation;
use crate::table::Table;
use hamdex_fingerprint::Fingerprint;

/// Bits of the digits that slices are made of: sixteen digits in a slice of a billion values.
pub(super) const SLICE_DIGIT_BITS: u32 = 10;

/// A mask: it admits what agrees in all of its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreement<F>(pub(super) F);

impl<F: Fingerprint> Admits<F> for Agreement<F> {
    #[inline(always)]
    fn admits(&self, difference: F) -> bool {
        difference & self.0 == F::ZERO
    }
}

/// An order of bits: that of a table, or the one in which some bits come first, and all others after them, each as the
/// table has them.
#[derive(Debug, Clone)]
pub(super) struct Order<F> {
    table: Permutation<F>,
    /// From the table's order on.
    leading: Permutation<F>,
}

impl<F: Fingerprint> Order<F> {
    /// Returns the order of a table.
    fn of_table(table: Permutation<F>) -> Self {
        Self { table, leading: Permutation::new(F::ZERO) }
    }

    /// Returns the bits under `mask` first, the others after them.
    pub(super) fn with_leading(mask: F, table: Permutation<F>) -> Self {
        Self { leading: Permutation::new(table.apply(mask)), table }
    }

    /// From the natural order.
    pub(super) fn apply(&self, value: F) -> F {
        self.leading.apply(self.table.apply(value))
    }

    /// Back to the natural order.
    pub(super) fn undo(&self, value: F) -> F {
        self.table.undo(self.leading.undo(value))
    }

    /// Returns the permutation from the table's order to this one.
    pub(super) fn leading(&self) -> &Permutation<F> {
        &self.leading
    }
}

/// A lead, in the order of bits of the values that it brings together.
#[derive(Debug, Clone)]
pub(super) struct Lead<F> {
    /// The table whose values are read; 0 if only the natural order exists.
    pub(super) table: usize,
    /// The order of bits.
    pub(super) order: Order<F>,
    /// The bits that agree.
    pub(super) mask: F,
    /// The leads that come before it: what agrees under one of these belongs there.
    pub(super) earlier: Vec<Agreement<F>>,
}

/// Nanoseconds per value: to read it from a table and compare it with its next few.
const STREAM_NS: f64 = 4.0;

/// Nanoseconds per value: to read it from a table, sort it and compare it with its next few.
const GATHER_NS: f64 = 35.0;

/// Nanoseconds per comparison beyond the next few.
const COMPARISON_NS: f64 = 0.3;

/// Comparisons of a value that are in the price of reading it.
const FREE_COMPARISONS: f64 = 8.0;

/// Nanoseconds per value of a long run and per group of bits by which it is divided; there is one group more than bits
/// that may differ.
const DIVIDE_NS: f64 = 6.0;

/// Values of a run that lie near the processor while it is divided.
const MAX_DIVIDED: f64 = 65_536.0;

/// The source of the values of a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A table has them in order.
    Streamed,
    /// No table has: they are gathered from one.
    Gathered,
}

/// A lead and the source of its values.
#[derive(Debug, Clone)]
pub(super) struct Step<F> {
    pub(super) source: Source,
    pub(super) lead: Lead<F>,
}

/// Returns the cheapest schedule for a distance. With `gather_all`, for tests, no table is streamed.
pub(super) fn choose<F: Fingerprint>(
    population: &dyn Population<F>,
    distance: u32,
    gather_all: bool,
) -> Vec<Step<F>> {
    let count = population.len() as f64;
    let (tables, _) = population.tables();
    let source_of = |&mask: &F| match streaming_table(tables, mask) {
        Some(table) if !gather_all || mask == F::ZERO => (Source::Streamed, table),
        _ => (Source::Gathered, earliest_table(tables, mask)),
    };
    let cost = |leads: &[F]| -> f64 {
        let cost_of = |mask: &F| {
            let run = count / f64::from(mask.count_ones()).exp2();
            let compared = (run / 2.0 - FREE_COMPARISONS).max(0.0) * COMPARISON_NS;
            let divided = f64::from(distance + 1) * DIVIDE_NS;
            let found = if run <= MAX_DIVIDED { compared.min(divided) } else { compared };
            found
                + match source_of(mask).0 {
                    Source::Streamed => STREAM_NS,
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
            let (source, table) = source_of(&leads[number]);
            let natural = || Permutation::new(F::ZERO);
            let of_table = tables.get(table).map_or_else(natural, |table| table.permutation.clone());
            let order = match source {
                Source::Streamed => Order::of_table(of_table),
                Source::Gathered => Order::with_leading(leads[number], of_table),
            };
            let mask = order.apply(leads[number]);
            let earlier = leads[..number].iter().map(|&lead| Agreement(order.apply(lead))).collect();
            Step { source, lead: Lead { table, order, mask, earlier } }
        })
        .collect()
}

/// Returns the table in whose order the bits of a mask come first.
fn streaming_table<F: Fingerprint>(tables: &[Table<F>], mask: F) -> Option<usize> {
    let first = F::prefix_mask(mask.count_ones());
    tables.iter().position(|table| table.permutation.apply(mask) == first)
}

/// Returns the table in whose order the first bits of a mask come earliest: slices read the least in excess
/// from it.
fn earliest_table<F: Fingerprint>(tables: &[Table<F>], mask: F) -> usize {
    let last_digit_bit = |table: &Table<F>| {
        let mask = table.permutation.apply(mask);
        (0..F::BITS).filter(|&place| mask & F::bit(place) != F::ZERO).nth(SLICE_DIGIT_BITS as usize - 1)
    };
    let places = tables.iter().map(|table| last_digit_bit(table).unwrap_or(F::BITS));
    places.enumerate().min_by_key(|&(_, place)| place).map_or(0, |(number, _)| number)
}
