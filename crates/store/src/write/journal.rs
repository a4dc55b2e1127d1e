//! The journal of removals during background flushes and merges.

use std::collections::{BTreeMap, VecDeque};

use crate::write::batch::Pair;

/// A position in a journal. Positions ascend, and are never reused.
pub(crate) type JournalPosition = u64;

/// The part of the journal that concerns a new segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalReader {
    /// Its start.
    pub(crate) begun: JournalPosition,
    /// The segment reflects the removals before this position.
    pub(crate) seen: JournalPosition,
    /// The sequence number of the last batch before the start, whose removals the segment reflects.
    pub(crate) sequence: u64,
}

/// The pairs that were removed since the start of the oldest reader, in order. Empty without readers.
#[derive(Debug)]
pub(crate) struct Journal<F> {
    /// The position of the first pair.
    first: JournalPosition,
    pairs: VecDeque<Pair<F>>,
    /// The number of readers per start.
    readers: BTreeMap<JournalPosition, usize>,
}

impl<F> Default for Journal<F> {
    fn default() -> Self {
        Self { first: 0, pairs: VecDeque::new(), readers: BTreeMap::new() }
    }
}

impl<F: Copy> Journal<F> {
    /// Adds removed pairs, if there is a reader.
    pub(crate) fn extend(&mut self, pairs: impl Iterator<Item = Pair<F>>) {
        if !self.readers.is_empty() {
            self.pairs.extend(pairs);
        }
    }

    /// Returns the position after the last pair.
    pub(crate) fn end(&self) -> JournalPosition {
        self.first + self.pairs.len() as u64
    }

    /// Opens a reader at the end. Returns its start, with which it is to be [closed](Self::close).
    pub(crate) fn open(&mut self) -> JournalPosition {
        let place = self.end();
        *self.readers.entry(place).or_default() += 1;
        place
    }

    /// Returns the pairs from a position on.
    pub(crate) fn since(&self, place: JournalPosition) -> impl ExactSizeIterator<Item = Pair<F>> + '_ {
        self.pairs.range((place - self.first) as usize..).copied()
    }

    /// Closes a reader that started at a position, and drops the pairs that no other reader needs.
    pub(crate) fn close(&mut self, place: JournalPosition) {
        if let Some(count) = self.readers.get_mut(&place) {
            *count -= 1;
            if *count == 0 {
                self.readers.remove(&place);
            }
        }
        let needed = self.readers.first_key_value().map_or(self.end(), |(place, _)| *place);
        self.pairs.drain(..(needed - self.first) as usize);
        self.first = needed;
        if self.pairs.is_empty() {
            self.pairs = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_sees_what_came_since_it_began_and_nothing_older_is_kept() {
        let mut journal = Journal::<u64>::default();
        journal.extend([(1, 1)].into_iter());
        assert!(journal.pairs.is_empty(), "without a reader");
        let first = journal.open();
        journal.extend([(2, 1), (3, 1)].into_iter());
        let (second, third) = (journal.open(), journal.open());
        assert_eq!(second, third);
        journal.extend([(4, 1)].into_iter());
        assert_eq!(journal.since(first).collect::<Vec<_>>(), [(2, 1), (3, 1), (4, 1)]);
        assert_eq!(journal.since(second).collect::<Vec<_>>(), [(4, 1)]);
        journal.close(first);
        assert_eq!(journal.pairs.len(), 1);
        journal.close(second);
        assert_eq!(journal.since(third).len(), 1, "the other one has begun there, too");
        journal.close(third);
        assert!(journal.pairs.is_empty() && journal.readers.is_empty());
        assert_eq!(journal.end(), first + 3);
    }
}
