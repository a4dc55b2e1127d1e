//! Pairs of fingerprint and id: all of them in order, merged from memtables and segments; pairs by id, ids by name, and
//! names by id, without a pass over the set in a store with look-ups.

use std::collections::{HashMap, HashSet};

use hamdex::set::SortedUnion;
use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::read::Snapshot;
use crate::segment::LiveSegment;
use crate::view::View;
use crate::write::Pair;
use crate::write::gone_names::MAX_GONE;

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
                memtable.documents.for_each_id_of(name, from, |id| {
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
