//! The places of the removed pairs of a run or segment.

use std::ops::Range;
use std::sync::Arc;

use hamdex::set::StoredId;
use roaring::RoaringTreemap;

/// Maximum number of places in the newest set, which every removal may copy.
const MAX_NEWEST: u64 = 1 << 12;

/// A set is united with the one before unless that is so many times as large: a copy of it is due to as many new places.
const FANOUT: u64 = 16;

/// Maximum number of places that are tested one by one.
const MAX_TESTED: u64 = 256;

/// Ids of a fingerprint, ascending.
pub(crate) type IdList<'a> = Box<dyn Iterator<Item = StoredId> + 'a>;

/// The places of removed pairs. Cloning is cheap, and a clone never changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemovedPlaces {
    /// Sets without a place in common, the largest and oldest first.
    sets: Vec<Arc<RoaringTreemap>>,
}

impl RemovedPlaces {
    /// Wraps a set of places.
    pub(crate) fn of(places: RoaringTreemap) -> Self {
        Self { sets: if places.is_empty() { Vec::new() } else { vec![Arc::new(places)] } }
    }

    /// Whether no pair has been removed, as usual.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the number of removed pairs.
    pub(crate) fn len(&self) -> u64 {
        self.sets.iter().map(|places| places.len()).sum()
    }

    /// Whether the pair at a place has been removed.
    #[inline]
    pub(crate) fn contains(&self, place: u64) -> bool {
        self.sets.iter().any(|places| places.contains(place))
    }

    /// Returns the number of pairs at these places that are left.
    pub(crate) fn count_left(&self, places: &Range<u64>) -> u64 {
        length(places) - self.count(places)
    }

    /// Returns the ids at those of the places that are left, as `id` gives them.
    pub(crate) fn list<'a>(
        &'a self,
        places: Range<u64>,
        id: impl FnMut(u64) -> Option<u64> + 'a,
    ) -> IdList<'a> {
        Box::new(self.left_of(places).filter_map(id).map(|id| StoredId { part: 0, id }))
    }

    /// Whether any pair at these places is left.
    pub(crate) fn leaves_any_of(&self, places: Range<u64>) -> bool {
        // Usually the first one is.
        !places.is_empty() && (!self.contains(places.start) || self.count(&places) < length(&places))
    }

    /// Returns the places of a range that are left, ascending. Stretches of removed ones are not gone through.
    pub(crate) fn left_of(&self, places: Range<u64>) -> LeftPlaces<'_> {
        LeftPlaces { removed: self, current: 0..0, is_sure: true, later: vec![places] }
    }

    /// Returns the number of removed pairs at these places.
    fn count(&self, places: &Range<u64>) -> u64 {
        self.sets.iter().map(|removed| count_in(removed, places)).sum()
    }

    /// Adds a place. Returns whether it is new.
    pub(crate) fn insert(&mut self, place: u64) -> bool {
        if self.contains(place) {
            return false;
        }
        if self.sets.last().is_none_or(|newest| newest.len() >= MAX_NEWEST) {
            self.sets.push(Arc::default());
        }
        let newest = self.sets.last_mut().expect("one has been added if there was none");
        let newest = Arc::make_mut(newest);
        newest.insert(place);
        if newest.len() == MAX_NEWEST {
            self.unite();
        }
        true
    }

    /// Unites the last sets, until each is much smaller than the one before.
    fn unite(&mut self) {
        while let [.., before, last] = &mut self.sets[..]
            && before.len() < FANOUT * last.len()
        {
            *Arc::make_mut(before) |= &**last;
            self.sets.pop();
        }
    }

    /// Returns the places that were added after an earlier clone.
    pub(crate) fn since(&self, earlier: &Self) -> RoaringTreemap {
        &self.places_outside(earlier) - &earlier.places_outside(self)
    }

    /// Returns the places of the sets that are not those of another clone.
    fn places_outside(&self, other: &Self) -> RoaringTreemap {
        let is_shared = |places: &Arc<_>| other.sets.iter().any(|other| Arc::ptr_eq(places, other));
        let own = self.sets.iter().filter(|places| !is_shared(places));
        own.fold(RoaringTreemap::new(), |all, places| all | &**places)
    }

    /// Returns all places.
    pub(crate) fn to_places(&self) -> RoaringTreemap {
        self.places_outside(&Self::default())
    }
}

/// The places of a range that are left: made by [`RemovedPlaces::left_of`].
#[derive(Debug)]
pub(crate) struct LeftPlaces<'r> {
    removed: &'r RemovedPlaces,
    /// The next places.
    current: Range<u64>,
    /// Whether all of them are left.
    is_sure: bool,
    /// The ranges after them, the next one last.
    later: Vec<Range<u64>>,
}

impl LeftPlaces<'_> {
    /// Goes on to the next range with places that are left. Ranges with removed ones are halved while they are long.
    fn advance(&mut self) -> Option<()> {
        loop {
            let places = self.later.pop()?;
            let removed = if self.removed.is_empty() { 0 } else { self.removed.count(&places) };
            if removed == 0 || length(&places) <= MAX_TESTED {
                (self.current, self.is_sure) = (places, removed == 0);
                return Some(());
            }
            if removed < length(&places) {
                let middle = places.start.midpoint(places.end);
                self.later.extend([middle..places.end, places.start..middle]);
            }
        }
    }
}

impl Iterator for LeftPlaces<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            for place in self.current.by_ref() {
                if self.is_sure || !self.removed.contains(place) {
                    return Some(place);
                }
            }
            self.advance()?;
        }
    }
}

fn length(places: &Range<u64>) -> u64 {
    places.end.saturating_sub(places.start)
}

/// Returns the number of members of a set in a range.
fn count_in(set: &RoaringTreemap, places: &Range<u64>) -> u64 {
    let Some(last) = places.end.checked_sub(1).filter(|last| places.start <= *last) else { return 0 };
    let (first_key, last_key) = (places.start >> 32, last >> 32);
    let maps = set.bitmaps().map(|(key, map)| (u64::from(key), map));
    let maps = maps.skip_while(|(key, _)| *key < first_key).take_while(|(key, _)| *key <= last_key);
    maps.map(|(key, map)| {
        let from = if key == first_key { places.start as u32 } else { 0 };
        let to = if key == last_key { last as u32 } else { u32::MAX };
        map.range_cardinality(from..=to)
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_copy_does_not_see_what_is_removed_later() {
        let mut removed = RemovedPlaces::default();
        assert!(removed.is_empty() && removed.leaves_any_of(0..1) && !removed.leaves_any_of(3..3));
        assert!(removed.insert(7));
        let before = removed.clone();
        assert!(removed.insert(8) && !removed.insert(7));
        assert_eq!((before.len(), removed.len()), (1, 2));
        assert_eq!(removed.since(&before), RoaringTreemap::from([8]));
        assert!(removed.since(&removed).is_empty() && before.since(&removed.clone()).is_empty());
        assert!(before.leaves_any_of(7..9) && !removed.leaves_any_of(7..9));
        let left = [0..7, 7..9, 6..9, 0..20, 3..3, 8..9].map(|places| removed.count_left(&places));
        assert_eq!(left, [7, 0, 1, 18, 0, 0]);
        assert!(removed.leaves_any_of(6..9) && removed.contains(7) && !removed.contains(9));
    }

    proptest! {
        #[test]
        fn left_places_are_those_that_are_not_removed(
            runs in prop::collection::vec((0u64..12_000, 1u64..6_000), 0..5),
            single in prop::collection::vec(0u64..20_000, 0..50),
            ranges in prop::collection::vec((0u64..20_000, 0u64..20_000), 1..5),
            // Across the 2^32nd place, too.
            base in prop_oneof![Just(0), Just((1u64 << 32) - 9_000), Just(u64::MAX - 20_000)],
        ) {
            let mut removed = RemovedPlaces::default();
            let mut model = std::collections::BTreeSet::new();
            let all = runs.iter().flat_map(|&(start, count)| start..start + count).chain(single);
            for place in all {
                prop_assert_eq!(removed.insert(base + place), model.insert(base + place));
            }
            for (a, b) in ranges {
                let range = base + a.min(b)..base + a.max(b);
                let expected: Vec<u64> = range.clone().filter(|place| !model.contains(place)).collect();
                prop_assert_eq!(removed.leaves_any_of(range.clone()), !expected.is_empty());
                prop_assert_eq!(removed.left_of(range).collect::<Vec<_>>(), expected);
            }
        }
    }

    /// Although a reader has a copy at any time, as in a store that is queried.
    #[test]
    fn few_places_are_copied_for_a_removal() {
        let mut removed = RemovedPlaces::default();
        let (count, mut copied) = (100 * MAX_NEWEST, 0);
        for place in 0..count {
            let before = removed.clone();
            removed.insert(place);
            if place.is_multiple_of(MAX_NEWEST) {
                let sizes: Vec<u64> = removed.sets.iter().map(|places| places.len()).collect();
                assert!(sizes.windows(2).all(|two| two[0] >= FANOUT * two[1]), "{sizes:?}");
                continue;
            }
            let is_copied = |places: &&Arc<RoaringTreemap>| {
                places.len() > MAX_NEWEST && !before.sets.iter().any(|other| Arc::ptr_eq(places, other))
            };
            copied += removed.sets.iter().filter(is_copied).map(|places| places.len()).sum::<u64>();
        }
        assert!(copied <= 2 * FANOUT * count, "{copied} of {count}");
        assert!(removed.sets.len() <= 3);
    }

    #[test]
    fn many_removals_are_all_kept() {
        let mut removed = RemovedPlaces::default();
        let places = || (0..30 * MAX_NEWEST).map(|number| number * number % 500_009);
        let mut expected = RoaringTreemap::new();
        let mut copies = Vec::new();
        for (number, place) in places().enumerate() {
            if number % 3001 == 0 {
                copies.push((removed.clone(), expected.clone()));
            }
            assert_eq!(removed.insert(place), expected.insert(place));
        }
        for (copy, places) in copies {
            assert_eq!(removed.since(&copy), &expected - places);
        }
        assert_eq!(removed.to_places(), expected);
        assert_eq!(removed.len(), expected.len());
        assert!(places().all(|place| removed.contains(place)) && !removed.contains(500_009));
    }
}
