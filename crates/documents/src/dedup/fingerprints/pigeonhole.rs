//! Centres within a distance of a fingerprint, for corpora with too many pairs to list.
//!
//! By the pigeonhole principle, two fingerprints within the distance agree in one of distance + 1 groups of bits.
//! The groups of the centres are indexed; a class is compared with the centres that agree with it in a group.

use hamdex::Fingerprint;

use crate::dedup::grouping::hash_lists::HashLists;
use crate::dedup::grouping::stars::Neighbourhood;
use crate::error::Error;

/// Odd multipliers, the digits of two irrational numbers.
const SPREAD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// The neighbourhood of fingerprints within a distance.
pub(crate) struct Pigeonhole<F> {
    of_class: Vec<Option<F>>,
    distance: u32,
    /// The bits of each group.
    groups: Vec<F>,
}

impl<F: Fingerprint> Pigeonhole<F> {
    pub(crate) fn new(members: impl Iterator<Item = (F, u32)>, count: u32, distance: u32) -> Self {
        let mut of_class = vec![None; count as usize];
        members.for_each(|(fingerprint, class)| of_class[class as usize] = Some(fingerprint));
        let groups = (distance + 1).min(F::BITS);
        let start = |group: u32| group * F::BITS / groups;
        let bits = |group| (start(group)..start(group + 1)).fold(F::ZERO, |bits, place| bits | F::bit(place));
        Self { of_class, distance, groups: (0..groups).map(bits).collect() }
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
        let Some(fingerprint) = self.of_class[class as usize] else { return Ok(None) };
        let mut first = None;
        for hash in self.hashes(fingerprint) {
            index.each(hash, |centre| {
                let its = self.of_class[centre as usize];
                let is_near = its.is_some_and(|its| its.distance(fingerprint) <= self.distance);
                if is_near && first.is_none_or(|first| centre < first) {
                    first = Some(centre);
                }
            });
        }
        Ok(first)
    }
}
