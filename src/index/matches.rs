//! The results of a query.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

use hamdex_fingerprint::Fingerprint;

/// A stored fingerprint near a query.
///
/// Its ids are returned by [`Index::ids`](crate::Index::ids), or faster by
/// [`Searcher::ids_of`](crate::Searcher::ids_of), since a match may know their place. Two matches are equal if
/// distance and fingerprint are; the place of the ids does not count.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Match<F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
    pub(crate) entry: EntryPlace,
}

/// The position of an entry in table 0 of a file, from which its ids are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryPlace {
    block: u32,
    number: u16,
    /// The tag of the file, so that it is not taken for an entry of another one.
    tag: u32,
}

impl EntryPlace {
    /// The position of a match found in another table, or by other means. No block has that number.
    pub(super) const UNKNOWN: Self = Self { block: u32::MAX, number: 0, tag: 0 };

    /// Returns an entry of the file with that tag.
    #[inline]
    pub(crate) fn new(block: u32, number: usize, tag: u32) -> Self {
        // A block has at most 65,535 entries.
        Self { block, number: number as u16, tag }
    }

    /// Returns the block, and the number of the entry in it, if it is known for the file with that tag.
    #[inline]
    pub(super) fn of_file(self, tag: u32) -> Option<(usize, usize)> {
        let is_known = self.block != Self::UNKNOWN.block && self.tag == tag;
        is_known.then_some((self.block as usize, usize::from(self.number)))
    }
}

impl<F: Fingerprint> Match<F> {
    /// Returns `fingerprint` as a match of `query`.
    #[must_use]
    pub fn new(query: F, fingerprint: F) -> Self {
        Self::at_distance(fingerprint.distance(query), fingerprint)
    }

    /// Returns a match at a known distance whose entry in the file is unknown.
    #[inline]
    pub(crate) fn at_distance(distance: u32, fingerprint: F) -> Self {
        Self { distance, fingerprint, entry: EntryPlace::UNKNOWN }
    }
}

/// Receives the place of a query and its matches; breaks to end the batch.
pub type MatchVisitor<'v, F> = dyn FnMut(usize, &[Match<F>]) -> ControlFlow<()> + 'v;

impl<F: PartialEq> PartialEq for Match<F> {
    fn eq(&self, other: &Self) -> bool {
        self.distance == other.distance && self.fingerprint == other.fingerprint
    }
}

impl<F: Eq> Eq for Match<F> {}

impl<F: Ord> PartialOrd for Match<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F: Ord> Ord for Match<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.cmp(&other.distance).then_with(|| self.fingerprint.cmp(&other.fingerprint))
    }
}

impl<F: Hash> Hash for Match<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.distance.hash(state);
        self.fingerprint.hash(state);
    }
}
