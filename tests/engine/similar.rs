//! Documents similar to a set of shingles: the same that a program finds which compares all.

use std::collections::BTreeSet;

use hamdex::similar::{Condition, Measure};
use hamdex::{BuildOptions, Builder, Checksums, Index, Merger, OpenOptions, ReadErrorKind, shingles};
use proptest::prelude::*;

type Sets = Vec<Vec<u64>>;

const MEASURES: [Measure; 3] = [Measure::Resemblance, Measure::Containing, Measure::Contained];

fn built(sets: &Sets, ids: impl Fn(u64) -> u64) -> Index<u64> {
    let mut builder = Builder::in_memory(BuildOptions::new().shingles(true).memory(16 << 20)).unwrap();
    for (number, set) in (0..).zip(sets) {
        builder.push_with_id(number % 3, ids(number)).unwrap();
        builder.push_shingles(ids(number), set).unwrap();
    }
    Index::from_bytes(builder.into_inner().unwrap().0).unwrap()
}

/// Returns the ids and similarities of all documents that meet the condition, as defined.
fn expected(sets: &Sets, ids: impl Fn(u64) -> u64, query: &[u64], condition: &Condition) -> Vec<(u64, f64)> {
    let mut found: Vec<(u64, f64)> = Vec::new();
    let query_set: BTreeSet<u64> = query.iter().copied().collect();
    for (number, set) in (0..).zip(sets) {
        let shared = set.iter().filter(|&shingle| query_set.contains(shingle)).count();
        let share = condition.share(shared, query.len(), set.len());
        if shared > 0 && share >= condition.least() {
            found.push((ids(number), share));
        }
    }
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    found
}

fn found(index: &Index<u64>, query: &[u64], condition: &Condition, limit: usize) -> Vec<(u64, f64)> {
    let similar = index.searcher().similar(query, condition, limit).unwrap();
    similar.into_iter().map(|one| (one.id.id, one.similarity)).collect()
}

fn check(index: &Index<u64>, sets: &Sets, ids: impl Fn(u64) -> u64 + Copy, queries: &[Vec<u64>], least: f64) {
    for measure in MEASURES {
        let condition = Condition::new(measure, least).unwrap();
        for query in queries {
            let expected = expected(sets, ids, query, &condition);
            assert_eq!(found(index, query, &condition, usize::MAX), expected, "{condition:?}");
            let limit = expected.len() / 2;
            assert_eq!(found(index, query, &condition, limit), expected[..limit]);
        }
    }
}

fn sets(most: usize) -> impl Strategy<Value = Sets> {
    let apart = prop::collection::btree_set(0u64..1 << shingles::BITS, 0..40);
    let crowded = prop::collection::btree_set(0u64..60, 0..50);
    let ends = prop::collection::btree_set((1u64 << shingles::BITS) - 9..1 << shingles::BITS, 0..6);
    let with_footer = (apart.clone(), 0u64..20).prop_map(|(mut set, footer)| {
        set.extend((0..footer).map(|number| 7_000_000 + number));
        set
    });
    let set = prop_oneof![2 => apart, 3 => crowded, 1 => ends, 3 => with_footer];
    prop::collection::vec(set.prop_map(|set| set.into_iter().collect()), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn they_are_those_of_the_definition(stored in sets(60), others in sets(8), percent in 1u32..=100, gap in 1u64..4) {
        let ids = |number: u64| 5 + number * gap;
        let index = built(&stored, ids);
        index.verify().unwrap();
        let queries: Sets = others.into_iter().chain(stored.iter().take(12).cloned()).collect();
        check(&index, &stored, ids, &queries, f64::from(percent) / 100.0);
    }

    #[test]
    fn a_merged_index_finds_them_too(stored in sets(40), percent in 1u32..=100, split in 0usize..40) {
        let ids = |number: u64| number;
        let split = split.min(stored.len());
        let first = built(&stored[..split].to_vec(), ids);
        let second = built(&stored[split..].to_vec(), |number| ids(number + split as u64));
        let mut bytes = Vec::new();
        Merger::new([&first, &second]).unwrap().write_to(&mut bytes).unwrap();
        let merged = Index::from_bytes(bytes).unwrap();
        merged.verify().unwrap();
        check(&merged, &stored, ids, &stored, f64::from(percent) / 100.0);
    }
}

/// A number without a pattern.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 16
}

/// Every document has a footer and one of a few headers, so that many lists span many blocks; some are nearly equal.
fn crowd(documents: u64) -> Sets {
    let set = |document: u64| {
        let base = document - document % 5 * u64::from(document % 50 < 5);
        let own = (0..30).map(|number| scattered(base * 1000 + number + u64::from(number < 2) * document));
        let footer = (0..12).map(|number| scattered(1 << 40 | number));
        let header = (0..6).map(|number| scattered((1 << 41) | (document % 4 * 100 + number)));
        let set: BTreeSet<u64> = own.chain(footer).chain(header).collect();
        set.into_iter().collect()
    };
    (0..documents).map(set).collect()
}

#[test]
fn lists_of_many_blocks_are_searched_exactly() {
    let stored = crowd(4000);
    let index = built(&stored, |number| number);
    index.verify().unwrap();
    let footer: Vec<u64> = {
        let first: BTreeSet<u64> = stored[0].iter().copied().collect();
        stored[1].iter().copied().filter(|shingle| first.contains(shingle)).collect()
    };
    let mut queries: Sets = (0..4000).step_by(311).map(|number| stored[number].clone()).collect();
    queries.extend([footer, vec![], vec![1], crowd(4100)[4050].clone()]);
    for least in [0.05, 0.3, 0.7, 0.9, 1.0] {
        check(&index, &stored, |number| number, &queries, least);
    }
}

#[test]
fn sixty_thousand_variants_of_one_text_are_all_found() {
    let common: Vec<u64> = (0..40).map(scattered).collect();
    let variants = 60_000;
    let stored: Sets = (0..variants)
        .map(|variant| {
            let mut set: BTreeSet<u64> = common.iter().copied().collect();
            set.insert(scattered(1 << 30 | variant));
            set.into_iter().collect()
        })
        .collect();
    let index = built(&stored, |number| number);
    for measure in MEASURES {
        let condition = Condition::new(measure, 0.9).unwrap();
        let mut ids: Vec<u64> =
            found(&index, &stored[777], &condition, usize::MAX).into_iter().map(|one| one.0).collect();
        assert_eq!(ids[0], 777);
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..variants));
        assert_eq!(found(&index, &stored[777], &condition, 3).len(), 3);
    }
}

#[test]
fn a_query_may_have_what_no_document_can() {
    let stored = vec![vec![1, 2, 3]];
    let index = built(&stored, |number| number);
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    assert_eq!(found(&index, &[1, 2, 3, 1 << shingles::BITS], &condition, 9), [(0, 0.75)]);
    assert_eq!(found(&index, &[1, 2, 3, u64::MAX - 1, u64::MAX], &condition, 9), []);
}

#[test]
fn an_index_without_shingles_says_so() {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().ids(true)).unwrap();
    builder.push_with_id(5, 1).unwrap();
    let index = Index::<u64>::from_bytes(builder.into_inner().unwrap().0).unwrap();
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let refused = index.searcher().similar(&[1], &condition, 1).unwrap_err();
    assert!(matches!(refused.kind(), ReadErrorKind::NoShingles), "{refused}");
}

#[test]
fn damage_is_found_or_harmless() {
    let stored = crowd(300);
    let whole = {
        let mut builder = Builder::in_memory(BuildOptions::<u64>::new().shingles(true)).unwrap();
        for (number, set) in (0..).zip(&stored) {
            builder.push_with_id(number, number).unwrap();
            builder.push_shingles(number, set).unwrap();
        }
        builder.into_inner().unwrap().0
    };
    let condition = Condition::new(Measure::Resemblance, 0.6).unwrap();
    let expected: Vec<_> =
        stored.iter().step_by(29).map(|set| expected(&stored, |number| number, set, &condition)).collect();
    let size = Index::<u64>::from_bytes(whole.clone()).unwrap().stats().shingle_bytes.unwrap() as usize;
    let (mut refused, mut failed) = (0, 0);
    for checksums in [Checksums::FirstTouch, Checksums::Always, Checksums::UpFront] {
        for at in (whole.len() - 4096 - size..whole.len() - 4096).step_by(389) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            let Ok(index) = OpenOptions::new().checksums(checksums).from_bytes::<u64>(damaged) else {
                refused += 1;
                continue;
            };
            for (set, expected) in stored.iter().step_by(29).zip(&expected) {
                match index.searcher().similar(set, &condition, usize::MAX) {
                    Ok(similar) => {
                        let found: Vec<_> =
                            similar.into_iter().map(|one| (one.id.id, one.similarity)).collect();
                        assert_eq!(&found, expected, "byte {at}");
                    }
                    Err(error) => {
                        assert!(matches!(error.kind(), ReadErrorKind::Damaged { .. }), "{error}");
                        failed += 1;
                    }
                }
            }
            let _ = index.verify().unwrap_err();
        }
    }
    assert!(refused > 20 && failed > 100, "{refused} and {failed}");
}
