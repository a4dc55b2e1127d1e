//! Known near-duplicates, and the score of a method against them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The set of pairs of documents that are near-duplicates. Documents are numbered in the order of the input.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    pairs: HashSet<(u32, u32)>,
}

impl Truth {
    /// Creates the truth from pairs. The order within a pair and repeated pairs do not matter; a document is not its
    /// own near-duplicate.
    pub(crate) fn of_pairs(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let pairs = pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| ordered(a, b));
        Self { pairs: pairs.collect() }
    }

    /// Creates the truth from the group of each document, in order: all documents of a group are near-duplicates of
    /// each other.
    pub(crate) fn of_groups<G: Hash + Eq>(groups: impl IntoIterator<Item = G>) -> Self {
        let mut members: HashMap<G, Vec<u32>> = HashMap::new();
        let mut pairs = HashSet::new();
        for (document, group) in (0..).zip(groups) {
            let earlier = members.entry(group).or_default();
            pairs.extend(earlier.iter().map(|&other| (other, document)));
            earlier.push(document);
        }
        Self { pairs }
    }

    /// Reads lines of two ids, each that of one document.
    pub(crate) fn of_lines(text: &str, ids: &[String]) -> Result<Self, String> {
        let mut places: HashMap<&str, Option<u32>> = HashMap::new();
        for (place, id) in (0..).zip(ids) {
            places.entry(id).and_modify(|place| *place = None).or_insert(Some(place));
        }
        let mut pairs = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [one, other] = words[..] else {
                return Err(format!("line {number}: expected two ids; found {}", words.len()));
            };
            let place = |id: &str| match places.get(id) {
                Some(Some(place)) => Ok(*place),
                Some(None) => Err(format!("line {number}: several documents have the id {id:?}")),
                None => Err(format!("line {number}: no document has the id {id:?}")),
            };
            pairs.push((place(one)?, place(other)?));
        }
        Ok(Self::of_pairs(pairs))
    }

    /// Returns the number of pairs that are near-duplicates.
    pub(crate) fn pairs(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Returns the pairs that are near-duplicates, each once, the lower document first, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut pairs: Vec<(u32, u32)> = self.pairs.iter().copied().collect();
        pairs.sort_unstable();
        pairs.into_iter()
    }

    /// Returns whether these two are near-duplicates.
    pub(crate) fn contains(&self, a: u32, b: u32) -> bool {
        self.pairs.contains(&ordered(a, b))
    }
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The numbers of pairs reported by a method, and of near-duplicates among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Score {
    /// Pairs reported as near-duplicates.
    pub(crate) reported: u64,
    /// Reported pairs that are near-duplicates.
    pub(crate) right: u64,
    /// All pairs that are near-duplicates.
    pub(crate) truth: u64,
}

impl Score {
    /// Returns the share of the reported pairs that are near-duplicates; `None` when none is reported.
    pub(crate) fn precision(&self) -> Option<f64> {
        (self.reported > 0).then(|| self.right as f64 / self.reported as f64)
    }

    /// Returns the share of the near-duplicates that are reported; `None` when there are none.
    pub(crate) fn recall(&self) -> Option<f64> {
        (self.truth > 0).then(|| self.right as f64 / self.truth as f64)
    }
}

/// The score of a method at one of its levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LevelScore {
    /// The threshold. The function that returns the score says in which unit.
    pub(crate) level: u32,
    /// The score.
    pub(crate) score: Score,
}

/// Shares are scored in steps of this many hundredths.
pub(crate) const STEP_PERCENT: u32 = 5;

/// Returns the thresholds of shares, in hundredths: 100, 95, and so on.
pub(crate) fn percents() -> impl Iterator<Item = u32> {
    (1..=100 / STEP_PERCENT).rev().map(|steps| steps * STEP_PERCENT)
}

/// Counts reported pairs by level: by distance, or by resemblance in steps.
#[derive(Debug)]
pub(crate) struct Levels<'t> {
    truth: &'t Truth,
    reported: Vec<u64>,
    right: Vec<u64>,
}

impl<'t> Levels<'t> {
    pub(crate) fn new(truth: &'t Truth, levels: usize) -> Self {
        Self { truth, reported: vec![0; levels], right: vec![0; levels] }
    }

    /// Counts a pair that is reported at `level` and all above.
    pub(crate) fn report(&mut self, level: usize, a: u32, b: u32) {
        self.reported[level] += 1;
        self.right[level] += u64::from(self.truth.contains(a, b));
    }

    /// Returns the score at every level.
    pub(crate) fn scores(self) -> impl Iterator<Item = Score> {
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
        assert_eq!(Truth::of_groups(["a", "b", "a", "a"]).pairs(), 3);
    }

    #[test]
    fn a_line_names_two_documents() {
        let ids = ["7", "8", "9", "9"].map(str::to_owned);
        assert!(Truth::of_lines("8 7\n\n", &ids).unwrap().iter().eq([(0, 1)]));
        for (lines, expected) in [
            ("7 8\n7 none\n", "line 2: no document has the id \"none\""),
            ("7 9\n", "line 1: several documents have the id \"9\""),
            ("7 8 10\n", "line 1: expected two ids; found 3"),
        ] {
            assert_eq!(Truth::of_lines(lines, &ids).unwrap_err(), expected);
        }
    }

    #[test]
    fn precision_and_recall_without_pairs_are_unknown() {
        assert_eq!(Score::default().precision(), None);
        assert_eq!(Score::default().recall(), None);
        let score = Score { reported: 4, right: 3, truth: 6 };
        assert_eq!((score.precision(), score.recall()), (Some(0.75), Some(0.5)));
    }
}
