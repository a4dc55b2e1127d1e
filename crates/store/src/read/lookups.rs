//! Names by id, pairs by id, and ids by name: without a pass over the set in a store with look-ups.

use std::collections::{HashMap, HashSet};

use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::read::Snapshot;
use crate::segment::LiveSegment;
use crate::view::View;
use crate::write::Pair;
use crate::write::gone_names::MAX_GONE;

impl<F: Fingerprint> Snapshot<F> {
    /// Returns the name of a stored id; `None` in a store without names.
    ///
    /// # Errors
    /// When a page that has to be read is damaged.
    pub fn name(&self, id: u64) -> Result<Option<&[u8]>, Error> {
        Ok(self.view().name(id)?)
    }

    /// Returns the fingerprints of each of these ids, in their order, each list ascending. In a store without look-ups
    /// it reads the whole set once.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn fingerprints_of_ids(&self, ids: &[u64]) -> Result<Vec<Vec<F>>, Error> {
        let mut found = HashMap::<u64, Vec<F>>::new();
        for (fingerprint, id) in self.pairs_of(&ids.iter().copied().collect())? {
            found.entry(id).or_default().push(fingerprint);
        }
        Ok(ids.iter().map(|id| found.get(id).cloned().unwrap_or_default()).collect())
    }

    /// Returns the fingerprints of each of these names, in their order, each list ascending, without repeats. In a
    /// store without look-ups it reads all names and the whole set once.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn fingerprints_of_names(&self, names: &[impl AsRef<[u8]>]) -> Result<Vec<Vec<F>>, Error> {
        let ids = self.ids_of_names(&names.iter().map(|name| name.as_ref().to_vec()).collect())?;
        let mut found = HashMap::<&[u8], Vec<F>>::new();
        for (fingerprint, id) in self.pairs_of(&ids)? {
            if let Some(name) = self.name(id)? {
                found.entry(name).or_default().push(fingerprint);
            }
        }
        // Pairs ascend; a fingerprint has a name once for each of its ids.
        found.values_mut().for_each(Vec::dedup);
        Ok(names.iter().map(|name| found.get(name.as_ref()).cloned().unwrap_or_default()).collect())
    }

    /// Returns the pairs with one of these ids, ascending. In a store without look-ups it reads the whole set once.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn pairs_of(&self, ids: &HashSet<u64>) -> Result<Vec<(F, u64)>, Error> {
        Ok(self.view().pairs_with_ids(ids)?)
    }

    /// As [`pairs_of`](Self::pairs_of), without gathering many more than `most` pairs: if there are more, some more
    /// than `most` of them are returned, in order.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn some_pairs_of(&self, ids: &HashSet<u64>, most: usize) -> Result<Vec<(F, u64)>, Error> {
        Ok(self.view().some_pairs_with_ids(ids, most)?)
    }

    /// Returns the ids that have one of these names, perhaps including ids of removed pairs. In a store without
    /// look-ups it reads all names.
    ///
    /// # Errors
    /// When a page is damaged.
    pub fn ids_of_names(&self, names: &HashSet<Vec<u8>>) -> Result<HashSet<u64>, Error> {
        Ok(self.view().ids_of_names(names)?)
    }

    /// As [`ids_of_names`](Self::ids_of_names), without gathering many more than `most` ids: if there are more, some
    /// more than `most` of them are returned.
    ///
    /// # Errors
    /// When a page is damaged.
    pub fn some_ids_of_names(&self, names: &HashSet<Vec<u8>>, most: usize) -> Result<HashSet<u64>, Error> {
        Ok(self.view().some_ids_of_names(names, most)?)
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns the pairs with one of these ids, in order.
    pub(crate) fn pairs_with_ids(&self, ids: &HashSet<u64>) -> Result<Vec<Pair<F>>, ReadError> {
        self.some_pairs_with_ids(ids, usize::MAX)
    }

    fn some_pairs_with_ids(&self, ids: &HashSet<u64>, most: usize) -> Result<Vec<Pair<F>>, ReadError> {
        let mut pairs = Vec::new();
        if ids.is_empty() {
            return Ok(pairs);
        }
        self.memtables().for_each(|memtable| memtable.append_pairs_with_ids(ids, &mut pairs));
        for live in &*self.segments {
            live.append_pairs_with_ids(ids, most, &mut pairs)?;
            if pairs.len() > most {
                pairs.sort_unstable();
                pairs.dedup();
                if pairs.len() > most {
                    break;
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Ok(pairs)
    }

    /// Returns the ids that have one of these names, perhaps including ids of removed pairs.
    pub(crate) fn ids_of_names(&self, names: &HashSet<Vec<u8>>) -> Result<HashSet<u64>, ReadError> {
        self.some_ids_of_names(names, usize::MAX)
    }

    fn some_ids_of_names(&self, names: &HashSet<Vec<u8>>, most: usize) -> Result<HashSet<u64>, ReadError> {
        let mut ids = HashSet::new();
        let now = self.moment();
        let names: HashMap<&[u8], u64> =
            names.iter().map(|name| (&name[..], self.gone_names.first_left(name, now))).collect();
        for memtable in self.memtables() {
            for (name, &from) in &names {
                memtable.names.for_each_id_of(name, from, |id| {
                    ids.insert(id);
                });
            }
        }
        for live in &*self.segments {
            if ids.len() <= most {
                live.append_ids_of_names(&names, most, &mut ids)?;
            }
        }
        Ok(ids)
    }

    /// Returns the pairs with one of these names, in order. If the view has been published, it records which ids of
    /// these names have gone.
    pub(crate) fn pairs_with_names(
        &self,
        names: &HashSet<Vec<u8>>,
        is_published: bool,
    ) -> Result<Vec<Pair<F>>, ReadError> {
        let ids = self.ids_of_names(names)?;
        let pairs = self.pairs_with_ids(&ids)?;
        if is_published {
            self.record_gone_names(names, &ids, &pairs)?;
        }
        Ok(pairs)
    }

    /// Records the ids that have gone, given all [ids of these names](Self::ids_of_names) and the pairs that these ids
    /// have, if they are so many that later look-ups should not visit them. The view must have been published.
    fn record_gone_names(
        &self,
        names: &HashSet<Vec<u8>>,
        ids: &HashSet<u64>,
        pairs: &[Pair<F>],
    ) -> Result<(), ReadError> {
        if ids.len() <= pairs.len() + MAX_GONE * names.len() {
            return Ok(());
        }
        let mut first_left: HashMap<&[u8], u64> =
            names.iter().map(|name| (&name[..], self.next_id)).collect();
        for &(_, id) in pairs {
            if let Some(first) = self.name(id)?.and_then(|name| first_left.get_mut(name)) {
                *first = id.min(*first);
            }
        }
        let now = self.moment();
        first_left.into_iter().for_each(|(name, first)| self.gone_names.record(name, first, now));
        Ok(())
    }
}

impl<F: Fingerprint> LiveSegment<F> {
    /// Adds the ids that have one of these names, from an id on for each of them, until there are more than `most`.
    fn append_ids_of_names(
        &self,
        names: &HashMap<&[u8], u64>,
        most: usize,
        ids: &mut HashSet<u64>,
    ) -> Result<(), ReadError> {
        if let Some(lookups) = self.index().lookups()? {
            let last = self.segment.last_id();
            // Names of which all ids in this file have gone are not looked up.
            let wanted = names.iter().filter(|(_, from)| last.is_none_or(|last| **from <= last));
            for (name, &from) in wanted {
                // Other segments may have the same ids.
                let most = most.saturating_add(1);
                ids.extend(lookups.ids_of_name_from(name, from, most)?);
                if ids.len() >= most {
                    break;
                }
            }
            return Ok(());
        }
        for named in self.index().names()?.iter().flatten() {
            let (id, name) = named?;
            if names.contains_key(name) {
                ids.insert(id);
            }
            if ids.len() > most {
                break;
            }
        }
        Ok(())
    }

    /// Appends the pairs that are left and have one of these ids, until they are more than `most`.
    fn append_pairs_with_ids(
        &self,
        ids: &HashSet<u64>,
        most: usize,
        pairs: &mut Vec<Pair<F>>,
    ) -> Result<(), ReadError> {
        let (index, before) = (self.index(), pairs.len());
        if let Some(lookups) = index.lookups()? {
            for &id in ids {
                let room = most.saturating_add(1) - (pairs.len() - before);
                if room == 0 {
                    break;
                }
                for place in lookups.places_of(id, room, |place| !self.removed.contains(place))? {
                    pairs.push((index.fingerprint_at(place)?, id));
                }
            }
            return Ok(());
        }
        for entry in index.entries() {
            if pairs.len() - before > most {
                break;
            }
            let entry = entry?;
            let found = entry.ids.places().zip(entry.ids).filter(|(_, id)| ids.contains(id));
            let left = found.filter(|&(place, _)| !self.removed.contains(place));
            pairs.extend(left.map(|(_, id)| (entry.fingerprint, id)));
        }
        Ok(())
    }
}
