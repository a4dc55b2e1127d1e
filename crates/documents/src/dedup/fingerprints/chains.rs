//! Chains of near fingerprints in crowds, whose pairs are too many to list.
//!
//! The members of a star are linked by its centre. Two stars are compared only where their members agree in a group of
//! bits, only if they are not linked yet, and only as far as the distances of their centres allow a link. In a crowd the
//! first few comparisons link all stars.

use hamdex::Fingerprint;
use rayon::prelude::*;

use crate::dedup::classes::UnionFind;
use crate::dedup::fingerprints::pigeonhole::Pigeonhole;
use crate::error::Error;

/// Classes with a fingerprint, and what they are compared by.
pub(super) struct Chains<'a, F> {
    pub(super) near: &'a Pigeonhole<F>,
    pub(super) distance: u32,
    /// The centre of each class.
    pub(super) centres: &'a [u32],
}

/// The members of a star that agree in a group of bits: a range of the classes.
#[derive(Clone, Copy)]
struct Part<F> {
    centre: u32,
    fingerprint: F,
    start: usize,
    end: usize,
}

impl<F: Fingerprint> Chains<'_, F> {
    /// Joins the classes of every chain. Calls `check` now and then, until it fails, and `compared` for each comparison.
    pub(super) fn link(
        &self,
        unions: &mut UnionFind,
        check: &dyn Fn() -> Result<(), Error>,
        compared: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let mut classes: Vec<(F, u32)> = Vec::new();
        for (class, &centre) in (0..).zip(self.centres) {
            unions.join(class, centre);
            classes.extend(self.near.of_class(class).map(|fingerprint| (fingerprint, class)));
        }
        let mut chains = Vec::new();
        for &group in self.near.groups() {
            check()?;
            let key = |&(fingerprint, class): &(F, u32)| (fingerprint & group, self.centres[class as usize]);
            classes.par_sort_unstable_by_key(key);
            for run in classes.chunk_by(|one, other| (one.0 ^ other.0) & group == F::ZERO) {
                check()?;
                self.link_run(run, unions, &mut chains, compared);
            }
        }
        Ok(())
    }

    /// Links the stars of classes that agree in a group of bits, sorted by centre. `chains` is memory that is reused.
    fn link_run(
        &self,
        run: &[(F, u32)],
        unions: &mut UnionFind,
        chains: &mut Vec<Vec<Part<F>>>,
        compared: &mut dyn FnMut(),
    ) {
        chains.clear();
        let mut start = 0;
        for star in run.chunk_by(|one, other| self.centres[one.1 as usize] == self.centres[other.1 as usize])
        {
            let centre = self.centres[star[0].1 as usize];
            let fingerprint = self.near.of_class(centre).expect("a centre has a fingerprint");
            let part = Part { centre, fingerprint, start, end: start + star.len() };
            start = part.end;
            self.link_part(run, part, unions, chains, compared);
        }
    }

    /// Compares a part of a star with those of other chains, and adds it to its chain.
    fn link_part(
        &self,
        run: &[(F, u32)],
        part: Part<F>,
        unions: &mut UnionFind,
        chains: &mut Vec<Vec<Part<F>>>,
        compared: &mut dyn FnMut(),
    ) {
        let mut own: Vec<Part<F>> = Vec::new();
        let mut place = 0;
        while place < chains.len() {
            let other = chains[place][0].centre;
            let is_linked = unions.first(other) == unions.first(part.centre)
                || chains[place].iter().any(|&other| self.are_linked(run, part, other, compared));
            if !is_linked {
                place += 1;
                continue;
            }
            unions.join(other, part.centre);
            // The parts of one chain stay together: a later one meets them all at once.
            let mut chain = chains.swap_remove(place);
            if chain.len() > own.len() {
                std::mem::swap(&mut chain, &mut own);
            }
            own.append(&mut chain);
        }
        own.push(part);
        chains.push(own);
    }

    /// Whether a member of one part is near a member of another.
    fn are_linked(&self, run: &[(F, u32)], one: Part<F>, other: Part<F>, compared: &mut dyn FnMut()) -> bool {
        compared();
        // By the triangle inequality; a member is within the distance of its centre.
        let reach = |times: u32| self.distance.saturating_mul(times);
        if one.fingerprint.distance(other.fingerprint) > reach(3) {
            return false;
        }
        run[one.start..one.end].iter().any(|&(fingerprint, _)| {
            compared();
            fingerprint.distance(other.fingerprint) <= reach(2)
                && run[other.start..other.end].iter().any(|&(its, _)| {
                    compared();
                    fingerprint.distance(its) <= self.distance
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::fingerprints::crowds::{self, Crowd};
    use crate::dedup::grouping::stars;

    /// The first class of each chain, as brute force finds it.
    fn firsts_of(fingerprints: &[u64], distance: u32) -> Vec<u32> {
        let mut unions = UnionFind::of(fingerprints.len() as u32);
        for (place, one) in fingerprints.iter().enumerate() {
            let others = fingerprints[..place].iter().enumerate();
            let near = others.filter(|(_, other)| one.distance(**other) <= distance);
            near.for_each(|(other, _)| unions.join(place as u32, other as u32));
        }
        unions.firsts()
    }

    /// The same by stars, with the number of comparisons.
    fn linked(fingerprints: &[u64], distance: u32) -> (Vec<u32>, u64) {
        let (classes, mut steps): (Vec<u32>, u64) = ((0..fingerprints.len() as u32).collect(), 0);
        let near = Pigeonhole::new(fingerprints, &classes, classes.len() as u32, distance);
        let centres = stars::stars(classes.len() as u32, &near, 1 << 20, &|_| Ok(())).unwrap();
        let mut unions = UnionFind::of(classes.len() as u32);
        let chains = Chains { near: &near, distance, centres: &centres };
        chains.link(&mut unions, &|| Ok(()), &mut || steps += 1).unwrap();
        (unions.firsts(), steps)
    }

    #[test]
    fn chains_in_crowds_equal_brute_force() {
        for crowd in Crowd::ALL {
            for distance in [0, 1, 2, 3, 6, 64] {
                let fingerprints = crowds::shuffled(crowd, 700);
                assert_eq!(
                    linked(&fingerprints, distance).0,
                    firsts_of(&fingerprints, distance),
                    "{crowd:?} {distance}"
                );
            }
        }
    }

    #[test]
    fn a_dense_crowd_takes_a_few_steps_per_fingerprint() {
        for crowd in [Crowd::Ball, Crowd::Balls, Crowd::Numbers] {
            let steps = |count| linked(&crowds::shuffled(crowd, count), 3).1;
            let (few, many) = (steps(5_000), steps(20_000));
            // n log n: 4 times as many, and a little more.
            assert!(many <= few.max(5_000) * 4 * 3 / 2, "{crowd:?}: {few} and {many} steps");
        }
    }

    proptest::proptest! {
        #[test]
        fn chains_equal_brute_force(numbers in proptest::collection::vec(0u64..4096, 1..200), spread in 0u32..4, distance in 0u32..5) {
            let spread_out = |number: u64| (0..12).fold(0u64, |all, bit| all | (number >> bit & 1) << (bit * (1 + spread)));
            let mut fingerprints: Vec<u64> = numbers.into_iter().map(spread_out).collect();
            fingerprints.sort_unstable_by_key(|&one| crowds::mixed(one));
            fingerprints.dedup();
            proptest::prop_assert_eq!(linked(&fingerprints, distance).0, firsts_of(&fingerprints, distance));
        }
    }
}
