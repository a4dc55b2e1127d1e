//! The sets of two or more documents, and the kept document of each.

use hamdex::Fingerprint;

use crate::dedup::corpus::{Corpus, State};

/// A document of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The cluster, numbered from 1 in the order of the clusters' first documents.
    pub cluster: u32,
    /// The document, numbered from 0 in the order of the input.
    pub document: u32,
    /// Whether it is the one document of its cluster that is kept; the others are its duplicates.
    pub is_kept: bool,
    /// The distance of its fingerprint to that of the kept document, in bits.
    pub distance: u32,
}

/// Finds the members of all clusters, by cluster and then by document.
pub(crate) fn find<F: Fingerprint>(corpus: &mut Corpus<F>) -> Vec<Member> {
    let documents = corpus.states.len() as u32;
    let mut sizes = vec![0u32; documents as usize];
    for document in 0..documents {
        sizes[corpus.unions.first(document) as usize] += 1;
    }
    // From here on: for the first document of a cluster the cluster's number, else 0.
    let mut numbers = sizes;
    let mut count = 0;
    for number in &mut numbers {
        *number = if *number > 1 {
            count += 1;
            count
        } else {
            0
        };
    }
    let mut members: Vec<Member> = (0..documents)
        .map(|document| (numbers[corpus.unions.first(document) as usize], document))
        .filter(|&(cluster, _)| cluster > 0)
        .map(|(cluster, document)| Member { cluster, document, is_kept: false, distance: 0 })
        .collect();
    members.sort_unstable_by_key(|member| (member.cluster, member.document));
    for cluster in members.chunk_by_mut(|one, other| one.cluster == other.cluster) {
        keep_one(cluster, corpus);
    }
    members
}

fn keep_one<F: Fingerprint>(cluster: &mut [Member], corpus: &Corpus<F>) {
    let kept = match &corpus.lengths {
        // The greatest length; among equal ones the first document.
        Some(lengths) => (0..cluster.len())
            .max_by_key(|&at| {
                let document = cluster[at].document;
                (lengths[document as usize], std::cmp::Reverse(document))
            })
            .unwrap_or(0),
        None => 0,
    };
    cluster[kept].is_kept = true;
    let to = cluster[kept].document as usize;
    for member in cluster {
        let document = member.document as usize;
        // Texts that are too short are in one cluster only if they are equal.
        if corpus.states[document] == State::Fingerprint {
            member.distance = corpus.fingerprints[document].distance(corpus.fingerprints[to]);
        }
    }
}
