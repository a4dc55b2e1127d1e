//! Sets of classes: union-find.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_identified_by_its_first_class() {
        for pairs in [[(4, 2), (2, 1), (3, 0)], [(1, 2), (0, 3), (1, 4)]] {
            let mut unions = UnionFind::of(6);
            pairs.iter().for_each(|&(one, other)| unions.join(one, other));
            assert_eq!(unions.firsts(), [0, 1, 1, 0, 1, 5]);
        }
    }
}
