//! What makes documents near-duplicates, and what becomes of several.

use crate::dedup::similarity::Similarity;

/// How documents are brought together into clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clustering {
    /// Every member of a cluster is a near-duplicate of the kept document. Documents are taken in the order of
    /// [`Preference`](crate::Preference): one that is a near-duplicate of kept documents joins the first of them;
    /// any other is kept. So no two kept documents are near-duplicates of each other.
    #[default]
    Stars,
    /// Chains: near-duplicates are always in the same cluster, so a cluster is all that can be reached over
    /// near-duplicates, and two members can be far apart.
    Linked,
}

/// What makes two documents near-duplicates: at least one of the two, and both where both are given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Method {
    /// Their fingerprints are within this distance.
    pub(crate) distance: Option<u32>,
    /// Their texts are similar.
    pub(crate) similarity: Option<Similarity>,
}

impl Method {
    /// The method of what the user has chosen: similarity, unless a distance alone was.
    pub(crate) fn of(distance: Option<u32>, similarity: Option<Similarity>) -> Self {
        let similarity = match distance {
            None => Some(similarity.unwrap_or_default()),
            Some(_) => similarity,
        };
        Self { distance, similarity }
    }

    /// Whether fingerprints decide, so that documents need a reliable one.
    pub(crate) fn needs_fingerprints(self) -> bool {
        self.distance.is_some()
    }
}
