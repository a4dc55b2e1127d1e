//! The entries of all indexes, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::{Entries, Entry};
use crate::multi::set::MultiIndex;
use hamdex_fingerprint::Fingerprint;

/// The entries of several indexes, ascending by fingerprint, whether they count or not. It ends after the first error.
pub(crate) struct MultiEntries<'i, F> {
    entries: Vec<Entries<'i, F>>,
    /// The fingerprint and the index of the next entry of each index.
    heads: BinaryHeap<Reverse<(F, usize)>>,
    /// The next entry of each index.
    next: Vec<Option<Entry<'i, F>>>,
    failure: Option<ReadError>,
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns all fingerprints that are not below `from`, each once, with their ids in each index that they are in.
    pub(crate) fn entries_from(&self, from: F) -> MultiEntries<'_, F> {
        let entries: Vec<_> = self.as_slice().iter().map(|index| index.entries().from(from)).collect();
        let next = entries.iter().map(|_| None).collect();
        let mut all = MultiEntries { entries, heads: BinaryHeap::new(), next, failure: None };
        (0..all.entries.len()).for_each(|number| all.advance(number));
        all
    }
}

impl<F: Fingerprint> MultiEntries<'_, F> {
    /// Reads the next entry of an index.
    fn advance(&mut self, number: usize) {
        match self.entries[number].next() {
            Some(Ok(entry)) => {
                self.heads.push(Reverse((entry.fingerprint, number)));
                self.next[number] = Some(entry);
            }
            Some(Err(error)) => {
                self.failure.get_or_insert(error);
            }
            None => {}
        }
    }
}

impl<'i, F: Fingerprint> Iterator for MultiEntries<'i, F> {
    type Item = Result<(F, Vec<(usize, Ids<'i>)>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let fingerprint = self.heads.peek()?.0.0;
        let mut lists = Vec::new();
        while let Some(&Reverse((next, number))) = self.heads.peek()
            && next == fingerprint
        {
            self.heads.pop();
            lists.extend(self.next[number].take().map(|entry| (number, entry.ids)));
            self.advance(number);
        }
        Some(Ok((fingerprint, lists)))
    }
}
