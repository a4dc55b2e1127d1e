//! Known near-duplicates, and the score of a method against them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The set of pairs of documents that are near-duplicates. Documents are numbered in the order of the input.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    pairs: HashSet<(u32, u32)>,
}

impl Truth {
    /// Creates the truth from pairs. The order within a pair and repeated pairs do not matter; a document is not its
    /// own near-duplicate.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let pairs = pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| ordered(a, b));
        Self { pairs: pairs.collect() }
    }

    /// Creates the truth from the group of each document, in order: all documents of a group are near-duplicates of
    /// each other.
    ///
    /// ```
    /// use hamdex_simhash::evaluate::Truth;
    ///
    /// assert_eq!(Truth::of_groups(["a", "b", "a", "a"]).pairs(), 3);
    /// ```
    pub fn of_groups<G: Hash + Eq>(groups: impl IntoIterator<Item = G>) -> Self {
        let mut members: HashMap<G, Vec<u32>> = HashMap::new();
        let mut pairs = HashSet::new();
        for (document, group) in (0..).zip(groups) {
            let earlier = members.entry(group).or_default();
            pairs.extend(earlier.iter().map(|&other| (other, document)));
            earlier.push(document);
        }
        Self { pairs }
    }

    /// Returns the number of pairs that are near-duplicates.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Returns the pairs that are near-duplicates, each once, the lower document first, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut pairs: Vec<(u32, u32)> = self.pairs.iter().copied().collect();
        pairs.sort_unstable();
        pairs.into_iter()
    }

    /// Returns whether these two are near-duplicates.
    #[must_use]
    pub fn contains(&self, a: u32, b: u32) -> bool {
        self.pairs.contains(&ordered(a, b))
    }
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The numbers of pairs reported by a method, and of near-duplicates among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Score {
    /// Pairs reported as near-duplicates.
    pub reported: u64,
    /// Reported pairs that are near-duplicates.
    pub right: u64,
    /// All pairs that are near-duplicates.
    pub truth: u64,
}

impl Score {
    /// Returns the share of the reported pairs that are near-duplicates; `None` when none is reported.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        (self.reported > 0).then(|| self.right as f64 / self.reported as f64)
    }

    /// Returns the share of the near-duplicates that are reported; `None` when there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        (self.truth > 0).then(|| self.right as f64 / self.truth as f64)
    }
}

/// The score of a method at one of its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelScore {
    /// The threshold. The function that returns the score says in which unit.
    pub level: u32,
    /// The score.
    pub score: Score,
}

/// Shares are scored in steps of this many hundredths.
pub(super) const STEP_PERCENT: u32 = 5;

/// Returns the thresholds of shares, in hundredths: 100, 95, and so on.
pub(super) fn percents() -> impl Iterator<Item = u32> {
    (1..=100 / STEP_PERCENT).rev().map(|steps| steps * STEP_PERCENT)
}

/// Counts reported pairs by level: by distance, or by resemblance in steps.
#[derive(Debug)]
pub(super) struct Levels<'t> {
    truth: &'t Truth,
    reported: Vec<u64>,
    right: Vec<u64>,
}

impl<'t> Levels<'t> {
    pub(super) fn new(truth: &'t Truth, levels: usize) -> Self {
        Self { truth, reported: vec![0; levels], right: vec![0; levels] }
    }

    /// Counts a pair that is reported at `level` and all above.
    pub(super) fn report(&mut self, level: usize, a: u32, b: u32) {
        self.reported[level] += 1;
        self.right[level] += u64::from(self.truth.contains(a, b));
    }

    /// Returns the score at every level.
    pub(super) fn scores(self) -> impl Iterator<Item = Score> {
        let mut sum = Score { truth: self.truth.pairs(), ..Score::default() };
        self.reported.into_iter().zip(self.right).map(move |(reported, right)| {
            sum.reported += reported;
            sum.right += right;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_unordered_and_counted_once() {
        let truth = Truth::of_pairs([(1, 2), (2, 1), (3, 3)]);
        assert_eq!(truth.pairs(), 1);
        assert!(truth.contains(2, 1) && !truth.contains(1, 3));
        assert!(Truth::of_pairs([(5, 4), (1, 2)]).iter().eq([(1, 2), (4, 5)]));
    }

    #[test]
    fn precision_and_recall_without_pairs_are_unknown() {
        assert_eq!(Score::default().precision(), None);
        assert_eq!(Score::default().recall(), None);
        let score = Score { reported: 4, right: 3, truth: 6 };
        assert_eq!((score.precision(), score.recall()), (Some(0.75), Some(0.5)));
    }
}
