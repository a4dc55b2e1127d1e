//! Equivalence classes of documents: the search compares one document per class.

use std::cmp::Reverse;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
