//! Precision and recall of fingerprints, by distance.

use hamdex_fingerprint::Fingerprint;

use crate::truth::{LevelScore, Levels, Truth};

/// Returns the scores for every distance from 0 to `max_distance`. The level is the distance. A document without a
/// fingerprint (`None`) is in no reported pair.
///
/// Every pair is compared, without an index: n documents cost n²/2 comparisons, 5 billion for 100,000.
pub(crate) fn by_distance<F: Fingerprint>(
    fingerprints: &[Option<F>],
    truth: &Truth,
    max_distance: u32,
) -> Vec<LevelScore> {
    let mut levels = Levels::new(truth, max_distance as usize + 1);
    let present: Vec<(u32, F)> = (0..)
        .zip(fingerprints)
        .filter_map(|(document, fingerprint)| Some((document, (*fingerprint)?)))
        .collect();
    for (index, &(document, fingerprint)) in present.iter().enumerate() {
        for &(other, its) in &present[..index] {
            let distance = fingerprint.distance(its);
            if distance <= max_distance {
                levels.report(distance as usize, other, document);
            }
        }
    }
    (0..).zip(levels.scores()).map(|(level, score)| LevelScore { level, score }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_reported_from_its_distance_on() {
        let fingerprints = [Some(0b0000u64), Some(0b0011), Some(0b1111), None];
        let scores = by_distance(&fingerprints, &Truth::of_pairs([(0, 1), (2, 3)]), 2);
        assert_eq!(scores[1].score.reported, 0);
        assert_eq!((scores[2].score.precision(), scores[2].score.recall()), (Some(0.5), Some(0.5)));
    }
}
