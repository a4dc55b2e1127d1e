//! Groups of classes, one per cluster.
//!
//! - [`stars`]: every member of a group is a neighbour of its centre

pub(crate) mod stars;

use hamdex::Fingerprint;

use crate::dedup::classes::Classes;
use crate::dedup::corpus::{Corpus, Digest, State};
use crate::dedup::fingerprints::FingerprintJoin;
use crate::dedup::options::{Clustering, Method};
use crate::dedup::resources::{Progress, Resources, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::texts::{SetJoin, linked};
use crate::error::Error;

/// The classes of a corpus, and for each class the first class of its group, which leads the group.
pub(crate) struct Groups {
    pub(crate) classes: Classes,
    pub(crate) first: Vec<u32>,
}

impl Groups {
    /// Finds the groups of a corpus. Consumes its digests.
    pub(crate) fn of<F: Fingerprint>(
        corpus: &mut Corpus<F>,
        method: Method,
        clustering: Clustering,
        resources: &Resources,
    ) -> Result<Self, Error> {
        let classes = classes(corpus, method, resources)?;
        let first = match method.similarity {
            Some(similarity) => {
                similar(corpus, &classes, (similarity, method.distance), clustering, resources)?
            }
            None => near(corpus, &classes, method.distance.unwrap_or_default(), clustering, resources)?,
        };
        Ok(Self { classes, first })
    }
}

/// Returns the memory per document without shingles and id: the fingerprint and its copies, digests, positions and
/// classes.
pub(crate) fn bytes_per_document<F: Fingerprint>(method: Method) -> u64 {
    let fingerprints = if method.similarity.is_some() { 2 } else { 6 };
    // Digests are sorted in a second list, and lists that grow have room to spare.
    112 + fingerprints * F::BYTES as u64
}

/// Builds the classes of documents that the search need not distinguish.
fn classes<F: Fingerprint>(
    corpus: &mut Corpus<F>,
    method: Method,
    resources: &Resources,
) -> Result<Classes, Error> {
    // Shingles are counted next if texts are compared; otherwise fingerprints are compared.
    let stage = if method.similarity.is_some() { Stage::Count } else { Stage::Compare };
    let check = resources.cancellation_check(stage, corpus.states.len());
    let number = |(high, low): Digest| u128::from(high) << 64 | u128::from(low);
    let weights = corpus.weights.as_deref();
    let mut classes = Classes::new(corpus.states.len());
    let mut digests: Vec<(Digest, u32)> = std::mem::take(&mut corpus.digests);
    digests.retain(|(_, document)| corpus.states[*document as usize] != State::Known);
    let fingerprint = |document: u32| corpus.fingerprints[document as usize];
    match (method.similarity, method.distance) {
        (Some(_), None) => classes.add(digests, |digest| (number(digest), 0), weights, &check)?,
        (Some(_), Some(_)) => {
            // Texts that are too short for a fingerprint are equal if their shingles are.
            let fingerprint = |document: u32| match corpus.states[document as usize] {
                State::TooShort => F::ZERO,
                _ => fingerprint(document),
            };
            let keys =
                digests.into_iter().map(|(digest, document)| ((digest, fingerprint(document)), document));
            let parts = |(digest, fingerprint): (Digest, F)| (number(digest), fingerprint.to_u128());
            classes.add(keys.collect(), parts, weights, &check)?;
        }
        (None, _) => {
            let searched = (0..).zip(&corpus.states).filter(|(_, state)| **state == State::Fingerprint);
            let keys = searched.map(|(document, _)| (fingerprint(document), document)).collect();
            classes.add(keys, |fingerprint: F| (fingerprint.to_u128(), 0), weights, &check)?;
            classes.add(digests, |digest| (number(digest), 0), weights, &check)?;
        }
    }
    classes.order(weights, &check)?;
    Ok(classes)
}

fn near<F: Fingerprint>(
    corpus: &Corpus<F>,
    classes: &Classes,
    distance: u32,
    clustering: Clustering,
    resources: &Resources,
) -> Result<Vec<u32>, Error> {
    let fingerprint = |(class, &leader): (u32, &u32)| {
        let is_searched = corpus.states[leader as usize] == State::Fingerprint;
        is_searched.then(|| (corpus.fingerprints[leader as usize], class))
    };
    let of_class = (0..).zip(classes.leaders()).filter_map(fingerprint).collect();
    let near = FingerprintJoin::new(of_class, distance, resources)?;
    let count = classes.len() as u32;
    match clustering {
        Clustering::Stars => near.stars(count, resources),
        Clustering::Linked => near.linked(count, resources),
    }
}

fn similar<F: Fingerprint>(
    corpus: &Corpus<F>,
    classes: &Classes,
    (similarity, distance): (Similarity, Option<u32>),
    clustering: Clustering,
    resources: &Resources,
) -> Result<Vec<u32>, Error> {
    let sets = corpus.sets.as_ref().expect("sets are kept if texts are compared");
    let is_near = |one: u32, other: u32| {
        let has_fingerprint = |document| corpus.states[document as usize] == State::Fingerprint;
        let fingerprint = |document| corpus.fingerprints[document as usize];
        distance.is_none_or(|distance| {
            has_fingerprint(one)
                && has_fingerprint(other)
                && fingerprint(one).distance(fingerprint(other)) <= distance
        })
    };
    let total = Some(classes.len() as u64);
    let report = |stage| move |done| resources.report(Progress::new(stage, done, total));
    report(Stage::Count)(0)?;
    let similar =
        SetJoin::new(sets, classes, similarity, &is_near, resources.count_bytes(), &report(Stage::Count))?;
    let stars = stars::stars(similar.len(), &similar, resources.index_bytes(), &report(Stage::Compare))?;
    match clustering {
        Clustering::Stars => Ok(stars),
        Clustering::Linked => linked(&similar, &stars, &report(Stage::Cluster)),
    }
}
