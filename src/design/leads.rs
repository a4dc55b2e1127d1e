//! Lead sets without radii: masks such that any two fingerprints within a distance agree in all the
//! bits under one of them. A self-join brings together values that agree, so it has no use for a radius.
//!
//! At most r errors in the bits of a mask that is split into v > r groups leave v − r of the groups
//! clean: so the table (mask, r) does what the C(v, r) unions of v − r groups do with radius 0.

use crate::design::catalogue::{binomial, choices, split};
use crate::design::plan::Plan;
use crate::design::{Design, MAX_TABLES};
use hamdex_fingerprint::Fingerprint;

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
