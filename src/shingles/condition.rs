//! How alike two documents have to be: a measure, and the least share by it; and the documents that are.

use crate::ids::StoredId;

/// A measure of how alike a set of shingles and a stored one are (Broder, "On the resemblance and containment of
/// documents", SEQUENCES 1997): the number of shared shingles as a part of some others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Measure {
    /// Of all shingles of the two (Jaccard).
    #[default]
    Resemblance,
    /// Of those of the query: how much of it a stored document contains.
    Containing,
    /// Of those of the stored document: how much of it the query contains.
    Contained,
}

/// A measure, and the least share by it that counts.
///
/// ```
/// use hamdex::similar::{Condition, Measure};
///
/// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is above 0 and at most 1");
/// assert!(condition.is_met(7, 8, 9)); // 7 of 10
/// assert!(!condition.is_met(6, 8, 8)); // 6 of 10
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    measure: Measure,
    least: f64,
}

impl Condition {
    /// Creates a condition; `None` unless the least share is above 0 and at most 1.
    #[must_use]
    pub fn new(measure: Measure, least: f64) -> Option<Self> {
        (least > 0.0 && least <= 1.0).then_some(Self { measure, least })
    }

    /// Returns the measure.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns the least share that counts.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Returns how alike two sets are, by the number of shared shingles, those of the query and those of the stored
    /// set: 0 if the measure is of none.
    #[must_use]
    #[inline]
    pub fn share(&self, shared: usize, query: usize, stored: usize) -> f64 {
        let all = match self.measure {
            Measure::Resemblance => query + stored - shared,
            Measure::Containing => query,
            Measure::Contained => stored,
        };
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }

    /// Returns whether two sets are alike, by these numbers of shingles. Every answer is decided here; the bounds below follow from it.
    #[must_use]
    #[inline]
    pub fn is_met(&self, shared: usize, query: usize, stored: usize) -> bool {
        self.share(shared, query, stored) >= self.least
    }

    /// Returns the fewest shingles that two sets of these sizes share if they are alike; more than the smaller one has
    /// if they cannot be.
    #[must_use]
    #[inline]
    pub fn least_shared(&self, query: usize, stored: usize) -> usize {
        let most = query.min(stored);
        let guess = match self.measure {
            Measure::Resemblance => (query + stored) as f64 * self.least / (1.0 + self.least),
            Measure::Containing => query as f64 * self.least,
            Measure::Contained => stored as f64 * self.least,
        };
        // Rounding errors are corrected by the division that defines the measure.
        let mut shared = guess.ceil() as usize;
        while shared > 0 && shared <= most + 1 && self.is_met(shared - 1, query, stored) {
            shared -= 1;
        }
        while shared <= most && !self.is_met(shared, query, stored) {
            shared += 1;
        }
        shared.max(1)
    }

    /// Returns the fewest shingles that a query of this size shares with any set that is like it.
    #[must_use]
    pub fn least_shared_with_any(&self, query: usize) -> usize {
        match self.measure {
            // The smallest similar set consists of shared shingles only.
            Measure::Resemblance | Measure::Containing => {
                let mut shared = (query as f64 * self.least).ceil() as usize;
                while shared > 0 && (shared - 1) as f64 / query as f64 >= self.least {
                    shared -= 1;
                }
                shared.max(1)
            }
            Measure::Contained => 1,
        }
    }
}

/// A stored document that is similar to a set of shingles.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SimilarDocument {
    /// The id of the document.
    pub id: StoredId,
    /// How similar it is, by the measure of the condition: above 0, at most 1.
    pub similarity: f64,
}

impl SimilarDocument {
    /// Creates one, for sets of other crates.
    #[must_use]
    pub fn new(id: StoredId, similarity: f64) -> Self {
        Self { id, similarity }
    }

    /// Sorts documents, the most similar first, then by id, then by part, and keeps the first `limit`.
    pub fn keep_nearest(documents: &mut Vec<Self>, limit: usize) {
        let order = |one: &Self, other: &Self| {
            let by_id = || (one.id.id, one.id.part).cmp(&(other.id.id, other.id.part));
            other.similarity.total_cmp(&one.similarity).then_with(by_id)
        };
        if limit < documents.len() / 2 {
            documents.select_nth_unstable_by(limit, order);
            documents.truncate(limit);
        }
        documents.sort_unstable_by(order);
        documents.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURES: [Measure; 3] = [Measure::Resemblance, Measure::Containing, Measure::Contained];

    #[test]
    fn only_shares_are_conditions() {
        assert!([0.01, 0.8, 1.0].iter().all(|&share| Condition::new(Measure::Contained, share).is_some()));
        for wrong in [0.0, -0.1, 1.1, 80.0, f64::NAN] {
            assert_eq!(Condition::new(Measure::Resemblance, wrong), None);
        }
    }

    #[test]
    fn the_fewest_shared_shingles_are_those_of_the_definition() {
        for (percent, measure) in (1..=100).flat_map(|percent| MEASURES.map(|measure| (percent, measure))) {
            let condition = Condition::new(measure, f64::from(percent) / 100.0).unwrap();
            for query in 1..40usize {
                let mut with_any = usize::MAX;
                for stored in 1..60usize {
                    let expected =
                        (1..=query.min(stored)).find(|&shared| condition.is_met(shared, query, stored));
                    let found = condition.least_shared(query, stored);
                    let found = Some(found).filter(|&found| found <= query.min(stored));
                    assert_eq!(found, expected, "{query} {stored} {condition:?}");
                    with_any = with_any.min(expected.unwrap_or(usize::MAX));
                }
                let any = condition.least_shared_with_any(query);
                assert!(any >= 1 && any <= with_any, "{query} {condition:?}");
                if measure != Measure::Contained {
                    let bound = (query as f64 * condition.least()).floor() as usize;
                    assert!(any >= bound.max(1), "{query} {condition:?}");
                }
            }
        }
    }
}
