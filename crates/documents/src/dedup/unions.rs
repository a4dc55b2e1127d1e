//! Sets of documents: union-find.

/// Sets of documents, each identified by its first one.
#[derive(Debug, Default)]
pub(crate) struct Unions {
    /// An earlier document of the same set, or the document itself.
    parents: Vec<u32>,
}

impl Unions {
    /// Adds a document in a set of its own.
    pub(crate) fn push(&mut self) {
        self.parents.push(self.parents.len() as u32);
    }

    /// Returns the first document of a document's set.
    pub(crate) fn first(&mut self, mut document: u32) -> u32 {
        while self.parents[document as usize] != document {
            // Halving the path keeps the next walk short.
            let parent = self.parents[document as usize];
            self.parents[document as usize] = self.parents[parent as usize];
            document = parent;
        }
        document
    }

    /// Joins two sets. The first document does not depend on the order of the calls.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }

    pub(crate) fn are_joined(&mut self, one: u32, other: u32) -> bool {
        self.first(one) == self.first(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_identified_by_its_first_document() {
        for pairs in [[(4, 2), (2, 1), (3, 0)], [(1, 2), (0, 3), (1, 4)]] {
            let mut unions = Unions::default();
            (0..6).for_each(|_| unions.push());
            pairs.iter().for_each(|&(one, other)| unions.join(one, other));
            let firsts: Vec<u32> = (0..6).map(|document| unions.first(document)).collect();
            assert_eq!(firsts, [0, 1, 1, 0, 1, 5]);
            assert!(unions.are_joined(4, 2) && !unions.are_joined(0, 1));
        }
    }
}
