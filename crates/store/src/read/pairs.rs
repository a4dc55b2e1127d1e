//! All pairs of fingerprint and id in order, merged from memtables and segments.

use hamdex::set::SortedUnion;
use hamdex::{Fingerprint, ReadError};

use crate::segment::LiveSegment;
use crate::view::View;
use crate::write::Pair;

/// Pairs in order.
type Sequence<'s, F> = Box<dyn Iterator<Item = Result<(Pair<F>, ()), ReadError>> + Send + 's>;

/// Pairs in order, with their places in a segment.
type PlacedPairs<'s, F> = Box<dyn Iterator<Item = Result<(u64, Pair<F>), ReadError>> + Send + 's>;

/// The union of several sorted sequences, with each pair once. Ends after the first error.
pub(crate) struct Merged<'s, F> {
    union: SortedUnion<Sequence<'s, F>, Pair<F>, (), ReadError>,
    last: Option<Pair<F>>,
}

impl<F: Fingerprint> Iterator for Merged<'_, F> {
    type Item = Result<Pair<F>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let last = &mut self.last;
        let mut is_new = |pair| last.replace(pair) != Some(pair);
        self.union
            .by_ref()
            .map(|item| Ok(item?.0))
            .find(|pair| pair.as_ref().map_or(true, |&pair| is_new(pair)))
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns the pairs whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> Merged<'_, F> {
        let mut sequences: Vec<Sequence<'_, F>> = Vec::new();
        for memtable in self.memtables() {
            let memtable = memtable.sequences_from(from).into_iter();
            sequences.extend(
                memtable.map(|sequence| Box::new(sequence.map(|pair| Ok((pair, ())))) as Sequence<'_, F>),
            );
        }
        sequences.extend(self.segments.iter().map(|segment| segment.pairs_from(from)));
        Merged { union: SortedUnion::of(sequences), last: None }
    }
}

impl<F: Fingerprint> LiveSegment<F> {
    /// Returns the pairs that are left and whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> Sequence<'_, F> {
        match self.placed_pairs_from(from) {
            Ok(placed) => Box::new(placed.filter_map(|placed| match placed {
                Ok((place, pair)) => (!self.removed.contains(place)).then_some(Ok((pair, ()))),
                Err(error) => Some(Err(error)),
            })),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    /// Returns the pairs of the file whose fingerprints are at least `from`, including removed ones, with their places,
    /// in order.
    pub(crate) fn placed_pairs_from(&self, from: F) -> Result<PlacedPairs<'_, F>, ReadError> {
        let index = self.index();
        let entries = index.entries().from(from);
        if !index.has_ids() {
            let first = if from == F::ZERO { 0 } else { index.rank(from)? };
            let placed = (first..).zip(entries);
            return Ok(Box::new(placed.map(|(place, entry)| Ok((place, (entry?.fingerprint, 0))))));
        }
        Ok(Box::new(entries.flat_map(|entry| {
            let (pairs, failure) = match entry {
                Ok(entry) => {
                    let placed = entry.ids.places().zip(entry.ids);
                    (Some(placed.map(move |(place, id)| Ok((place, (entry.fingerprint, id))))), None)
                }
                Err(error) => (None, Some(Err(error))),
            };
            pairs.into_iter().flatten().chain(failure)
        })))
    }
}
