//! Centres within a distance of a fingerprint, for corpora with too many pairs to list.
//!
//! By the pigeonhole principle, two fingerprints within the distance agree in one of distance + 1 groups of bits.
//! The groups of the centres are indexed; a class is compared with the centres that agree with it in a group, from the
//! first on, until one is near: in a crowd, that is one of the first.
//!
//! Crowds share bits. Groups of bits that all share would hold all centres, so the bits that vary most are dealt to the
//! groups in turn.

use std::cmp::Reverse;

use hamdex::Fingerprint;

use crate::dedup::classes::HashLists;
use crate::dedup::grouping::stars::Neighbourhood;
use crate::error::Error;

/// Odd multipliers, the digits of two irrational numbers.
const SPREAD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// Fingerprints whose bits are counted, to see which vary.
const SAMPLES: usize = 1 << 12;

/// The neighbourhood of fingerprints within a distance.
pub(crate) struct Pigeonhole<F> {
    of_class: Vec<Option<F>>,
    distance: u32,
    /// The bits of each group.
    groups: Vec<F>,
}

/// Deals all bits to groups, so that each group tells the fingerprints apart as far as they vary.
fn groups_of<F: Fingerprint>(fingerprints: &[F], count: u32) -> Vec<F> {
    let step = fingerprints.len().div_ceil(SAMPLES).max(1);
    let samples = fingerprints.len().div_ceil(step);
    let variation = |place: u32| {
        let ones = fingerprints.iter().step_by(step).filter(|&&one| one & F::bit(place) != F::ZERO).count();
        ones.min(samples - ones)
    };
    let mut places: Vec<u32> = (0..F::BITS).collect();
    places.sort_by_cached_key(|&place| Reverse(variation(place)));
    let mut groups = vec![F::ZERO; count as usize];
    for (turn, &place) in places.iter().enumerate() {
        let group = &mut groups[turn % count as usize];
        *group = *group | F::bit(place);
    }
    groups
}

impl<F: Fingerprint> Pigeonhole<F> {
    /// Creates the neighbourhood of fingerprints, given with the class of each, among `count` classes.
    pub(crate) fn new(fingerprints: &[F], classes: &[u32], count: u32, distance: u32) -> Self {
        let mut of_class = vec![None; count as usize];
        for (&fingerprint, &class) in fingerprints.iter().zip(classes) {
            of_class[class as usize] = Some(fingerprint);
        }
        let groups = groups_of(fingerprints, distance.saturating_add(1).min(F::BITS));
        Self { of_class, distance, groups }
    }

    /// Returns the fingerprint of a class, if it has one.
    pub(crate) fn of_class(&self, class: u32) -> Option<F> {
        self.of_class[class as usize]
    }

    /// Returns the bits of each group.
    pub(crate) fn groups(&self) -> &[F] {
        &self.groups
    }

    /// Returns a hash of each group. A collision costs a comparison and is otherwise harmless.
    fn hashes(&self, fingerprint: F) -> impl Iterator<Item = u64> {
        (1u64..).zip(&self.groups).map(move |(number, &group)| {
            let bits = (fingerprint & group).to_u128();
            let folded =
                (bits as u64) ^ ((bits >> 64) as u64).rotate_left(32) ^ number.wrapping_mul(SPREAD[1]);
            let spread = folded.wrapping_mul(SPREAD[0]);
            spread ^ spread >> 32
        })
    }
}

impl<F: Fingerprint> Neighbourhood for Pigeonhole<F> {
    type Key = ();
    type Index = HashLists;
    type Scratch = ();

    fn key(&self, _: u32, (): &mut ()) -> Result<(), Error> {
        Ok(())
    }

    fn add(&self, index: &mut HashLists, class: u32, (): &()) -> Result<(), Error> {
        let Some(fingerprint) = self.of_class[class as usize] else { return Ok(()) };
        self.hashes(fingerprint).try_for_each(|hash| index.add(hash, class))
    }

    fn bytes(&self, index: &HashLists) -> u64 {
        index.bytes()
    }

    fn key_bytes(&self, _: u32) -> u64 {
        0
    }

    fn first(&self, index: &HashLists, class: u32, (): &(), (): &mut ()) -> Result<Option<u32>, Error> {
        Ok(self.first_of(index, class, || ()))
    }
}

impl<F: Fingerprint> Pigeonhole<F> {
    /// Returns the first centre within the distance, and calls `compared` for each centre that is looked at.
    fn first_of(&self, index: &HashLists, class: u32, mut compared: impl FnMut()) -> Option<u32> {
        let fingerprint = self.of_class(class)?;
        let mut first = u32::MAX;
        for hash in self.hashes(fingerprint) {
            // Centres are added in their order.
            for centre in index.classes(hash) {
                compared();
                if centre >= first {
                    break;
                }
                let its = self.of_class(centre);
                if its.is_some_and(|its| its.distance(fingerprint) <= self.distance) {
                    first = centre;
                    break;
                }
            }
        }
        (first != u32::MAX).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::dedup::fingerprints::crowds::{self, Crowd};

    /// The centres of fingerprints, as brute force finds them; each is its class.
    fn centres_of(fingerprints: &[u64], distance: u32) -> Vec<u32> {
        let mut centres: Vec<u32> = Vec::new();
        for (class, fingerprint) in fingerprints.iter().enumerate() {
            let is_near = |&other: &usize| {
                centres[other] as usize == other && fingerprints[other].distance(*fingerprint) <= distance
            };
            centres.push((0..class).find(is_near).unwrap_or(class) as u32);
        }
        centres
    }

    /// The same by the index, with the number of centres that were looked at.
    fn indexed(fingerprints: &[u64], distance: u32) -> (Vec<u32>, u64) {
        let classes: Vec<u32> = (0..fingerprints.len() as u32).collect();
        let near = Pigeonhole::new(fingerprints, &classes, classes.len() as u32, distance);
        let (mut index, steps) = (HashLists::default(), Cell::new(0));
        let mut centre_of = |class| {
            let found = near.first_of(&index, class, || steps.set(steps.get() + 1));
            found.unwrap_or_else(|| {
                near.add(&mut index, class, &()).unwrap();
                class
            })
        };
        let centres = classes.iter().map(|&class| centre_of(class)).collect();
        (centres, steps.get())
    }

    #[test]
    fn centres_in_crowds_equal_brute_force() {
        for crowd in Crowd::ALL {
            for distance in [0, 1, 3, 7, 64] {
                let fingerprints = crowds::shuffled(crowd, 700);
                assert_eq!(
                    indexed(&fingerprints, distance).0,
                    centres_of(&fingerprints, distance),
                    "{crowd:?} {distance}"
                );
            }
        }
    }

    #[test]
    fn a_dense_crowd_takes_a_few_steps_per_fingerprint() {
        let steps = |crowd, count| indexed(&crowds::shuffled(crowd, count), 3).1;
        for crowd in [Crowd::Ball, Crowd::Balls] {
            let (few, many) = (steps(crowd, 5_000), steps(crowd, 20_000));
            // n log n: 4 times as many, and a little more.
            assert!(many <= few.max(5_000) * 4 * 3 / 2, "{crowd:?}: {few} and {many} steps");
        }
        // Here centres multiply with the fingerprints. Groups of bits in their order would hold all of them.
        let many = steps(Crowd::Numbers, 20_000);
        assert!(many <= 20_000 * 32, "{many} steps");
    }
}
