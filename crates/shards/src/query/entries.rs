//! All stored fingerprints with their ids, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hamdex::set::StoredId;
use hamdex::{Entries, Fingerprint};

use crate::error::Error;
use crate::manifest::IdType;
use crate::query::ids::unite;
use crate::set::Shards;

/// A stored fingerprint and its ids.
pub(super) struct SetEntry<F> {
    pub(super) fingerprint: F,
    /// Its ids in all shards, in the order of [`ShardsSearcher::ids`](crate::ShardsSearcher::ids).
    pub(super) ids: Vec<StoredId>,
}

/// An iterator over the entries of a set, ascending by fingerprint, made by [`Shards::entries`]. It ends after the
/// first error.
pub(super) struct SetEntries<'s, F> {
    /// The entries of each shard.
    shards: Vec<Entries<'s, F>>,
    /// The fingerprint and the shard of the next entry of each shard.
    heads: BinaryHeap<Reverse<(F, usize)>>,
    next: Vec<Option<hamdex::Entry<'s, F>>>,
    failure: Option<Error>,
    id_type: Option<IdType>,
}

impl<F: Fingerprint> Shards<F> {
    /// Returns all fingerprints that are not below `from`, ascending, each once, with their ids.
    pub(super) fn entries(&self, from: F) -> Result<SetEntries<'_, F>, Error> {
        let opened = self.first_family().map(|number| Ok(self.shard(number)?.entries().from(from)));
        let shards = opened.collect::<Result<Vec<_>, Error>>()?;
        let next = shards.iter().map(|_| None).collect();
        let id_type = self.manifest().id_type;
        let mut entries = SetEntries { shards, heads: BinaryHeap::new(), next, failure: None, id_type };
        (0..entries.shards.len()).for_each(|number| entries.advance(number));
        Ok(entries)
    }
}

impl<F: Fingerprint> SetEntries<'_, F> {
    /// Reads the next entry of a shard.
    fn advance(&mut self, number: usize) {
        match self.shards[number].next() {
            Some(Ok(entry)) => {
                self.heads.push(Reverse((entry.fingerprint, number)));
                self.next[number] = Some(entry);
            }
            Some(Err(error)) => {
                self.failure.get_or_insert(error.into());
            }
            None => {}
        }
    }
}

impl<F: Fingerprint> Iterator for SetEntries<'_, F> {
    type Item = Result<SetEntry<F>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let fingerprint = self.heads.peek()?.0.0;
        let mut ids = Vec::new();
        while let Some(&Reverse((next, shard))) = self.heads.peek().filter(|head| head.0.0 == fingerprint) {
            debug_assert_eq!(next, fingerprint);
            self.heads.pop();
            let entry = self.next[shard].take().expect("a head has an entry");
            ids.extend(entry.ids.map(|id| StoredId { part: shard, id }));
            self.advance(shard);
        }
        unite(&mut ids, self.id_type);
        Some(Ok(SetEntry { fingerprint, ids }))
    }
}
