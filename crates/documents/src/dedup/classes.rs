//! Classes of documents that are equal to the search: it compares one of each.

use std::cmp::Reverse;

use rayon::prelude::*;

/// No class: the document is in no cluster.
const NONE: u32 = u32::MAX;

/// Which documents are equal. Classes are numbered in the order of preference of their leaders: what is kept of
/// several is the leader of the least class.
pub(crate) struct Classes {
    of_document: Vec<u32>,
    /// The preferred document of each class.
    leaders: Vec<u32>,
}

impl Classes {
    /// No classes of that many documents yet.
    pub(crate) fn new(documents: usize) -> Self {
        Self { of_document: vec![NONE; documents], leaders: Vec::new() }
    }

    /// Adds a class for each distinct key. With lengths, the longest document of a class leads it, of several the
    /// first; otherwise the first.
    pub(crate) fn add<K: Ord + Copy + Send + Sync>(
        &mut self,
        mut keys: Vec<(K, u32)>,
        lengths: Option<&[u64]>,
    ) {
        keys.par_sort_unstable();
        for class in keys.chunk_by(|one, other| one.0 == other.0) {
            let documents = class.iter().map(|(_, document)| *document);
            let leader = match lengths {
                Some(lengths) => documents.max_by_key(|&one| (lengths[one as usize], Reverse(one))),
                None => documents.min(),
            };
            let number = self.leaders.len() as u32;
            class.iter().for_each(|(_, document)| self.of_document[*document as usize] = number);
            self.leaders.extend(leader);
        }
    }

    /// Numbers the classes by preference.
    pub(crate) fn order(&mut self, lengths: Option<&[u64]>) {
        let mut order: Vec<u32> = (0..self.leaders.len() as u32).collect();
        let leader = |class: &u32| self.leaders[*class as usize];
        match lengths {
            Some(lengths) => order.par_sort_unstable_by_key(|class| {
                let leader = leader(class);
                (Reverse(lengths[leader as usize]), leader)
            }),
            None => order.par_sort_unstable_by_key(leader),
        }
        let mut numbers = vec![NONE; order.len()];
        (0..).zip(&order).for_each(|(number, class)| numbers[*class as usize] = number);
        self.leaders = order.iter().map(leader).collect();
        let present = self.of_document.iter_mut().filter(|class| **class != NONE);
        present.for_each(|class| *class = numbers[*class as usize]);
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

    #[test]
    fn classes_are_numbered_by_preference() {
        let mut classes = Classes::new(6);
        classes.add(vec![(7u64, 1), (3, 2), (7, 5)], None);
        classes.add(vec![("a", 0), ("b", 4)], None);
        classes.order(None);
        assert_eq!(classes.leaders(), [0, 1, 2, 4]);
        assert_eq!(classes.documents().collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 2), (4, 3), (5, 1)]);
        assert_eq!((classes.len(), classes.leader(1), classes.of(5)), (4, 1, 1));
    }

    #[test]
    fn the_longest_leads_and_comes_first() {
        let lengths = [10, 20, 30, 30, 5];
        let mut classes = Classes::new(5);
        classes.add(vec![('x', 0), ('x', 1), ('y', 3), ('y', 2), ('z', 4)], Some(&lengths));
        classes.order(Some(&lengths));
        assert_eq!(classes.leaders(), [2, 1, 4]);
        assert_eq!(classes.documents().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 0), (3, 0), (4, 2)]);
    }
}
