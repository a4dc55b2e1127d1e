//! The model that a store is compared with.

// Named, because fuzz targets take this file for a module of their own.
#[path = "chance.rs"]
mod chance;

use std::collections::BTreeSet;

use hamdex::BatchOptions;
use hamdex::Fingerprint;
use hamdex_store::{CreateOptions, Operation, Snapshot, StoreOptions};

pub(crate) use chance::Chance;

/// A plain set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model<F: Ord>(pub(crate) BTreeSet<(F, u64)>);

impl<F: Fingerprint> Model<F> {
    pub(crate) fn apply(&mut self, operations: &[Operation<F>]) {
        for operation in operations {
            match *operation {
                Operation::Insert(fingerprint, id) => drop(self.0.insert((fingerprint, id))),
                Operation::Remove(fingerprint, id) => drop(self.0.remove(&(fingerprint, id))),
            }
        }
    }

    pub(crate) fn ids(&self, fingerprint: F) -> Vec<u64> {
        self.0.range((fingerprint, 0)..=(fingerprint, u64::MAX)).map(|pair| pair.1).collect()
    }

    /// Distance and fingerprint of all within a distance, nearest first.
    pub(crate) fn within(&self, query: F, distance: u32) -> Vec<(u32, F)> {
        let mut found: Vec<(u32, F)> =
            self.0.iter().map(|pair| (pair.0.distance(query), pair.0)).filter(|m| m.0 <= distance).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns whether a pair is stored, by the ids of its fingerprint; without ids, the id is 0.
pub(crate) fn holds<F: Fingerprint>(snapshot: &Snapshot<F>, fingerprint: F, id: u64) -> bool {
    let ids = snapshot.ids(fingerprint).unwrap();
    ids.contains(&id) || ids.is_empty() && id == 0 && snapshot.contains(fingerprint).unwrap()
}

/// Compares all answers with those of the model.
pub(crate) fn assert_same<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    model: &Model<F>,
    queries: &[F],
    has_ids: bool,
) {
    let all: Vec<(F, u64)> = snapshot.pairs_in_order().collect::<Result<_, _>>().unwrap();
    assert_eq!(all, model.0.iter().copied().collect::<Vec<_>>());
    let count = snapshot.count().unwrap();
    let fingerprints: BTreeSet<F> = all.iter().map(|pair| pair.0).collect();
    assert_eq!((count.pairs, count.fingerprints), (all.len() as u64, fingerprints.len() as u64));
    let mut searcher = snapshot.searcher();
    for &query in queries {
        let at = all.partition_point(|pair| pair.0 < query);
        for &(fingerprint, id) in all[at..].iter().take(3).chain(&[(query, 0), (query, 1)]) {
            let is_there = model.0.contains(&(fingerprint, id));
            assert_eq!(holds(snapshot, fingerprint, id), is_there);
        }
        let found: Vec<(F, u64)> = snapshot.pairs_in_order_from(query).collect::<Result<_, _>>().unwrap();
        assert_eq!(found, all[at..], "{query:?}");
        for distance in [0, 2, 3, 5] {
            let expected = model.within(query, distance);
            let found: Vec<(u32, F)> = searcher
                .within(query, distance)
                .unwrap()
                .iter()
                .map(|m| (m.distance, m.fingerprint))
                .collect();
            assert_eq!(found, expected, "{query:?} within {distance}");
            let first = searcher.first(query, distance).unwrap().map(|m| (m.distance, m.fingerprint));
            assert_eq!(first.is_some(), !expected.is_empty());
            assert!(first.is_none_or(|first| expected.contains(&first)));
            let nearest = searcher.nearest_within(query, 2, distance).unwrap();
            let nearest: Vec<(u32, F)> = nearest.iter().map(|m| (m.distance, m.fingerprint)).collect();
            assert_eq!(nearest, expected[..expected.len().min(2)]);
        }
        assert_eq!(snapshot.contains(query).unwrap(), !model.ids(query).is_empty());
        assert_eq!(snapshot.ids(query).unwrap(), if has_ids { model.ids(query) } else { Vec::new() });
        let from: Vec<(F, u64)> = snapshot.pairs_in_order_from(query).collect::<Result<_, _>>().unwrap();
        assert_eq!(from, model.0.range((query, 0)..).copied().collect::<Vec<_>>());
        let nearest = searcher.nearest_within(query, 3, F::BITS).unwrap();
        let nearest: Vec<(u32, F)> = nearest.iter().map(|m| (m.distance, m.fingerprint)).collect();
        let expected = model.within(query, F::BITS);
        assert_eq!(nearest, expected[..expected.len().min(3)]);
    }
    let mut answered = 0;
    let outcome = snapshot.batch_with(queries, 3, &BatchOptions::new().threads(1), |place, matches| {
        assert_eq!(place, answered);
        answered += 1;
        let found: Vec<(u32, F)> = matches.iter().map(|m| (m.distance, m.fingerprint)).collect();
        assert_eq!(found, model.within(queries[place], 3));
        Ok::<_, hamdex::ReadError>(())
    });
    outcome.unwrap();
    assert_eq!(answered, queries.len());
}

/// Compares the answers to batches of queries with those of the model, also with a limit.
pub(crate) fn assert_same_batches<F: Fingerprint>(snapshot: &Snapshot<F>, model: &Model<F>, queries: &[F]) {
    for limit in [usize::MAX, 1, 3] {
        let mut answered = 0;
        let options = BatchOptions::new().threads(1).limit(limit);
        let outcome = snapshot.batch_with(queries, 3, &options, |place, matches| {
            answered += 1;
            let found: Vec<(u32, F)> = matches.iter().map(|m| (m.distance, m.fingerprint)).collect();
            let mut expected = model.within(queries[place], 3);
            expected.truncate(limit);
            assert_eq!(found, expected, "at most {limit}");
            Ok::<_, hamdex::ReadError>(())
        });
        outcome.unwrap();
        assert_eq!(answered, queries.len());
    }
}

/// Multiplier of the length of the tests; `.ci/campaign-store` sets it.
const CAMPAIGN: &str = "HAMDEX_CAMPAIGN";

/// Seeds: this many as usual, more in a campaign.
pub(crate) fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let times: u64 = std::env::var(CAMPAIGN).map_or(1, |times| times.parse().unwrap());
    usual.start..usual.start + (usual.end - usual.start) * times
}

/// Step through many places: this wide as usual, 1 in a campaign.
pub(crate) fn step(usual: usize) -> usize {
    if std::env::var_os(CAMPAIGN).is_some() { 1 } else { usual }
}

/// Options with little memory, so that flushes and merges are frequent.
pub(crate) fn tiny() -> StoreOptions {
    StoreOptions::new().memory(1 << 14).threads(1)
}

pub(crate) fn shape(ids: bool) -> CreateOptions {
    CreateOptions::new().ids(ids).design("halves")
}

impl Chance {
    /// One of a few hundred, many of them near to each other.
    pub(crate) fn fingerprint(&mut self) -> u64 {
        let centre = [0, u64::MAX, 0x0123_4567_89ab_cdef][self.below(3) as usize];
        let flips = self.below(4);
        (0..flips).fold(centre, |value, _| value ^ 1 << (self.below(8) * 8))
    }

    pub(crate) fn operations(&mut self, count: u64, has_ids: bool) -> Vec<Operation<u64>> {
        (0..count)
            .map(|_| {
                let (fingerprint, id) = (self.fingerprint(), if has_ids { self.below(5) } else { 0 });
                if self.below(3) == 0 {
                    Operation::Remove(fingerprint, id)
                } else {
                    Operation::Insert(fingerprint, id)
                }
            })
            .collect()
    }
}
