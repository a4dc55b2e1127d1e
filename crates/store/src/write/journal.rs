//! The journal: removals while a flush or a merge writes a segment.
//!
//! The segment is written from inputs of some time ago, and writers go on meanwhile. A removal since then concerns it too:
//!
//! 1. Under the lock of the writer, the flush or merge takes its inputs from the view and opens a [`JournalReader`]. From
//!    then on the journal keeps every removal that is logged.
//! 2. The segment is written without a lock.
//! 3. [Publishing](crate::compaction::publish) reads the removals since, and marks their pairs in the segment: nearly all
//!    without a lock, the last ones under the lock of the writer. Before it gives up that lock, it makes the segment pending
//!    in the view, where each later removal marks its pair before it is acknowledged.
//! 4. The reader is dropped. The journal forgets the removals that no other reader needs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::write::Pair;

/// Removed pairs, in order, from the first that a reader has not read.
#[derive(Debug, Default)]
pub(crate) struct Journal<F> {
    pairs: VecDeque<Pair<F>>,
    /// The position of the first of them. Positions ascend, and are never reused.
    first: u64,
    /// The position up to which each reader has read, while there is the reader.
    readers: Vec<Weak<AtomicU64>>,
}

/// The removals that concern a segment that is being written. The journal keeps them until they are read, or this is
/// dropped.
#[derive(Debug)]
pub(crate) struct JournalReader {
    /// The position up to which they were read. It changes under the lock of the writer alone.
    position: Arc<AtomicU64>,
    /// The sequence number of the last batch before the reader was opened, whose removals the segment reflects.
    pub(crate) sequence: u64,
}

impl<F: Copy> Journal<F> {
    /// Opens a reader of the removals after the batch with this sequence number, which is the last one.
    pub(crate) fn open(&mut self, sequence: u64) -> JournalReader {
        self.trim();
        let position = Arc::new(AtomicU64::new(self.end()));
        self.readers.push(Arc::downgrade(&position));
        JournalReader { position, sequence }
    }

    /// Adds removed pairs, if there is a reader.
    pub(crate) fn extend(&mut self, pairs: impl Iterator<Item = Pair<F>>) {
        self.trim();
        if !self.readers.is_empty() {
            self.pairs.extend(pairs);
        }
    }

    /// Returns the removals that a reader has not read, and moves it behind them.
    pub(crate) fn read(&self, reader: &JournalReader) -> Vec<Pair<F>> {
        let from = reader.position.swap(self.end(), Ordering::Relaxed);
        self.pairs.range((from - self.first) as usize..).copied().collect()
    }

    /// Drops the pairs that no reader needs: also at each addition, and when a reader is opened.
    pub(crate) fn trim(&mut self) {
        let mut needed = self.end();
        self.readers.retain(|reader| {
            let position = reader.upgrade().map(|position| position.load(Ordering::Relaxed));
            needed = needed.min(position.unwrap_or(needed));
            position.is_some()
        });
        self.pairs.drain(..(needed - self.first) as usize);
        self.first = needed;
        if self.pairs.is_empty() {
            self.pairs = VecDeque::new();
        }
    }

    /// Returns the position after the last pair.
    fn end(&self) -> u64 {
        self.first + self.pairs.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_reads_what_came_since_and_nothing_else_is_kept() {
        let mut journal = Journal::<u64>::default();
        journal.extend([(1, 1)].into_iter());
        assert!(journal.pairs.is_empty(), "without a reader");
        let first = journal.open(1);
        journal.extend([(2, 1), (3, 1)].into_iter());
        let (second, third) = (journal.open(3), journal.open(3));
        journal.extend([(4, 1)].into_iter());
        assert_eq!(journal.read(&first), [(2, 1), (3, 1), (4, 1)]);
        assert_eq!(journal.read(&first), []);
        assert_eq!(journal.read(&second), [(4, 1)]);
        journal.trim();
        assert_eq!(Vec::from(journal.pairs.clone()), [(4, 1)], "the third has not read it");
        journal.extend([(5, 1)].into_iter());
        drop((first, second));
        assert_eq!(journal.read(&third), [(4, 1), (5, 1)]);
        drop(third);
        journal.extend([(6, 1)].into_iter());
        assert!(journal.pairs.is_empty() && journal.readers.is_empty());
        let last = journal.open(6);
        assert_eq!(journal.read(&last), []);
    }

    #[test]
    fn a_reader_that_is_dropped_unread_holds_nothing() {
        let mut journal = Journal::<u64>::default();
        let (unread, reader) = (journal.open(0), journal.open(0));
        journal.extend((0..1000).map(|number| (number, 0)));
        assert_eq!(journal.read(&reader).len(), 1000);
        drop(unread);
        journal.trim();
        assert_eq!(journal.pairs.capacity(), 0);
    }
}
