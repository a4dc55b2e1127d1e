//! The plan of a query at any distance.

use crate::codec::{Codec, Layout};
use crate::design::cost::{AskingCost, ProbeCost, TableCost, asking};
use crate::design::{Design, TableDesign, coverage};
use crate::filter_bits::Geometry;
use hamdex_fingerprint::Fingerprint;

/// A probe of one table: every entry within `radius` of the query under `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe<F> {
    /// The table of the design.
    pub table: usize,
    /// Its prefix and the errors admitted inside it, for this distance.
    pub reach: TableDesign<F>,
}

/// The properties of an index by which its plans are estimated.
#[derive(Clone, Copy)]
pub(crate) struct IndexShape<'f> {
    /// Number of fingerprints.
    pub(crate) count: u64,
    pub(crate) layout: Layout,
    /// The filter of each table.
    pub(crate) filters: &'f [Option<Geometry>],
}

impl IndexShape<'_> {
    fn costs<F: Fingerprint>(self) -> TableCost {
        TableCost::new::<F>(self.count, self.layout.codec, self.layout.block_bytes as u32)
    }
}

/// The probes that together find everything within a distance; made by
/// [`Design::plan`](crate::Design::plan).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<F> {
    distance: u32,
    probes: Vec<Probe<F>>,
    /// For each probe that asks the filter of its table first, the most prefixes that may pass, as where fingerprints
    /// crowd: beyond that, it costs less to read all blocks that may have one. 0 for the others.
    most_passed: Vec<usize>,
}

impl<F: Fingerprint> Plan<F> {
    /// Returns a walk over table 0, with the whole width as its prefix.
    pub(super) fn of_one_table(distance: u32) -> Self {
        let reach = TableDesign { mask: F::ONES, radius: distance };
        Self { distance, probes: vec![Probe { table: 0, reach }], most_passed: vec![0] }
    }

    /// Returns whether it reads all of table 0.
    fn is_walk(&self) -> bool {
        matches!(self.probes[..], [Probe { table: 0, reach: TableDesign { mask, .. } }] if mask == F::ONES)
    }

    /// Returns the distance it serves.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// Returns the probes, in the order of the tables. A match belongs to the first probe that admits it.
    #[must_use]
    pub fn probes(&self) -> &[Probe<F>] {
        &self.probes
    }

    /// Returns whether a probe asks the filter of its table first.
    #[inline(always)]
    pub(crate) fn asks_filter(&self, probe: usize) -> bool {
        self.most_passed[probe] > 0
    }

    /// Returns the most prefixes that may pass the filter of a probe, for the probe to read their blocks alone.
    #[inline(always)]
    pub(crate) fn most_passed(&self, probe: usize) -> usize {
        self.most_passed[probe]
    }

    /// Returns the estimated cost for a probe to ask its filter; `None` if it asks none.
    pub(crate) fn asking_cost(&self, probe: usize, filter: Option<&Geometry>) -> Option<AskingCost> {
        filter.filter(|_| self.asks_filter(probe)).map(|filter| asking(filter, self.prefix_errors(probe)))
    }

    /// Returns the number of errors that a probe admits in its prefix.
    pub(crate) fn prefix_errors(&self, probe: usize) -> u32 {
        self.probes[probe].reach.radius.min(self.distance)
    }

    /// Returns whether some probe asks the filter of a table.
    pub(crate) fn uses_filter(&self, table: usize) -> bool {
        self.probes.iter().zip(&self.most_passed).any(|(probe, &most)| probe.table == table && most > 0)
    }

    /// Returns the cost of the plan, estimated.
    fn cost(&self, shape: IndexShape<'_>) -> ProbeCost {
        let (costs, count) = (shape.costs::<F>(), shape.count);
        let each = self.probes.iter().enumerate().map(|(number, probe)| {
            let filter = shape.filters[probe.table].as_ref().filter(|_| self.asks_filter(number));
            match filter {
                Some(filter) => costs.filtered(filter, self.prefix_errors(number), count),
                None => costs.direct(&probe.reach, count),
            }
        });
        let none = ProbeCost { ns: 0.0, blocks: 0.0 };
        each.fold(none, |a, b| ProbeCost { ns: a.ns + b.ns, blocks: a.blocks + b.blocks })
    }

    /// Returns the nanoseconds of a query, estimated.
    pub(crate) fn ns(&self, shape: IndexShape<'_>) -> f64 {
        self.cost(shape).ns
    }

    /// Returns the number of blocks that a query reads, estimated.
    pub(crate) fn blocks(&self, shape: IndexShape<'_>) -> f64 {
        self.cost(shape).blocks
    }
}

impl<F: Fingerprint> Design<F> {
    /// Returns the probes that find everything within `distance`, which may be any, in an index without filters.
    #[must_use]
    pub fn plan(&self, distance: u32, count: u64, codec: Codec, block_bytes: u32) -> Plan<F> {
        let layout = Layout { codec, block_bytes: block_bytes as usize };
        self.plan_with(distance, IndexShape { count, layout, filters: &vec![None; self.tables().len()] })
    }

    /// Returns the probes that find everything within `distance` in an index of this shape.
    pub(crate) fn plan_with(&self, distance: u32, shape: IndexShape<'_>) -> Plan<F> {
        make(self, distance, shape, &mut { PLAN_VISITS })
    }

    /// As [`Design::plan_with`], with a limit of all checks, and given the plan for the distance before if that is beyond
    /// the one of the design: once it costs least to read all of table 0, it does so for every greater distance, and no
    /// further plan is looked for.
    pub(crate) fn plan_after(
        &self,
        before: Option<&Plan<F>>,
        distance: u32,
        shape: IndexShape<'_>,
        visits_left: &mut u64,
    ) -> Plan<F> {
        match before.is_some_and(Plan::is_walk) {
            true => Plan::of_one_table(distance.min(F::BITS)),
            false => make(self, distance, shape, visits_left),
        }
    }
}

/// Limit of one coverage check while a query waits, in tables that its steps look at: about a millisecond. A set not
/// proven by then counts as not covering, which costs time, never a match.
const CHECK_VISITS: u64 = 320_000;

/// Limit of all checks for a plan: at most some tens of milliseconds, once per distance.
pub(crate) const PLAN_VISITS: u64 = 20 * CHECK_VISITS;

/// At the built distance the design itself; below it, smaller radii and fewer tables if they
/// still cover; above it, the existing tables with larger radii or a walk over table 0 alone with
/// its whole width as prefix, by the lower estimate. A probe asks a filter where that is estimated to cost less.
fn make<F: Fingerprint>(
    design: &Design<F>,
    distance: u32,
    shape: IndexShape<'_>,
    visits_left: &mut u64,
) -> Plan<F> {
    let distance = distance.min(F::BITS);
    let (costs, count) = (shape.costs::<F>(), shape.count);
    let most_passed = |probe: &Probe<F>| {
        let errors = probe.reach.radius.min(distance);
        let filter = shape.filters[probe.table].as_ref();
        let pays = filter.is_some_and(|filter| {
            costs.filtered(filter, errors, count).ns < costs.direct(&probe.reach, count).ns
        });
        if pays { costs.most_passed(&probe.reach, count) } else { 0 }
    };
    let walk = Plan::of_one_table(distance);
    let Some(probes) = covering_radii(design, distance, visits_left) else { return walk };
    let most_passed = probes.iter().map(most_passed).collect();
    let plan = Plan { distance, probes, most_passed };
    if distance <= design.distance() || plan.ns(shape) < walk.ns(shape) { plan } else { walk }
}

/// Returns the tables with the least radii that cover; `None` if that cannot be established.
fn covering_radii<F: Fingerprint>(
    design: &Design<F>,
    distance: u32,
    visits_left: &mut u64,
) -> Option<Vec<Probe<F>>> {
    let mut probes: Vec<Probe<F>> =
        design.tables().iter().enumerate().map(|(table, &reach)| Probe { table, reach }).collect();
    if distance == design.distance() {
        return Some(probes);
    }
    while !covers(&probes, distance, visits_left) {
        if !widen(&mut probes) {
            return None;
        }
    }
    narrow(&mut probes, distance, visits_left);
    Some(probes)
}

/// One more error for every table that can take one.
fn widen<F: Fingerprint>(probes: &mut [Probe<F>]) -> bool {
    let mut widened = false;
    for probe in probes {
        if probe.reach.radius < probe.reach.prefix_bits() {
            probe.reach.radius += 1;
            widened = true;
        }
    }
    widened
}

/// Drops redundant parts: tables first, from the last one, then single errors.
fn narrow<F: Fingerprint>(probes: &mut Vec<Probe<F>>, distance: u32, visits_left: &mut u64) {
    for at in (0..probes.len()).rev() {
        if probes.len() > 1 {
            let dropped = probes.remove(at);
            if !covers(probes, distance, visits_left) {
                probes.insert(at, dropped);
            }
        }
    }
    for at in (0..probes.len()).rev() {
        while probes[at].reach.radius > 0 {
            probes[at].reach.radius -= 1;
            if !covers(probes, distance, visits_left) {
                probes[at].reach.radius += 1;
                break;
            }
        }
    }
}

/// Returns whether coverage is proven in the steps of a check, or in the remaining ones. A step looks at every table.
fn covers<F: Fingerprint>(probes: &[Probe<F>], distance: u32, visits_left: &mut u64) -> bool {
    let reaches: Vec<TableDesign<F>> = probes.iter().map(|p| p.reach).collect();
    let tables = reaches.len() as u64;
    let granted = CHECK_VISITS.min(*visits_left) / tables;
    let mut check_left = granted;
    let verdict = coverage::missed(&reaches, distance, &mut check_left);
    *visits_left -= (granted - check_left) * tables;
    verdict == coverage::Verdict::Covers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_distances_need_less() {
        let halves = Design::<u64>::named("halves", 3).unwrap();
        let plan = halves.plan(1, 1_000_000, Codec::Huffman, 4096);
        assert!(plan.probes().iter().map(|p| p.reach.radius).sum::<u32>() <= 1, "{plan:?}");
        let exact = halves.plan(0, 1_000_000, Codec::Huffman, 4096);
        assert_eq!(exact.probes().len(), 1);
        assert_eq!(exact.probes()[0].reach.radius, 0);
    }

    #[test]
    fn every_plan_covers_its_distance() {
        for name in Design::<u64>::names(3) {
            let design = Design::<u64>::named(&name, 3).unwrap();
            for distance in [0, 1, 2, 3, 4, 5, 6, 12, 63, 64, 99] {
                let mut visits_left = PLAN_VISITS;
                let plan = design.plan(distance, 1_000_000, Codec::Huffman, 4096);
                assert!(
                    covers(plan.probes(), plan.distance(), &mut visits_left),
                    "{name} at {distance}: {plan:?}"
                );
            }
        }
    }

    /// 64 tables of 12 scattered bits, whose coverage takes long to decide. A query for the nearest plans one distance
    /// after the other.
    #[test]
    fn the_plans_of_a_great_design_for_all_distances_cost_as_little_as_a_few() {
        let mut state = 5u64;
        let mut scattered = || {
            let mut mask = 0u64;
            while mask.count_ones() < 12 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                mask |= 1 << (state >> 58);
            }
            TableDesign { mask, radius: 1 }
        };
        let leading = TableDesign { mask: 0xfff0_0000_0000_0000, radius: 1 };
        let tables = std::iter::once(leading).chain((1..64).map(|_| scattered())).collect();
        let design = Design::<u64>::custom("great", 3, tables).unwrap();
        let layout = Layout { codec: Codec::Huffman, block_bytes: 4096 };
        let filters = vec![None; design.tables().len()];
        for count in [10_000, 100_000_000] {
            let shape = IndexShape { count, layout, filters: &filters };
            let (mut plans, mut before) = (0, None::<Plan<u64>>);
            for distance in 0..=64 {
                let mut left = PLAN_VISITS;
                let plan = design.plan_after(before.as_ref(), distance, shape, &mut left);
                let is_after_walk = before.as_ref().is_some_and(Plan::is_walk);
                assert!(!is_after_walk || plan.is_walk() && left == PLAN_VISITS, "{count}, {distance}");
                assert_eq!(plan.distance(), distance);
                plans += u64::from(left < PLAN_VISITS);
                before = Some(plan).filter(|_| distance > design.distance());
            }
            assert!(before.is_some_and(|plan| plan.is_walk()) && plans <= 20, "{count}: {plans} plans");
        }
    }
}
