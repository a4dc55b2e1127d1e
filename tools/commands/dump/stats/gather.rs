//! One walk over the fingerprints, and what it counts.

use hamdex::{Fingerprint, Index, ReadError};

/// Leading bits by which fingerprints are counted.
pub(super) const LEADING_BITS: u32 = 8;

/// Fingerprints of the sample whose pairs are compared: two million pairs.
const SAMPLE: u64 = 2000;

/// So many spikes are named at most.
const MOST_SPIKES: usize = 10;

/// A leading byte is a spike with so many times what chance gives it.
const SPIKE: f64 = 4.0;

/// How the fingerprints are spread.
pub(super) struct Spread {
    pub(super) fingerprints: u64,
    pub(super) bits: u32,
    /// Distinct fingerprints by their leading bits.
    pub(super) leading: Vec<u64>,
    /// Leading bits with many distinct fingerprints: the bits, and how many.
    pub(super) crowded: Vec<(usize, u64)>,
    /// Fingerprints of many ids, most first: in hexadecimal, and how many. `None` without ids.
    pub(super) spikes: Option<Vec<(String, u64)>>,
    pub(super) ids: u64,
    /// Pairs of the sample by their distance.
    pub(super) distances: Vec<u64>,
    pub(super) sampled: u64,
    /// Between neighbours of table 0: how often each h.
    pub(super) h: Vec<u64>,
}

pub(super) fn gather<F: Fingerprint>(index: &Index<F>) -> Result<Spread, ReadError> {
    let mut leading = vec![0u64; 1 << LEADING_BITS];
    let mut spikes: Vec<(u64, F)> = Vec::new();
    let mut sample = Vec::new();
    let mut ids = 0;
    let step = index.len().div_ceil(SAMPLE).max(1);
    for (number, fingerprint) in (0u64..).zip(index.fingerprints()) {
        let fingerprint = fingerprint?;
        leading[(fingerprint >> (F::BITS - LEADING_BITS)).to_u128() as usize] += 1;
        if number.is_multiple_of(step) {
            sample.push(fingerprint);
        }
        if index.has_ids() {
            let its = index.ids(fingerprint)?.len() as u64;
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
        // Of a few fingerprints some always meet.
        .filter(|&(_, count)| count as f64 > (expected * SPIKE).max(8.0))
        .collect();
    crowded.sort_by_key(|&(bits, count)| (std::cmp::Reverse(count), bits));
    crowded.truncate(MOST_SPIKES);
    Ok(Spread {
        fingerprints: index.len(),
        bits: F::BITS,
        leading,
        crowded,
        spikes: index
            .has_ids()
            .then(|| spikes.into_iter().map(|(its, f)| (f.hex().to_string(), its)).collect()),
        ids,
        distances,
        sampled: sample.len() as u64,
        h: index.stats().tables[0].counts.clone(),
    })
}

/// Keeps those with the most ids, of more than one.
fn remember<F: Fingerprint>(spikes: &mut Vec<(u64, F)>, ids: u64, fingerprint: F) {
    if ids < 2 || spikes.len() == MOST_SPIKES && spikes[MOST_SPIKES - 1].0 >= ids {
        return;
    }
    let at = spikes.partition_point(|&(its, _)| its >= ids);
    spikes.insert(at, (ids, fingerprint));
    spikes.truncate(MOST_SPIKES);
}

impl Spread {
    /// What uniform fingerprints would give for each distance, of as many pairs.
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
        assert_eq!(spikes.len(), MOST_SPIKES);
        assert_eq!(spikes[..4], [(5, 3), (5, 4), (3, 10), (3, 11)]);
    }
}
