//! The designs that have a name, `auto`, which chooses one by its cost, and the recurrence of the paper: split the bits
//! into r groups, let r − k of them lead, and do the same again to the bits that are left, until a probe meets few enough
//! candidates (§3.1.2).
//!
//! `single`, `halves`, `thirds` and `quarters` part the bits evenly and let the radii take the errors
//! (general pigeonhole principle: the radii, each plus one, sum to k + 1). `paper-N` are the paper's
//! own (§3.1.1 and §3.1.2). `cover-N` do the same with fewer tables: their lead sets are the
//! complements of the blocks of a covering design C(v, v − s, k), so that every k erroneous groups lie
//! outside some lead set. Every one passes the coverage check of [`Design::custom`] when it is made.
//!
//! The lead sets of a self-join are made in the same way, without radii: masks such that any two fingerprints within a
//! distance agree in all the bits under one of them. A self-join brings together values that agree, so it has no use for
//! a radius. At most r errors in the bits of a mask that is split into v > r groups leave v − r of the groups clean: so
//! the table (mask, r) does what the C(v, r) unions of v − r groups do with radius 0.

use crate::codec::{Codec, Layout};
use crate::design::filter_choice::FilterChoice;
use crate::design::plan::{IndexShape, Plan};
use crate::design::{Design, DesignError, MAX_TABLES, TableDesign};
use hamdex_fingerprint::Fingerprint;

/// The name of the automatic choice, accepted in place of any design's name.
pub const AUTO: &str = "auto";

/// The largest distance for which designs have names.
const MAX_NAMED_DISTANCE: u32 = 16;

impl<F: Fingerprint> Design<F> {
    /// Returns the design of that name for that distance; see [`Design::names`]. The name `auto` is refused
    /// here, since the choice needs the number of fingerprints: see [`Design::auto`].
    ///
    /// # Errors
    /// When the design is unknown for that distance; the error lists the known ones.
    pub fn named(name: &str, distance: u32) -> Result<Self, DesignError> {
        if distance > MAX_NAMED_DISTANCE {
            return Err(DesignError::DistanceTooLarge { distance, max: MAX_NAMED_DISTANCE });
        }
        let Some((_, pattern)) = patterns(distance).into_iter().find(|(known, _)| known == name) else {
            let mut known = Self::names(distance);
            known.push(AUTO.to_owned());
            return Err(DesignError::Unknown { name: name.to_owned(), distance, known });
        };
        let tables = match pattern {
            Pattern::Parts(parts) => parts_with_radii(parts, distance),
            Pattern::Splits(splits) => paper_tables(&splits, distance),
            Pattern::LeadSets(groups, sets) => tables_of(groups, &sets),
        };
        Self::custom(name, distance, tables)
    }

    /// Returns the names of all designs for a distance, fewest tables first; none beyond distance 16.
    #[must_use]
    pub fn names(distance: u32) -> Vec<String> {
        if distance > MAX_NAMED_DISTANCE {
            return Vec::new();
        }
        let mut named: Vec<(String, usize)> = patterns(distance)
            .into_iter()
            .map(|(name, pattern)| {
                let tables = match pattern {
                    Pattern::Parts(parts) => parts as usize,
                    Pattern::Splits(splits) => {
                        splits.iter().map(|&r| binomial(r, distance) as usize).product()
                    }
                    Pattern::LeadSets(_, sets) => sets.len(),
                };
                (name, tables)
            })
            .collect();
        named.sort_by_key(|&(_, tables)| tables);
        named.into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the default design for `count` fingerprints: the smallest file whose queries, with the filters of
    /// [`FilterChoice::Auto`], read few blocks by the cost model; if there is none, the one with the fastest queries.
    /// See docs/engine.md.
    ///
    /// # Errors
    /// When the distance is beyond what the named designs serve.
    pub fn auto(distance: u32, count: u64, codec: Codec, block_bytes: u32) -> Result<Self, DesignError> {
        let layout = Layout { codec, block_bytes: block_bytes as usize };
        Self::auto_with(distance, count, layout, FilterChoice::Auto)
    }

    /// As [`Self::auto`], with these filters.
    pub(crate) fn auto_with(
        distance: u32,
        count: u64,
        layout: Layout,
        filter: FilterChoice,
    ) -> Result<Self, DesignError> {
        let mut fallback = None;
        for (name, max_blocks) in AUTO_CHOICES.into_iter().take(distance as usize + 1) {
            let design = Self::named(name, distance)?;
            let filters = filter.filters(&design, count, layout);
            let shape = IndexShape { count, layout, filters: &filters };
            let plan = design.plan_with(distance, shape);
            // A prefix that passes a filter is compared when its block is read: no further candidate counts.
            let candidates = match filters.iter().any(Option::is_some) {
                true => 0.0,
                false => design.cost(count, layout.codec, layout.block_bytes as u32).candidates_per_query,
            };
            if plan.blocks(shape) <= max_blocks && candidates <= AUTO_MAX_CANDIDATES {
                return Ok(design);
            }
            let ns = plan.ns(shape);
            if fallback.as_ref().is_none_or(|(_, least)| ns * AUTO_LEAST_GAIN < *least) {
                fallback = Some((design, ns));
            }
        }
        let (design, _) = fallback.expect("`single` serves every distance");
        Ok(design)
    }
}

/// The construction of a named design.
enum Pattern {
    /// This many nearly equal parts, each the prefix of one table; the radii share the errors.
    Parts(u32),
    /// The paper's nested splits.
    Splits(Vec<u32>),
    /// Lead sets over this number of near-equal groups, each a list of groups.
    LeadSets(u32, Vec<Vec<u32>>),
}

fn patterns(distance: u32) -> Vec<(String, Pattern)> {
    let k = distance;
    let mut all = vec![("single".to_owned(), Pattern::Parts(1))];
    for (parts, name) in [(2, "halves"), (3, "thirds"), (4, "quarters")] {
        if k + 1 >= parts {
            all.push((name.to_owned(), Pattern::Parts(parts)));
        }
    }
    let plain = (k + 1..=k + 3).map(|r| vec![r]);
    let nested = (k > 1).then(|| vec![k + 1, k + 1]);
    for splits in plain.chain(nested).filter(|_| k > 0) {
        let tables: f64 = splits.iter().map(|&r| binomial(r, k)).product();
        if tables <= MAX_TABLES as f64 {
            all.push((format!("paper-{tables}"), Pattern::Splits(splits)));
        }
    }
    for (groups, sets) in coverings(k) {
        all.push((format!("cover-{}", sets.len()), Pattern::LeadSets(groups, sets)));
    }
    all
}

/// Lead sets over v groups whose complements form a covering design for k.
fn coverings(k: u32) -> Vec<(u32, Vec<Vec<u32>>)> {
    let cyclic = |v: u32, base: &[u32]| {
        (v, (0..v).map(|shift| base.iter().map(|group| (group + shift) % v).collect()).collect())
    };
    let listed = |v: u32, sets: &[&[u32]]| (v, sets.iter().map(|set| set.to_vec()).collect());
    match k {
        2 => vec![
            listed(5, &[&[0, 1], &[0, 2], &[1, 2], &[3, 4]]),
            // The complements of the lines of the Fano plane.
            cyclic(7, &[0, 3, 5, 6]),
        ],
        3 => vec![
            listed(7, &[&[0, 1], &[2, 4], &[3, 5], &[3, 6], &[5, 6]]),
            listed(6, &[&[0, 1], &[0, 2], &[1, 2], &[3, 4], &[3, 5], &[4, 5]]),
            listed(
                8,
                &[
                    &[0, 1, 6],
                    &[0, 2, 7],
                    &[0, 4, 5],
                    &[1, 2, 4],
                    &[1, 3, 7],
                    &[2, 3, 5],
                    &[3, 4, 6],
                    &[5, 6, 7],
                ],
            ),
            // The quadratic residues modulo 11.
            cyclic(11, &[1, 3, 4, 5, 9]),
            (8, affine_planes()),
        ],
        _ => Vec::new(),
    }
}

/// Returns the 14 planes of the affine space AG(3, 2): {x : parity(x & a) = b}.
fn affine_planes() -> Vec<Vec<u32>> {
    (1..8u32)
        .flat_map(|a| (0..2).map(move |b| (0..8u32).filter(|x| (x & a).count_ones() % 2 == b).collect()))
        .collect()
}

fn parts_with_radii<F: Fingerprint>(parts: u32, distance: u32) -> Vec<TableDesign<F>> {
    let spare = distance + 1 - parts;
    split(F::ONES, parts)
        .into_iter()
        .zip(0..)
        .map(|(mask, part)| TableDesign { mask, radius: spare / parts + u32::from(part < spare % parts) })
        .collect()
}

/// Lead sets over near-equal groups, the groups laid out so that the first set leads.
fn tables_of<F: Fingerprint>(groups: u32, sets: &[Vec<u32>]) -> Vec<TableDesign<F>> {
    let (mut order, others): (Vec<u32>, Vec<u32>) = (0..groups).partition(|group| sets[0].contains(group));
    order.extend(others);
    let bits = split(F::ONES, groups);
    let place = |group: &u32| order.iter().position(|g| g == group).expect("a group of this design");
    sets.iter()
        .map(|set| TableDesign {
            mask: set.iter().fold(F::ZERO, |mask, group| mask | bits[place(group)]),
            radius: 0,
        })
        .collect()
}

/// The choices of [`Design::auto`], smallest file first, each with the estimated blocks per query beyond which it takes
/// a larger file. `single` halves the file but soon costs many times the look-ups, so it is for small sets; the
/// others may read some tens of blocks: tens of microseconds warm, and one wave of reads cold.
const AUTO_CHOICES: [(&str, f64); 4] =
    [("single", 24.0), ("halves", 64.0), ("thirds", 64.0), ("quarters", 64.0)];

/// Estimated candidates per query beyond which [`Design::auto`] rather takes a larger file.
const AUTO_MAX_CANDIDATES: f64 = 4096.0;

/// How many times as fast a larger file must be, by the model, where no choice keeps these limits.
const AUTO_LEAST_GAIN: f64 = 1.1;

/// Returns the tables of a nested split: at each level every choice of r − k of r near-equal groups, in colexicographic
/// order, so that the first table leads with the leading bits.
fn paper_tables<F: Fingerprint>(splits: &[u32], distance: u32) -> Vec<TableDesign<F>> {
    nested(splits, distance, F::ZERO, F::ONES)
        .into_iter()
        .map(|mask| TableDesign { mask, radius: 0 })
        .collect()
}

fn nested<F: Fingerprint>(splits: &[u32], distance: u32, led: F, rest: F) -> Vec<F> {
    let Some((&r, deeper)) = splits.split_first() else { return vec![led] };
    let groups = split(rest, r);
    choices(r, r - distance)
        .into_iter()
        .flat_map(|chosen| {
            let lead = chosen.into_iter().fold(F::ZERO, |mask, group| mask | groups[group as usize]);
            nested(deeper, distance, led | lead, rest & !lead)
        })
        .collect()
}

/// Returns the bits of `mask` in `parts` near-equal groups of neighbours, the larger groups first.
pub(crate) fn split<F: Fingerprint>(mask: F, parts: u32) -> Vec<F> {
    let positions: Vec<u32> = (0..F::BITS).filter(|&p| mask & F::bit(p) != F::ZERO).collect();
    let (each, larger) = (positions.len() / parts as usize, positions.len() % parts as usize);
    let mut rest = positions.as_slice();
    (0..parts as usize)
        .map(|group| {
            let (mine, others) = rest.split_at(each + usize::from(group < larger));
            rest = others;
            mine.iter().fold(F::ZERO, |mask, &p| mask | F::bit(p))
        })
        .collect()
}

/// Returns all ways to choose `count` of 0..`of`, each ascending, in colexicographic order: 01, 02, 12, 03, 13, 23.
pub(super) fn choices(of: u32, count: u32) -> Vec<Vec<u32>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    (0..of)
        .flat_map(|last| {
            choices(last, count - 1).into_iter().map(move |mut chosen| {
                chosen.push(last);
                chosen
            })
        })
        .collect()
}

/// C(n, k), exact below 2^53.
pub(super) fn binomial(n: u32, k: u32) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1))
}

/// Groups beyond the fewest possible that are tried.
const MAX_EXTRA_GROUPS: u32 = 4;

/// Sets of masks to choose from, each of which leaves no pair within the plan's distance out.
pub(crate) fn lead_sets<F: Fingerprint>(plan: &Plan<F>) -> Vec<Vec<F>> {
    let reaches: Vec<(F, u32)> = plan.probes().iter().map(|p| (p.reach.mask, p.reach.radius)).collect();
    let whole = [(F::ONES, plan.distance())];
    // A mask without bits: everything agrees with everything.
    let mut sets = vec![vec![F::ZERO]];
    for extra in 0..=MAX_EXTRA_GROUPS {
        sets.extend(without_radii(&reaches, extra));
        sets.extend(without_radii(&whole, extra));
    }
    for name in Design::<F>::names(plan.distance()) {
        let design = Design::<F>::named(&name, plan.distance()).expect("it is listed");
        if design.tables().iter().all(|table| table.radius == 0) {
            sets.push(design.tables().iter().map(|table| table.mask).collect());
        }
    }
    sets
}

/// As [`lead_sets`], without tables to use.
pub(crate) fn lead_sets_of_all<F: Fingerprint>(distance: u32) -> Vec<Vec<F>> {
    lead_sets(&Plan::of_one_table(distance))
}

/// Splits each mask into `extra` groups more than its radius calls for; `None` when that makes more masks
/// than a design may have.
fn without_radii<F: Fingerprint>(reaches: &[(F, u32)], extra: u32) -> Option<Vec<F>> {
    let groups_of = |mask: F, radius: u32| (radius + 1 + extra).min(mask.count_ones());
    let masks: f64 = reaches.iter().map(|&(mask, radius)| binomial(groups_of(mask, radius), radius)).sum();
    if masks > MAX_TABLES as f64 {
        return None;
    }
    let mut leads = Vec::new();
    for &(mask, radius) in reaches {
        if radius == 0 {
            leads.push(mask);
        } else if radius >= mask.count_ones() {
            leads.push(F::ZERO);
        } else {
            let groups = split(mask, groups_of(mask, radius));
            let clean = groups.len() as u32 - radius;
            let union = |set: Vec<u32>| set.iter().fold(F::ZERO, |all, &group| all | groups[group as usize]);
            leads.extend(choices(groups.len() as u32, clean).into_iter().map(union));
        }
    }
    Some(leads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::design::TableDesign;
    use crate::design::coverage::{THOROUGH_STEPS, Verdict, missed};

    #[test]
    fn the_designs_for_three_errors_are_those_of_the_literature() {
        let expected = [
            ("single", 1, 64, 64, 3),
            ("halves", 2, 32, 32, 1),
            ("paper-4", 4, 16, 16, 0),
            ("cover-5", 5, 18, 19, 0),
            ("cover-6", 6, 20, 22, 0),
            ("cover-8", 8, 24, 24, 0),
            ("paper-10", 10, 25, 26, 0),
            ("cover-11", 11, 28, 30, 0),
            ("cover-14", 14, 32, 32, 0),
            ("paper-16", 16, 28, 28, 0),
            ("paper-20", 20, 31, 33, 0),
        ];
        for (name, tables, least, most, radius) in expected {
            let design = Design::<u64>::named(name, 3).unwrap();
            let bits: Vec<u32> = design.tables().iter().map(TableDesign::prefix_bits).collect();
            assert_eq!(bits.len(), tables, "{name}");
            assert_eq!((bits.iter().min(), bits.iter().max()), (Some(&least), Some(&most)), "{name}");
            assert!(design.tables().iter().all(|t| t.radius == radius), "{name}");
        }
    }

    #[test]
    fn every_name_makes_a_design_at_both_widths() {
        for distance in 0..=MAX_NAMED_DISTANCE {
            for name in Design::<u64>::names(distance) {
                Design::<u64>::named(&name, distance).unwrap_or_else(|e| panic!("{name}, {distance}: {e}"));
                Design::<u128>::named(&name, distance).unwrap_or_else(|e| panic!("{name}, {distance}: {e}"));
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let text = Design::<u64>::named("cover-7", 3).unwrap_err().to_string();
        assert!(text.contains("halves") && text.contains("cover-8") && text.contains("auto"), "{text}");
    }

    /// Of the designs that benches/peers/results/notes.md measures ("The Xeon"), none takes less than 1/1.1 of the time,
    /// except where a smaller one reads few blocks.
    #[test]
    fn auto_is_near_the_fastest_design_that_was_measured() {
        let (ten, hundred) = (10_000_000, 100_000_000);
        for (count, codec, from_six) in [
            (ten, Codec::Huffman, ["halves", "halves", "thirds", "halves", "thirds", "thirds", "thirds"]),
            (
                ten,
                Codec::EliasFano,
                ["halves", "quarters", "thirds", "quarters", "quarters", "quarters", "quarters"],
            ),
            (hundred, Codec::Huffman, ["halves", "halves", "halves", "halves", "thirds", "thirds", "thirds"]),
            (
                hundred,
                Codec::EliasFano,
                ["halves", "halves", "thirds", "thirds", "thirds", "thirds", "thirds"],
            ),
        ] {
            for (distance, name) in (6..).zip(from_six) {
                let design = Design::<u64>::auto(distance, count, codec, 1024).unwrap();
                assert_eq!(design.name(), name, "{count}, {codec}, {distance}");
            }
        }
    }

    #[test]
    fn auto_serves_every_named_distance_and_any_count() {
        for distance in 0..=8 {
            for count in [0, 1, 1000, 100_000_000, 8_000_000_000, u64::MAX] {
                let design = Design::<u64>::auto(distance, count, Codec::EliasFano, 1024).unwrap();
                assert_eq!(design.distance(), distance);
            }
        }
        // Filters make long prefixes with several errors cheap.
        for (distance, filter, name) in [
            (5, FilterChoice::Auto, "halves"),
            (5, FilterChoice::None, "thirds"),
            (8, FilterChoice::Auto, "thirds"),
        ] {
            let layout = Layout { codec: Codec::EliasFano, block_bytes: 2048 };
            let design = Design::<u64>::auto_with(distance, 100_000_000, layout, filter).unwrap();
            assert_eq!(design.name(), name, "{distance}, {filter}");
        }
        for (count, name) in [(10_000, "single"), (300_000, "halves"), (8_000_000_000, "halves")] {
            assert_eq!(Design::<u64>::auto(3, count, Codec::Huffman, 4096).unwrap().name(), name, "{count}");
        }
    }

    #[test]
    fn the_papers_own_examples_come_out() {
        // §3.1.1: k = 3, 64 bits, 2^34 fingerprints: 4 tables with 2^18 candidates, 16 with 2^6,
        // 10 with 2^8.5 (25 or 26 bits lead), 20 with about 2^2.
        for (splits, count, least_prefix) in
            [(&[4][..], 4, 16), (&[5], 10, 25), (&[4, 4], 16, 28), (&[6], 20, 31)]
        {
            let paper_tables = paper_tables::<u64>(splits, 3);
            let least = paper_tables.iter().map(|table| table.mask.count_ones()).min();
            assert_eq!((paper_tables.len(), least), (count, Some(least_prefix)), "{splits:?}");
        }
    }

    #[test]
    fn binomials_are_exact() {
        assert_eq!(binomial(64, 3), 41_664.0);
        assert_eq!(binomial(5, 6), 0.0);
        assert_eq!(binomial(5, 0), 1.0);
    }

    fn check<F: Fingerprint>(design: &str, built: u32, distance: u32) {
        let plan = Design::<F>::named(design, built).unwrap().plan(distance, 1_000_000, Codec::Huffman, 4096);
        let sets = lead_sets(&plan);
        assert!(sets.len() > 3, "{design}, {distance}: {}", sets.len());
        for set in sets {
            // A mask without bits covers everything, and is no table.
            if set.contains(&F::ZERO) {
                continue;
            }
            let tables: Vec<_> = set.iter().map(|&mask| TableDesign { mask, radius: 0 }).collect();
            let verdict = missed(&tables, distance, &mut (50 * THOROUGH_STEPS));
            assert_eq!(verdict, Verdict::Covers, "{design}, {distance}, {} masks", set.len());
        }
    }

    #[test]
    fn no_set_leaves_a_pair_out() {
        for (design, built) in [("single", 1), ("single", 3), ("halves", 3), ("thirds", 4), ("cover-6", 3)] {
            for distance in 1..=5 {
                check::<u64>(design, built, distance);
            }
        }
        check::<u64>("halves", 3, 8);
        check::<u128>("halves", 3, 3);
    }

    #[test]
    fn a_radius_of_all_bits_asks_for_nothing() {
        assert_eq!(without_radii(&[(0xfu64, 4)], 0), Some(vec![0]));
        assert_eq!(without_radii(&[(0xfu64, 3)], 0), Some(vec![8, 4, 2, 1]));
        assert_eq!(without_radii(&[(u64::MAX, 20)], 3), None);
    }
}
