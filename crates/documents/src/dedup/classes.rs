//! Equivalence classes of documents: the search compares one document per class. Sets of classes, by union-find;
//! and lists of classes by hash.

use std::cmp::Reverse;
use std::iter;

use hamdex::sort_by_keys;

use crate::dedup::resources::CHECK_EVERY;
use crate::error::Error;

/// Marks a document without a class, which is in no cluster.
const NONE: u32 = u32::MAX;

/// The class of every document. Classes are numbered by preference of their leaders: of several classes in one
/// cluster, the leader of the smallest is kept.
pub(crate) struct Classes {
    of_document: Vec<u32>,
    /// The preferred document of each class.
    leaders: Vec<u32>,
}

impl Classes {
    /// Creates the classes of `documents` documents, none of which has a class yet.
    pub(crate) fn new(documents: usize) -> Self {
        Self { of_document: vec![NONE; documents], leaders: Vec::new() }
    }

    /// Adds a class for each distinct key, which `parts` turns into two numbers that have its order. With weights, the
    /// heaviest document of a class leads it, of several the first; otherwise the first. Calls `check` now and then,
    /// until it fails.
    pub(crate) fn add<K: Ord + Copy + Send + Sync>(
        &mut self,
        mut keys: Vec<(K, u32)>,
        parts: impl Fn(K) -> (u128, u128) + Sync,
        weights: Option<&[u64]>,
        check: &(impl Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        sort_by_keys(&mut keys, |&(key, _)| parts(key).0, |&(key, _)| parts(key).1, check)?;
        for (place, class) in keys.chunk_by(|one, other| one.0 == other.0).enumerate() {
            if place.is_multiple_of(CHECK_EVERY) {
                check()?;
            }
            let documents = class.iter().map(|(_, document)| *document);
            let leader = match weights {
                Some(weights) => documents.max_by_key(|&one| (weights[one as usize], Reverse(one))),
                None => documents.min(),
            };
            let number = self.leaders.len() as u32;
            class.iter().for_each(|(_, document)| self.of_document[*document as usize] = number);
            self.leaders.extend(leader);
        }
        Ok(())
    }

    /// Numbers the classes by preference. Calls `check` now and then, until it fails.
    pub(crate) fn order(
        &mut self,
        weights: Option<&[u64]>,
        check: &(impl Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        // The heaviest first, if weights are given; then by the leader.
        let rank = |leader: u32| weights.map_or(0, |weights| !weights[leader as usize]);
        let mut order: Vec<(u64, u32, u32)> =
            (0..).zip(&self.leaders).map(|(class, &leader)| (rank(leader), leader, class)).collect();
        sort_by_keys(&mut order, |&(rank, ..)| rank, |&(_, leader, _)| u64::from(leader), check)?;
        let mut numbers = vec![NONE; order.len()];
        (0..).zip(&order).for_each(|(number, &(.., class))| numbers[class as usize] = number);
        self.leaders = order.iter().map(|&(_, leader, _)| leader).collect();
        check()?;
        let present = self.of_document.iter_mut().filter(|class| **class != NONE);
        present.for_each(|class| *class = numbers[*class as usize]);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.leaders.len()
    }

    /// Returns the leader of a class.
    pub(crate) fn leader(&self, class: u32) -> u32 {
        self.leaders[class as usize]
    }

    /// Returns the leaders in the order of the classes.
    pub(crate) fn leaders(&self) -> &[u32] {
        &self.leaders
    }

    /// Returns all documents that have a class, and their classes.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..)
            .zip(&self.of_document)
            .filter(|(_, class)| **class != NONE)
            .map(|(document, class)| (document, *class))
    }

    /// Returns the class of a document that has one.
    pub(crate) fn of(&self, document: u32) -> u32 {
        self.of_document[document as usize]
    }
}

/// Sets of classes, each identified by its first one.
#[derive(Debug)]
pub(crate) struct UnionFind {
    /// An earlier class of the same set, or the class itself.
    parents: Vec<u32>,
}

impl UnionFind {
    /// Creates one set per class.
    pub(crate) fn of(classes: u32) -> Self {
        Self { parents: (0..classes).collect() }
    }

    /// Returns the first class of a class's set.
    pub(crate) fn first(&mut self, mut class: u32) -> u32 {
        while self.parents[class as usize] != class {
            // Halving the path keeps the next walk short.
            let parent = self.parents[class as usize];
            self.parents[class as usize] = self.parents[parent as usize];
            class = parent;
        }
        class
    }

    /// Joins two sets. The first class does not depend on the order of the calls.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    /// Returns the first class of each class's set.
    pub(crate) fn firsts(&mut self) -> Vec<u32> {
        (0..self.parents.len() as u32).map(|class| self.first(class)).collect()
    }
}

/// No entry: the list is empty.
const END: u32 = u32::MAX;

/// The fewest lists, and the factor by which they multiply when there are as many entries.
const MIN_HEADS: usize = 1 << 10;
const GROWTH: usize = 4;

/// Linked lists in one allocation. Several hashes share a list; their entries are told apart. Lists are circular, so that
/// one number per list leads to its newest entry, and from there to the oldest.
#[derive(Default)]
pub(crate) struct HashLists {
    /// The newest entry of each list; a power of two of them.
    newest: Vec<u32>,
    entries: Vec<Entry>,
}

struct Entry {
    hash: u64,
    class: u32,
    /// The next newer entry of the list; of the newest, the oldest.
    next: u32,
}

impl HashLists {
    /// Returns about the memory of this many entries, in bytes.
    pub(crate) fn bytes_of(entries: u64) -> u64 {
        let heads = entries.max(MIN_HEADS as u64) * GROWTH as u64;
        entries * size_of::<Entry>() as u64 + heads * size_of::<u32>() as u64 / 2
    }

    pub(crate) fn add(&mut self, hash: u64, class: u32) -> Result<(), Error> {
        let entry = u32::try_from(self.entries.len()).ok().filter(|entry| *entry != END);
        let entry = entry.ok_or(Error::TooManyDocuments)?;
        if self.entries.len() == self.newest.len() {
            self.grow();
        }
        self.entries.push(Entry { hash, class, next: entry });
        self.link(entry);
        Ok(())
    }

    /// Makes an entry the newest of its list.
    fn link(&mut self, entry: u32) {
        let list = self.list(self.entries[entry as usize].hash);
        let before = std::mem::replace(&mut self.newest[list], entry);
        let oldest = match before {
            END => entry,
            before => std::mem::replace(&mut self.entries[before as usize].next, entry),
        };
        self.entries[entry as usize].next = oldest;
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // Room that entries have not taken yet is not backed by memory.
        (self.entries.len() * size_of::<Entry>() + self.newest.len() * size_of::<u32>()) as u64
    }

    /// Returns the classes of a hash, in the order in which they were added.
    pub(crate) fn classes(&self, hash: u64) -> impl Iterator<Item = u32> {
        let newest = if self.newest.is_empty() { END } else { self.newest[self.list(hash)] };
        let (mut at, mut is_over) = (newest, newest == END);
        iter::from_fn(move || {
            while !is_over {
                at = self.entries[at as usize].next;
                is_over = at == newest;
                let entry = &self.entries[at as usize];
                if entry.hash == hash {
                    return Some(entry.class);
                }
            }
            None
        })
    }

    /// Returns the list of a hash, by a multiplication, since some hashes have fewer bits.
    fn list(&self, hash: u64) -> usize {
        (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.newest.len().ilog2())) as usize
    }

    fn grow(&mut self) {
        let lists = (self.newest.len() * GROWTH).max(MIN_HEADS);
        self.newest = Vec::new();
        self.newest.resize(lists, END);
        (0..self.entries.len()).for_each(|entry| self.link(entry as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn go_on() -> Result<(), Error> {
        Ok(())
    }

    #[test]
    fn a_search_that_is_stopped_makes_no_classes() {
        let stop = || Err(Error::Stopped);
        let mut classes = Classes::new(3);
        assert!(matches!(
            classes.add(vec![(3, 0), (1, 1)], |key| (key, 0), None, &stop),
            Err(Error::Stopped)
        ));
        assert!(matches!(classes.order(None, &stop), Err(Error::Stopped)));
        assert_eq!(classes.documents().count(), 0);
    }

    #[test]
    fn classes_are_numbered_by_preference() {
        let mut classes = Classes::new(6);
        classes.add(vec![(7, 1), (3, 2), (7, 5)], |key| (key, 0), None, &go_on).unwrap();
        classes.add(vec![(('a', 1), 0), (('a', 2), 4)], |(a, b)| (u128::from(a), b), None, &go_on).unwrap();
        classes.order(None, &go_on).unwrap();
        assert_eq!(classes.leaders(), [0, 1, 2, 4]);
        assert_eq!(classes.documents().collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 2), (4, 3), (5, 1)]);
        assert_eq!((classes.len(), classes.leader(1), classes.of(5)), (4, 1, 1));
    }

    #[test]
    fn the_heaviest_leads_and_comes_first() {
        let weights = [10, 20, 30, 30, 5];
        let mut classes = Classes::new(5);
        let keys = vec![('x', 0), ('x', 1), ('y', 3), ('y', 2), ('z', 4)];
        classes.add(keys, |key| (u128::from(key), 0), Some(&weights), &go_on).unwrap();
        classes.order(Some(&weights), &go_on).unwrap();
        assert_eq!(classes.leaders(), [2, 1, 4]);
        assert_eq!(classes.documents().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 0), (3, 0), (4, 2)]);
    }

    #[test]
    fn a_set_is_identified_by_its_first_class() {
        for pairs in [[(4, 2), (2, 1), (3, 0)], [(1, 2), (0, 3), (1, 4)]] {
            let mut unions = UnionFind::of(6);
            pairs.iter().for_each(|&(one, other)| unions.join(one, other));
            assert_eq!(unions.firsts(), [0, 1, 1, 0, 1, 5]);
        }
    }

    #[test]
    fn every_class_is_found_by_its_hashes_alone() {
        let (mut lists, mut expected) = (HashLists::default(), HashMap::<u64, Vec<u32>>::new());
        assert_eq!(lists.classes(1).next(), None, "there is nothing yet");
        for class in 0..9000u32 {
            // Some hashes are common, and some differ in their lowest or highest bits only.
            for hash in [u64::from(class % 7), u64::from(class) << 40, u64::from(class / 3)] {
                lists.add(hash, class).unwrap();
                expected.entry(hash).or_default().push(class);
            }
        }
        for (hash, classes) in &expected {
            assert_eq!(&lists.classes(*hash).collect::<Vec<_>>(), classes, "{hash}");
        }
        assert_eq!(lists.classes(u64::MAX).next(), None, "nothing has this hash");
        assert!(lists.bytes() >= 27_000 * 20 && lists.bytes() <= HashLists::bytes_of(27_000) * 2);
    }
}
