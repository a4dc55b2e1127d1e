//! Removals while files are written in the background, whose inputs were read before.

use std::collections::{BTreeMap, VecDeque};

use crate::write::batch::Pair;

/// A place in a journal. Places ascend, and are never used again.
pub(crate) type JournalPlace = u64;

/// A part of the journal of removals that a new file has to catch up with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalReader {
    /// Where it begins.
    pub(crate) begun: JournalPlace,
    /// The file knows the removals before this.
    pub(crate) seen: JournalPlace,
    /// The number of the last batch before it begins: the file knows its removals.
    pub(crate) sequence: u64,
}

/// The pairs that have been removed since the oldest reader began, in order. Empty while there is no reader.
#[derive(Debug)]
pub(crate) struct Journal<F> {
    /// The place of the first pair.
    first: JournalPlace,
    pairs: VecDeque<Pair<F>>,
    /// Where readers have begun, and how many at each place.
    readers: BTreeMap<JournalPlace, usize>,
}

impl<F> Default for Journal<F> {
    fn default() -> Self {
        Self { first: 0, pairs: VecDeque::new(), readers: BTreeMap::new() }
    }
}

impl<F: Copy> Journal<F> {
    /// Adds removed pairs, if they have a reader.
    pub(crate) fn extend(&mut self, pairs: impl Iterator<Item = Pair<F>>) {
        if !self.readers.is_empty() {
            self.pairs.extend(pairs);
        }
    }

    /// The place behind the last pair.
    pub(crate) fn end(&self) -> JournalPlace {
        self.first + self.pairs.len() as u64
    }

    /// Keeps everything from here on, until it is [closed](Self::close) with the place that this returns.
    pub(crate) fn open(&mut self) -> JournalPlace {
        let place = self.end();
        *self.readers.entry(place).or_default() += 1;
        place
    }

    /// The pairs from a place on.
    pub(crate) fn since(&self, place: JournalPlace) -> impl ExactSizeIterator<Item = Pair<F>> + '_ {
        self.pairs.range((place - self.first) as usize..).copied()
    }

    /// Lets go of a reader that began at this place, and of the pairs that no other one needs.
    pub(crate) fn close(&mut self, place: JournalPlace) {
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
