//! All pairs of fingerprint and id in order, merged from memtables and segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hamdex::{Fingerprint, ReadError};

use crate::segment::LiveSegment;
use crate::view::View;
use crate::write::batch::Pair;

/// Pairs in order.
type Sequence<'s, F> = Box<dyn Iterator<Item = Result<Pair<F>, ReadError>> + Send + 's>;

/// Pairs in order, with their places in a segment.
type PlacedPairs<'s, F> = Box<dyn Iterator<Item = Result<(u64, Pair<F>), ReadError>> + Send + 's>;

/// The merge of several sorted sequences, with each pair once. Ends after the first error.
pub(crate) struct Merged<'s, F> {
    sequences: Vec<Sequence<'s, F>>,
    /// The next pair of each sequence.
    heads: BinaryHeap<Reverse<(Pair<F>, usize)>>,
    failure: Option<ReadError>,
    last: Option<Pair<F>>,
}

impl<'s, F: Fingerprint> Merged<'s, F> {
    pub(crate) fn new(sequences: Vec<Sequence<'s, F>>) -> Self {
        let heads = BinaryHeap::with_capacity(sequences.len());
        let mut merged = Self { sequences, heads, failure: None, last: None };
        (0..merged.sequences.len()).for_each(|number| merged.advance(number));
        merged
    }

    fn advance(&mut self, number: usize) {
        match self.sequences[number].next() {
            Some(Ok(pair)) => self.heads.push(Reverse((pair, number))),
            Some(Err(error)) => {
                self.failure.get_or_insert(error);
            }
            None => {}
        }
    }
}

impl<F: Fingerprint> Iterator for Merged<'_, F> {
    type Item = Result<Pair<F>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.failure.take() {
                self.heads.clear();
                return Some(Err(error));
            }
            let Reverse((pair, number)) = self.heads.pop()?;
            self.advance(number);
            if self.last.replace(pair) != Some(pair) {
                return Some(Ok(pair));
            }
        }
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns the pairs whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> Merged<'_, F> {
        let mut sequences: Vec<Sequence<'_, F>> = Vec::new();
        for memtable in self.memtables() {
            let memtable = memtable.sequences_from(from).into_iter();
            sequences.extend(memtable.map(|sequence| Box::new(sequence.map(Ok)) as Sequence<'_, F>));
        }
        sequences.extend(self.segments.iter().map(|segment| segment.pairs_from(from)));
        Merged::new(sequences)
    }
}

impl<F: Fingerprint> LiveSegment<F> {
    /// Returns the pairs that are left and whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> Sequence<'_, F> {
        match self.placed_pairs_from(from) {
            Ok(placed) => Box::new(placed.filter_map(|placed| match placed {
                Ok((place, pair)) => (!self.removed.contains(place)).then_some(Ok(pair)),
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
