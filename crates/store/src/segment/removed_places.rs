//! The places of the removed pairs of a run or segment.

use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringTreemap;

/// Maximum number of newer places, which every removal may copy.
const MAX_NEWER: u64 = 1 << 12;

/// The places of removed pairs. Cloning is cheap, and a clone never changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemovedPlaces {
    /// Most places.
    older: Option<Arc<RoaringTreemap>>,
    /// The others.
    newer: Option<Arc<RoaringTreemap>>,
}

impl RemovedPlaces {
    /// Wraps a set of places.
    pub(crate) fn of(places: RoaringTreemap) -> Self {
        Self { older: (!places.is_empty()).then(|| Arc::new(places)), newer: None }
    }

    /// Whether no pair has been removed, as usual.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.older.is_none() && self.newer.is_none()
    }

    /// Returns the number of removed pairs.
    pub(crate) fn len(&self) -> u64 {
        self.sets().map(RoaringTreemap::len).sum()
    }

    fn sets(&self) -> impl Iterator<Item = &RoaringTreemap> {
        self.older.iter().chain(&self.newer).map(|places| &**places)
    }

    /// Whether the pair at a place has been removed.
    #[inline]
    pub(crate) fn contains(&self, place: u64) -> bool {
        self.sets().any(|places| places.contains(place))
    }

    /// Whether any pair at these places is left.
    pub(crate) fn leaves_any_of(&self, mut places: Range<u64>) -> bool {
        places.any(|place| !self.contains(place))
    }

    /// Adds a place. Returns whether it is new.
    pub(crate) fn insert(&mut self, place: u64) -> bool {
        if self.older.as_ref().is_some_and(|places| places.contains(place)) {
            return false;
        }
        let newer = Arc::make_mut(self.newer.get_or_insert_default());
        let was_there = newer.insert(place);
        if newer.len() > MAX_NEWER {
            *Arc::make_mut(self.older.get_or_insert_default()) |= std::mem::take(newer);
            self.newer = None;
        }
        was_there
    }

    /// Returns the places that were added after an earlier clone.
    pub(crate) fn since(&self, earlier: &Self) -> RoaringTreemap {
        if self.len() == earlier.len() {
            return RoaringTreemap::new();
        }
        let address = |places: &Option<Arc<RoaringTreemap>>| places.as_ref().map(Arc::as_ptr);
        if address(&self.older) != address(&earlier.older) {
            return self.to_places() - earlier.to_places();
        }
        let newer = self.newer.as_deref().cloned().unwrap_or_default();
        earlier.newer.as_deref().into_iter().fold(newer, |places, earlier| places - earlier)
    }

    /// Returns all places.
    pub(crate) fn to_places(&self) -> RoaringTreemap {
        self.sets().fold(RoaringTreemap::new(), |all, places| all | places)
    }
}

#[cfg(test)]
mod tests {
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
        assert!(removed.leaves_any_of(6..9) && removed.contains(7) && !removed.contains(9));
    }

    #[test]
    fn many_removals_are_all_kept() {
        let mut removed = RemovedPlaces::default();
        let places = || (0..3 * MAX_NEWER).map(|number| number * number % 50_021);
        let mut expected = RoaringTreemap::new();
        let mut copies = Vec::new();
        for (number, place) in places().enumerate() {
            if number % 1000 == 0 {
                copies.push((removed.clone(), expected.clone()));
            }
            assert_eq!(removed.insert(place), expected.insert(place));
        }
        for (copy, places) in copies {
            assert_eq!(removed.since(&copy), &expected - places);
        }
        assert_eq!(removed.to_places(), expected);
        assert_eq!(removed.len(), expected.len());
        assert!(removed.newer.as_ref().is_none_or(|newer| newer.len() <= MAX_NEWER));
        assert!(places().all(|place| removed.contains(place)) && !removed.contains(50_021));
    }
}
