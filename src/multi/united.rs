//! Matches of the same fingerprint in several indexes, as one.

use std::cmp::Ordering;
use std::ops::Range;

use crate::index::matches::Match;
use hamdex_fingerprint::Fingerprint;

/// A match in one of several indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FoundIn<F> {
    /// The match, as the index itself gives it.
    pub found: Match<F>,
    /// The number of the index.
    pub index: usize,
}

impl<F: Ord> PartialOrd for FoundIn<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F: Ord> Ord for FoundIn<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.found.cmp(&other.found).then_with(|| self.index.cmp(&other.index))
    }
}

/// A fingerprint near a query, that is stored in one or more of several indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MultiMatch<'a, F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
    /// The indexes in which it is found and counts, ascending by number, at least one.
    pub found_in: &'a [FoundIn<F>],
}

/// The matches of a query of several indexes: nearest first, then by fingerprint.
#[derive(Debug, Clone, Copy)]
pub struct MultiMatches<'a, F> {
    all: &'a [FoundIn<F>],
    /// Range of the finds of each match.
    groups: &'a [Range<usize>],
}

impl<'a, F: Fingerprint> MultiMatches<'a, F> {
    /// Returns the number of fingerprints found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns whether nothing is found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the match at that place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<MultiMatch<'a, F>> {
        let found_in = &self.all[self.groups.get(place)?.clone()];
        let Match { distance, fingerprint, .. } = found_in[0].found;
        Some(MultiMatch { distance, fingerprint, found_in })
    }

    /// Returns the matches, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = MultiMatch<'a, F>> + use<'a, F> {
        let this = *self;
        (0..this.len()).map(move |place| this.get(place).expect("there are that many"))
    }
}

/// Which of the finds of a query are one match.
#[derive(Debug, Default)]
pub(super) struct Grouped {
    groups: Vec<Range<usize>>,
}

impl Grouped {
    /// Returns up to `limit` fingerprints of finds in order.
    pub(super) fn group<'a, F: Fingerprint>(
        &'a mut self,
        all: &'a [FoundIn<F>],
        limit: usize,
    ) -> MultiMatches<'a, F> {
        self.groups.clear();
        let mut start = 0;
        for group in all.chunk_by(|a, b| a.found == b.found).take(limit) {
            self.groups.push(start..start + group.len());
            start += group.len();
        }
        MultiMatches { all: &all[..start], groups: &self.groups }
    }
}

/// Memory for the matches of a query.
#[derive(Debug)]
pub(super) struct United<F> {
    all: Vec<FoundIn<F>>,
    grouped: Grouped,
}

impl<F> Default for United<F> {
    fn default() -> Self {
        Self { all: Vec::new(), grouped: Grouped::default() }
    }
}

impl<F: Fingerprint> United<F> {
    /// Takes up to `limit` fingerprints from what has been found in any order.
    pub(super) fn unite(&mut self, limit: usize) {
        self.all.sort_unstable();
        let length = self.grouped.group(&self.all, limit).all.len();
        self.all.truncate(length);
    }

    /// Returns the buffer of the finds.
    pub(super) fn all_mut(&mut self) -> &mut Vec<FoundIn<F>> {
        &mut self.all
    }

    pub(super) fn matches(&self) -> MultiMatches<'_, F> {
        MultiMatches { all: &self.all, groups: &self.grouped.groups }
    }
}
