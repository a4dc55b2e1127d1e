//! Which pairs of a source have been removed.

use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringTreemap;

/// Places that have been removed lately, at most: few enough to be copied by every write that removes something.
const MAX_LATELY: u64 = 1 << 12;

/// The places of removed pairs. Cloning is cheap, and a clone never changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemovedPlaces {
    /// Most of them.
    before: Option<Arc<RoaringTreemap>>,
    /// The others.
    lately: Option<Arc<RoaringTreemap>>,
}

impl RemovedPlaces {
    /// Takes over a set of places.
    pub(crate) fn of(places: RoaringTreemap) -> Self {
        Self { before: (!places.is_empty()).then(|| Arc::new(places)), lately: None }
    }

    /// Whether nothing has been removed: the usual case, in which no place needs to be known.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_none() && self.lately.is_none()
    }

    /// How many pairs have been removed.
    pub(crate) fn len(&self) -> u64 {
        self.sets().map(RoaringTreemap::len).sum()
    }

    fn sets(&self) -> impl Iterator<Item = &RoaringTreemap> {
        self.before.iter().chain(&self.lately).map(|places| &**places)
    }

    /// Whether the pair at this place has been removed.
    #[inline]
    pub(crate) fn contains(&self, place: u64) -> bool {
        self.sets().any(|places| places.contains(place))
    }

    /// Whether some pair of these places is left.
    pub(crate) fn leaves_some_of(&self, mut places: Range<u64>) -> bool {
        places.any(|place| !self.contains(place))
    }

    /// Removes one more. Returns whether it was there.
    pub(crate) fn insert(&mut self, place: u64) -> bool {
        if self.before.as_ref().is_some_and(|places| places.contains(place)) {
            return false;
        }
        let lately = Arc::make_mut(self.lately.get_or_insert_default());
        let was_there = lately.insert(place);
        if lately.len() > MAX_LATELY {
            *Arc::make_mut(self.before.get_or_insert_default()) |= std::mem::take(lately);
            self.lately = None;
        }
        was_there
    }

    /// The places that have been removed since an earlier copy.
    pub(crate) fn since(&self, earlier: &Self) -> RoaringTreemap {
        if self.len() == earlier.len() {
            return RoaringTreemap::new();
        }
        let address = |places: &Option<Arc<RoaringTreemap>>| places.as_ref().map(Arc::as_ptr);
        if address(&self.before) != address(&earlier.before) {
            return self.to_places() - earlier.to_places();
        }
        let lately = self.lately.as_deref().cloned().unwrap_or_default();
        earlier.lately.as_deref().into_iter().fold(lately, |places, earlier| places - earlier)
    }

    /// All places.
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
        assert!(removed.is_empty() && removed.leaves_some_of(0..1) && !removed.leaves_some_of(3..3));
        assert!(removed.insert(7));
        let before = removed.clone();
        assert!(removed.insert(8) && !removed.insert(7));
        assert_eq!((before.len(), removed.len()), (1, 2));
        assert_eq!(removed.since(&before), RoaringTreemap::from([8]));
        assert!(removed.since(&removed).is_empty() && before.since(&removed.clone()).is_empty());
        assert!(before.leaves_some_of(7..9) && !removed.leaves_some_of(7..9));
        assert!(removed.leaves_some_of(6..9) && removed.contains(7) && !removed.contains(9));
    }

    #[test]
    fn many_removals_are_all_kept() {
        let mut removed = RemovedPlaces::default();
        let places = || (0..3 * MAX_LATELY).map(|number| number * number % 50_021);
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
        assert!(removed.lately.as_ref().is_none_or(|lately| lately.len() <= MAX_LATELY));
        assert!(places().all(|place| removed.contains(place)) && !removed.contains(50_021));
    }
}
