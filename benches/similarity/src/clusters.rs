//! Evaluates the clusters of `hamdex dedup`: the near-duplicates that share a cluster, and the documents
//! removed.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_documents::{Clusters, Dedup, Document, Error, Similarity};
use hamdex_fingerprint::Fingerprint;
use hamdex_simhash::{Fingerprinter, Shingler, Shingles};

use crate::truth::Truth;

/// The bands of near-duplicates, by the share of words in which they differ: upper bounds in hundredths.
const CHANGED_PERCENT: [u32; 8] = [0, 1, 2, 5, 10, 20, 30, 100];

/// The distance of the rule by fingerprints.
const DISTANCE: u32 = 3;

/// Pairs of near-duplicates that differ in about the same share of their words.
pub(crate) struct Band {
    pub(crate) up_to_percent: u32,
    pub(crate) pairs: u64,
    /// The pairs that share a cluster.
    pub(crate) found: u64,
}

impl Band {
    /// Returns the share of pairs that are found, if there are any.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.found as f64 / self.pairs as f64)
    }
}

/// The outcome of one rule.
pub(crate) struct Outcome {
    pub(crate) rule: String,
    pub(crate) bands: Vec<Band>,
    pub(crate) removed: u64,
    /// The number of removed documents that are less similar than 0.7 to the kept one.
    pub(crate) removed_wrongly: u64,
}

/// Finds clusters by similarity, as `hamdex dedup` does, and by distance, as with `-k 3`.
pub(crate) fn outcomes<F: Fingerprint>(
    fingerprinter: &Fingerprinter<F>,
    texts: &[String],
    truth: &Truth,
) -> Result<Vec<Outcome>, Error> {
    let similarity = Similarity::default();
    let changes = changes(texts, truth);
    let mut shingler = Shingler::new(similarity.words());
    let shingles: Vec<Shingles> = texts.iter().map(|text| shingler.shingles(text)).collect();
    let by_similarity = Dedup::new(fingerprinter.clone());
    let by_distance = Dedup::new(fingerprinter.clone()).distance(DISTANCE);
    let rules = [
        (format!("--similarity {}", similarity.least()), by_similarity),
        (format!("-k {DISTANCE}"), by_distance),
    ];
    let mut outcomes = Vec::new();
    for (rule, dedup) in rules {
        let clusters = dedup.run_on(texts.iter().map(|text| Document::new("", text)))?;
        let kept = kept(&clusters);
        let is_wrong = |document: u32| {
            let resemblance = shingles[document as usize].resemblance(&shingles[kept[&document] as usize]);
            resemblance < similarity.least()
        };
        let removed = clusters.members().iter().filter(|member| !member.is_kept);
        outcomes.push(Outcome {
            rule,
            bands: bands(&changes, &kept),
            removed: clusters.duplicates(),
            removed_wrongly: removed.filter(|member| is_wrong(member.document)).count() as u64,
        });
    }
    Ok(outcomes)
}

/// Returns the kept document of every document in a cluster.
fn kept(clusters: &Clusters) -> HashMap<u32, u32> {
    let of_cluster: Vec<u32> = {
        let mut kept: Vec<_> = clusters.members().iter().filter(|member| member.is_kept).collect();
        kept.sort_by_key(|member| member.cluster);
        kept.iter().map(|member| member.document).collect()
    };
    let kept = |cluster: u32| of_cluster[cluster as usize - 1];
    clusters.members().iter().map(|member| (member.document, kept(member.cluster))).collect()
}

/// Returns the pairs of near-duplicates, and the share of different words that the document with more of them
/// does not have in common with the other.
fn changes(texts: &[String], truth: &Truth) -> Vec<(u32, u32, f64)> {
    let mut shingler = Shingler::new(NonZeroUsize::MIN);
    let words: Vec<Shingles> = texts.iter().map(|text| shingler.shingles(text)).collect();
    let change = |(one, other): (u32, u32)| {
        let [first, second] = [one, other].map(|document| &words[document as usize]);
        let most = first.hashes().len().max(second.hashes().len());
        // From the resemblance r = shared / (one + other − shared).
        let all = (first.hashes().len() + second.hashes().len()) as f64;
        let resemblance = first.resemblance(second);
        let shared = (resemblance * all / (1.0 + resemblance)).round();
        (one, other, if most == 0 { 0.0 } else { 1.0 - shared / most as f64 })
    };
    truth.iter().map(change).collect()
}

fn bands(changes: &[(u32, u32, f64)], kept: &HashMap<u32, u32>) -> Vec<Band> {
    let mut bands: Vec<Band> =
        CHANGED_PERCENT.map(|up_to_percent| Band { up_to_percent, pairs: 0, found: 0 }).into();
    for &(one, other, change) in changes {
        let band = bands.iter_mut().find(|band| change * 100.0 <= f64::from(band.up_to_percent));
        let band = band.expect("no text has less than no word in common");
        band.pairs += 1;
        band.found += u64::from(kept.contains_key(&one) && kept.get(&one) == kept.get(&other));
    }
    bands
}
