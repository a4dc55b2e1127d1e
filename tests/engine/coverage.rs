//! Designs cover what they claim: every error pattern is tried, one by one.

use crate::common::Numbers;
use hamdex::{Codec, Design, DesignError, Fingerprint, TableDesign};
use rayon::prelude::*;

/// Some pattern of at most `errors` errors, `so_far` included and all further ones from position
/// `from` on, that no table admits.
fn missed<F: Fingerprint>(tables: &[TableDesign<F>], so_far: F, from: u32, errors: u32) -> Option<F> {
    if !tables.iter().any(|table| table.admits(so_far)) {
        return Some(so_far);
    }
    if errors == 0 {
        return None;
    }
    (from..F::BITS).find_map(|position| missed(tables, so_far | F::bit(position), position + 1, errors - 1))
}

/// The same, with both processors.
fn missed_in_all<F: Fingerprint>(tables: &[TableDesign<F>], errors: u32) -> Option<F> {
    if errors == 0 {
        return missed(tables, F::ZERO, 0, 0);
    }
    let first = |position| missed(tables, F::bit(position), position + 1, errors - 1);
    missed(tables, F::ZERO, 0, 0).or_else(|| (0..F::BITS).into_par_iter().find_map_first(first))
}

fn every_design_covers<F: Fingerprint>(distance: u32) {
    let names = Design::<F>::names(distance);
    assert!(!names.is_empty());
    for name in names {
        let design = Design::<F>::named(&name, distance).unwrap();
        assert_eq!(missed_in_all(design.tables(), distance), None, "{name} for {distance}");
        assert_eq!((design.name(), design.distance()), (name.as_str(), distance));
    }
}

#[test]
fn every_named_design_admits_every_error_pattern_at_64_bits() {
    (0..=4).for_each(every_design_covers::<u64>);
}

#[test]
fn every_named_design_admits_every_error_pattern_at_128_bits() {
    (0..=3).for_each(every_design_covers::<u128>);
}

#[test]
fn the_leanest_designs_miss_some_pattern_of_one_error_more() {
    for distance in 0..=3 {
        for name in ["single", "halves", "paper-4", "cover-8"] {
            let Ok(design) = Design::<u64>::named(name, distance) else { continue };
            let pattern = missed_in_all(design.tables(), distance + 1);
            assert!(pattern.is_some_and(|p| p.count_ones() == distance + 1), "{name} for {distance}");
        }
    }
}

/// A random design: masks of any form, the first of them leading ones.
fn random_tables(numbers: &mut Numbers) -> (Vec<TableDesign<u64>>, u32) {
    let distance = numbers.below(4) as u32;
    let count = numbers.below(6) + 1;
    let mut tables: Vec<TableDesign<u64>> = (0..count)
        .map(|_| {
            // Sparse masks are covered rather often, dense ones hardly ever.
            let mask = numbers.word() & numbers.word() & (numbers.word() | numbers.word());
            TableDesign::new(mask | 1, numbers.below(u64::from(distance) + 1) as u32)
        })
        .collect();
    tables[0].mask = u64::prefix_mask(numbers.below(40) as u32 + 4);
    (tables, distance)
}

#[test]
fn custom_designs_are_taken_exactly_when_they_cover() {
    let mut numbers = Numbers(12);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..300 {
        let (tables, distance) = random_tables(&mut numbers);
        if tables.iter().any(|table| table.radius > table.prefix_bits()) {
            continue;
        }
        let expected = missed_in_all(&tables, distance);
        match Design::custom("mine", distance, tables.clone()) {
            Ok(design) => {
                taken += 1;
                assert_eq!(expected, None, "{tables:?}");
                assert_eq!(design.tables(), tables);
            }
            Err(DesignError::NotCovering { missed, name, distance: reported }) => {
                refused += 1;
                assert_eq!((name.as_str(), reported), ("mine", distance));
                let pattern = u64::parse_hex(&missed).unwrap();
                assert!(pattern.count_ones() <= distance, "{missed}");
                assert!(
                    !tables.iter().any(|table| table.admits(pattern)),
                    "{missed} is admitted: {tables:?}"
                );
                assert!(expected.is_some());
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(taken > 30 && refused > 30, "{taken} and {refused}");
}

#[test]
fn a_design_without_one_of_its_tables_is_refused() {
    for distance in 1..=4 {
        for name in Design::<u64>::names(distance) {
            // Some designs have a table to spare; of these nothing is claimed.
            if !["halves", "thirds", "quarters"].contains(&name.as_str()) && !name.starts_with("paper") {
                continue;
            }
            let tables = Design::<u64>::named(&name, distance).unwrap().tables().to_vec();
            for dropped in 1..tables.len() {
                let mut fewer = tables.clone();
                fewer.remove(dropped);
                let refusal = Design::custom("fewer", distance, fewer.clone()).unwrap_err();
                let DesignError::NotCovering { missed, .. } = refusal else { panic!("{refusal}") };
                let pattern = u64::parse_hex(&missed).unwrap();
                assert!(
                    pattern.count_ones() <= distance && !fewer.iter().any(|t| t.admits(pattern)),
                    "{name}"
                );
                // The missed patterns are those of the dropped table.
                assert!(tables[dropped].admits(pattern), "{name}");
            }
        }
    }
}

#[test]
fn plans_for_any_distance_admit_every_error_pattern() {
    for name in Design::<u64>::names(2) {
        let design = Design::<u64>::named(&name, 2).unwrap();
        for asked in 0..=3 {
            let plan = design.plan(asked, 1_000_000, Codec::Huffman, 4096);
            let reaches: Vec<TableDesign<u64>> = plan.probes().iter().map(|probe| probe.reach).collect();
            assert_eq!(missed_in_all(&reaches, asked), None, "{name}, asked {asked}");
            for probe in plan.probes() {
                // A probe leads with the bits that its table leads with, or with all of table 0's.
                let mask = design.tables()[probe.table].mask;
                assert!(probe.reach.mask == mask || (probe.table, probe.reach.mask) == (0, u64::MAX));
            }
        }
    }
}

#[test]
fn designs_out_of_range_are_refused_with_the_reason() {
    let table = TableDesign::<u64>::new;
    let whole = table(u64::MAX, 3);
    let custom =
        |distance, tables: Vec<TableDesign<u64>>| Design::custom("mine", distance, tables).unwrap_err();
    assert!(matches!(custom(3, vec![]), DesignError::TableCount { found: 0, max: 64 }));
    assert!(matches!(custom(3, vec![whole; 65]), DesignError::TableCount { found: 65, .. }));
    assert!(matches!(custom(65, vec![whole]), DesignError::DistanceTooLarge { distance: 65, max: 64 }));
    assert!(matches!(custom(3, vec![whole, table(0, 0)]), DesignError::BadTable { table: 1 }));
    assert!(matches!(custom(3, vec![table(3 << 62, 3)]), DesignError::BadTable { table: 0 }));
    assert!(matches!(custom(3, vec![table(u64::MAX >> 1, 3)]), DesignError::FirstNotLeading));
    for name in ["", "two\nlines", &"x".repeat(65)] {
        assert!(matches!(Design::custom(name, 3, vec![whole]), Err(DesignError::BadName)), "{name:?}");
    }
    assert!(matches!(Design::<u64>::named("auto", 3), Err(DesignError::Unknown { .. })));
    assert!(matches!(Design::<u64>::named("halves", 0), Err(DesignError::Unknown { .. })));
    assert!(matches!(Design::<u64>::named("single", 17), Err(DesignError::DistanceTooLarge { .. })));
}
