//! Counts everything in one pass over the fingerprints.

use hamdex::{Fingerprint, Index, Names};
use indicatif::HumanCount;

use crate::failure::Failure;
use crate::names;

/// The number of leading bits by which fingerprints are counted.
pub(super) const LEADING_BITS: u32 = 8;

/// The size of the sample whose pairs are compared: two million pairs.
const SAMPLE: u64 = 2000;

/// The most spikes that are shown.
const MAX_SPIKES: usize = 10;

/// The most ids that are shown of a spike.
const MAX_SHOWN_IDS: usize = 3;

/// Leading bits this many times as frequent as by chance are a spike.
const SPIKE: f64 = 4.0;

/// The distribution of the fingerprints.
pub(super) struct Spread {
    pub(super) fingerprints: u64,
    pub(super) bits: u32,
    /// Distinct fingerprints by their leading bits.
    pub(super) leading: Vec<u64>,
    /// Leading bits with many distinct fingerprints: the bits, and the number of fingerprints.
    pub(super) crowded: Vec<(usize, u64)>,
    /// Fingerprints with several ids, those with the most first. `None` for an index without ids.
    pub(super) spikes: Option<Vec<Spike>>,
    /// Whether ids are shown as names of documents.
    pub(super) has_names: bool,
    pub(super) ids: u64,
    /// The number of pairs of the sample at each distance.
    pub(super) distances: Vec<u64>,
    pub(super) sampled: u64,
    /// The number of occurrences of each h between neighbours of table 0.
    pub(super) h: Vec<u64>,
}

/// A fingerprint with several ids.
pub(super) struct Spike {
    /// In hexadecimal.
    pub(super) fingerprint: String,
    /// The number of ids.
    pub(super) ids: u64,
    /// The first ids: names of documents if there are names.
    pub(super) first_ids: Vec<String>,
}

impl Spike {
    /// Returns the first ids, and the number of others.
    pub(super) fn shown_ids(&self) -> String {
        let more = self.ids - self.first_ids.len() as u64;
        let more = if more == 0 { String::new() } else { format!(" and {} more", HumanCount(more)) };
        self.first_ids.join("; ") + &more
    }
}

/// Reads all fingerprints; shows ids by their names, if they have names.
pub(super) fn gather<F: Fingerprint>(index: &Index<F>, names: Option<Names<'_>>) -> Result<Spread, Failure> {
    let mut leading = vec![0u64; 1 << LEADING_BITS];
    let mut spikes: Vec<(u64, F)> = Vec::new();
    let mut sample = Vec::new();
    let mut ids = 0;
    let step = index.len().div_ceil(SAMPLE).max(1);
    for (number, fingerprint) in (0u64..).zip(index.fingerprints()) {
        let fingerprint = fingerprint.map_err(Failure::Index)?;
        leading[(fingerprint >> (F::BITS - LEADING_BITS)).to_u128() as usize] += 1;
        if number.is_multiple_of(step) {
            sample.push(fingerprint);
        }
        if index.has_ids() {
            let its = index.ids(fingerprint).map_err(Failure::Index)?.len() as u64;
            ids += its;
            remember(&mut spikes, its, fingerprint);
        }
    }
    let mut distances = vec![0u64; F::BITS as usize + 1];
    for (number, &one) in sample.iter().enumerate() {
        for &other in &sample[..number] {
            distances[one.distance(other) as usize] += 1;
        }
    }
    let expected = index.len() as f64 / leading.len() as f64;
    let mut crowded: Vec<(usize, u64)> = leading
        .iter()
        .copied()
        .enumerate()
        // Among a few fingerprints, some always coincide.
        .filter(|&(_, count)| count as f64 > (expected * SPIKE).max(8.0))
        .collect();
    crowded.sort_by_key(|&(bits, count)| (std::cmp::Reverse(count), bits));
    crowded.truncate(MAX_SPIKES);
    Ok(Spread {
        fingerprints: index.len(),
        bits: F::BITS,
        leading,
        crowded,
        spikes: if index.has_ids() { Some(shown(index, &spikes, names)?) } else { None },
        has_names: names.is_some(),
        ids,
        distances,
        sampled: sample.len() as u64,
        h: index.stats().tables[0].counts.clone(),
    })
}

fn shown<F: Fingerprint>(
    index: &Index<F>,
    spikes: &[(u64, F)],
    names: Option<Names<'_>>,
) -> Result<Vec<Spike>, Failure> {
    let shown_id = |id: u64| match names {
        Some(names) => {
            let name = names.name_of(id).map_err(Failure::Index)?;
            Ok::<_, Failure>(Names::text_of(&names::written(name)).into_owned())
        }
        None => Ok(id.to_string()),
    };
    let spike = |&(ids, fingerprint): &(u64, F)| {
        let its = index.ids(fingerprint).map_err(Failure::Index)?;
        let first_ids = its.take(MAX_SHOWN_IDS).map(shown_id).collect::<Result<_, _>>()?;
        Ok(Spike { fingerprint: fingerprint.hex().to_string(), ids, first_ids })
    };
    spikes.iter().map(spike).collect()
}

/// Keeps the fingerprints with the most ids, of those with more than one.
fn remember<F: Fingerprint>(spikes: &mut Vec<(u64, F)>, ids: u64, fingerprint: F) {
    if ids < 2 || spikes.len() == MAX_SPIKES && spikes[MAX_SPIKES - 1].0 >= ids {
        return;
    }
    let at = spikes.partition_point(|&(its, _)| its >= ids);
    spikes.insert(at, (ids, fingerprint));
    spikes.truncate(MAX_SPIKES);
}

impl Spread {
    /// Returns the number of pairs of uniform fingerprints expected at each distance, for as many pairs in
    /// all.
    pub(super) fn expected_distances(&self) -> Vec<f64> {
        let pairs: u64 = self.distances.iter().sum();
        let mut share = 0.5f64.powi(self.bits as i32);
        (0..=self.bits)
            .map(|distance| {
                let expected = share * pairs as f64;
                share *= f64::from(self.bits - distance) / f64::from(distance + 1);
                expected
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_are_remembered_in_order() {
        let mut spikes = Vec::new();
        for (ids, fingerprint) in
            [(1, 1u64), (2, 2), (5, 3), (5, 4)].into_iter().chain((10..30).map(|i| (3, i)))
        {
            remember(&mut spikes, ids, fingerprint);
        }
        assert_eq!(spikes.len(), MAX_SPIKES);
        assert_eq!(spikes[..4], [(5, 3), (5, 4), (3, 10), (3, 11)]);
    }
}
