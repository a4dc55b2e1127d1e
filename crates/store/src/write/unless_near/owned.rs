//! The stored pairs that the records of a replacement own: pairs with their ids or names, which they would replace.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use hamdex::{Fingerprint, Match, ReadError};

use crate::view::View;
use crate::write::{Document, Pair};

/// The stored pairs of each label of a batch: of each id, or in a store with names of each name.
pub(super) struct Owned<F> {
    /// The number of the label of each record.
    pub(super) labels: Vec<usize>,
    /// The stored pairs of each label.
    pub(super) pairs: Vec<BTreeSet<Pair<F>>>,
}

impl<F: Fingerprint> Owned<F> {
    /// Returns the pairs of records that own none: each has a label of its own.
    pub(super) fn nothing(records: usize) -> Self {
        Self { labels: (0..records).collect(), pairs: vec![BTreeSet::new(); records] }
    }

    /// Finds the stored pairs of the labels of records, in a view that `is_published` or not.
    pub(super) fn of(
        view: &View<F>,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        is_published: bool,
    ) -> Result<Self, ReadError> {
        match names {
            Some(names) => Self::of_names(view, names, is_published),
            None => Self::of_ids(view, pairs),
        }
    }

    fn of_ids(view: &View<F>, pairs: &[Pair<F>]) -> Result<Self, ReadError> {
        let (labels, numbers) = numbered(pairs.iter().map(|pair| pair.1));
        let mut owned = vec![BTreeSet::new(); numbers.len()];
        for pair in view.pairs_with_ids(&numbers.keys().copied().collect())? {
            owned[numbers[&pair.1]].insert(pair);
        }
        Ok(Self { labels, pairs: owned })
    }

    fn of_names(view: &View<F>, names: &[Document], is_published: bool) -> Result<Self, ReadError> {
        let (labels, numbers) = numbered(names.iter().map(Document::name));
        let mut owned = vec![BTreeSet::new(); numbers.len()];
        let names: HashSet<Vec<u8>> = numbers.keys().map(|name| name.to_vec()).collect();
        for pair in view.pairs_with_names(&names, is_published)? {
            let name = view.name(pair.1)?.unwrap_or_default();
            if let Some(&number) = numbers.get(name) {
                owned[number].insert(pair);
            }
        }
        Ok(Self { labels, pairs: owned })
    }

    /// Returns the pairs that a record would replace.
    pub(super) fn by(&self, record: usize) -> &BTreeSet<Pair<F>> {
        &self.pairs[self.labels[record]]
    }

    /// Returns the pairs that a record would replace.
    pub(super) fn by_mut(&mut self, record: usize) -> &mut BTreeSet<Pair<F>> {
        &mut self.pairs[self.labels[record]]
    }
}

/// Returns the number of each label, and the numbers by label.
pub(in crate::write) fn numbered<L: Hash + Eq + Copy>(
    all: impl Iterator<Item = L>,
) -> (Vec<usize>, HashMap<L, usize>) {
    let mut numbers = HashMap::new();
    let labels = all
        .map(|label| {
            let next = numbers.len();
            *numbers.entry(label).or_insert(next)
        })
        .collect();
    (labels, numbers)
}

/// Returns the number of distinct fingerprints of pairs within a distance.
pub(super) fn count_within<F: Fingerprint>(owned: &BTreeSet<Pair<F>>, value: F, distance: u32) -> usize {
    let mut last = None;
    let is_new = |&&(own, _): &&Pair<F>| last.replace(own) != Some(own);
    owned.iter().filter(is_new).filter(|(own, _)| own.distance(value) <= distance).count()
}

impl<F: Fingerprint> View<F> {
    /// Returns whether a fingerprint is stored with an id other than those of these pairs, all of which are stored.
    pub(super) fn has_other(&self, value: F, owned: &BTreeSet<Pair<F>>) -> Result<bool, ReadError> {
        let own = owned.range((value, 0)..=(value, u64::MAX)).count();
        if own == 0 {
            return self.contains(value);
        }
        // One id more than the own ones says it, however many there are: a count would read them all.
        let (ids, _) = self.first_ids(value, true, own + 1)?;
        Ok(ids.len() > own)
    }

    /// Returns the first match, of stored ones from the nearest on, whose fingerprint is stored with an id of none of
    /// these pairs.
    pub(super) fn first_other(
        &self,
        found: &[Match<F>],
        owned: &BTreeSet<Pair<F>>,
    ) -> Result<Option<Match<F>>, ReadError> {
        if owned.is_empty() {
            return Ok(found.first().copied());
        }
        for &found in found {
            if self.has_other(found.fingerprint, owned)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
