//! Near-duplicates by the distance of fingerprints. This file has their join: all pairs within the distance, by the
//! self-join of the engine.
//!
//! - [`pigeonhole`]: centres within the distance, for corpora with too many pairs
//! - [`chains`]: chains in such corpora

mod chains;
mod pigeonhole;

use hamdex::{Fingerprint, Pairs, ReadError, ReadErrorKind, Stopped, sort_by_keys};

use crate::dedup::classes::UnionFind;
use crate::dedup::fingerprints::chains::Chains;
use crate::dedup::fingerprints::pigeonhole::Pigeonhole;
use crate::dedup::grouping::stars;
use crate::dedup::resources::{CHECK_EVERY, Progress, Resources, Stage};
use crate::error::Error;

/// Crowded fingerprints, for tests.
#[cfg(test)]
mod crowds {
    /// A kind of crowd.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Crowd {
        /// All within a few bits of one.
        Ball,
        /// Consecutive numbers: all but the last bits are shared.
        Numbers,
        /// Several balls, of which some touch.
        Balls,
        /// A ball among fingerprints that share their first half.
        Mixed,
    }

    impl Crowd {
        pub(super) const ALL: [Self; 4] = [Self::Ball, Self::Numbers, Self::Balls, Self::Mixed];
    }

    /// A number that looks random.
    pub(super) fn mixed(number: u64) -> u64 {
        let spread = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let spread = (spread ^ spread >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        spread ^ spread >> 32
    }

    /// Flips three bits, or fewer, of a centre.
    fn near(centre: u64, number: u64) -> u64 {
        let random = mixed(number);
        [0, 6, 12].into_iter().fold(centre, |near, shift| near ^ 1 << (random >> shift & 63))
    }

    /// Distinct fingerprints of a crowd, in an order that looks random.
    pub(super) fn shuffled(crowd: Crowd, count: usize) -> Vec<u64> {
        let of = |number: u64| match crowd {
            Crowd::Ball => near(0x0123_4567_89ab_cdef, number),
            Crowd::Numbers => number,
            Crowd::Balls => near(mixed(number % 7) & 0xffff_0fff_0000_03f0, number),
            Crowd::Mixed if number.is_multiple_of(2) => near(0, number),
            Crowd::Mixed => mixed(number) >> 32,
        };
        let mut seen = std::collections::HashSet::new();
        let mut distinct: Vec<u64> = (0..).map(of).filter(|&one| seen.insert(one)).take(count).collect();
        distinct.sort_unstable_by_key(|&one| mixed(one ^ 40));
        distinct
    }
}

/// The greatest number of pairs that are looked at: this many per fingerprint, and at least this many. With more pairs,
/// documents lie in dense crowds, and clusters are found without pairs. Stars keep the pairs in memory, chains do not.
const PAIRS_PER_FINGERPRINT: usize = 16;
const LINKS_PER_FINGERPRINT: usize = 64;
const MIN_PAIRS: usize = 1 << 22;

/// The memory of a pair.
const PAIR_BYTES: u64 = 16;

/// The classes with a fingerprint, in the order of fingerprints.
pub(crate) struct FingerprintJoin<F> {
    /// Ascending, each once.
    fingerprints: Vec<F>,
    classes: Vec<u32>,
    /// For every value of the first bits, the index of the first fingerprint with it.
    starts: Vec<u32>,
    distance: u32,
}

/// Number of leading bits by which a fingerprint is looked up.
const START_BITS: u32 = 16;

impl<F: Fingerprint> FingerprintJoin<F> {
    /// Creates a join of distinct fingerprints, given with their classes.
    pub(crate) fn new(
        mut of_class: Vec<(F, u32)>,
        distance: u32,
        resources: &Resources,
    ) -> Result<Self, Error> {
        let check = resources.cancellation_check(Stage::Compare, of_class.len());
        sort_by_keys(&mut of_class, |&(fingerprint, _)| fingerprint, |&(_, class)| u64::from(class), &check)?;
        let (fingerprints, classes): (Vec<F>, Vec<u32>) = of_class.into_iter().unzip();
        let starts = (0..=1 << START_BITS)
            .map(|start| fingerprints.partition_point(|&f| first_bits(f) < start) as u32)
            .collect();
        Ok(Self { fingerprints, classes, starts, distance })
    }

    /// Returns the neighbourhood of all classes, and the centre of each, without pairs.
    fn crowded(&self, count: u32, resources: &Resources) -> Result<(Pigeonhole<F>, Vec<u32>), Error> {
        let crowded = Pigeonhole::new(&self.fingerprints, &self.classes, count, self.distance);
        let report = |done| resources.report(Progress::new(Stage::Cluster, done, Some(count.into())));
        let centres = stars::stars(count, &crowded, resources.index_bytes(), &report)?;
        Ok((crowded, centres))
    }

    /// Returns the centre of every class; `count` is the number of classes.
    pub(crate) fn stars(&self, count: u32, resources: &Resources) -> Result<Vec<u32>, Error> {
        let room = usize::try_from(resources.index_bytes() / PAIR_BYTES).unwrap_or(usize::MAX);
        let most = MIN_PAIRS.max(PAIRS_PER_FINGERPRINT * self.fingerprints.len()).min(room.max(1));
        self.stars_by(most, count, resources)
    }

    /// Returns the centres after a look at this many pairs, at most.
    fn stars_by(&self, most: usize, count: u32, resources: &Resources) -> Result<Vec<u32>, Error> {
        // The later class first.
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let joined = self.join(resources, |one, other| {
            pairs.push((one.max(other), one.min(other)));
            if pairs.len() < most { Ok(()) } else { Err(Stopped) }
        });
        if pairs.len() >= most {
            drop(pairs);
            return self.crowded(count, resources).map(|(_, centres)| centres);
        }
        joined?;
        let check = resources.cancellation_check(Stage::Cluster, count as usize);
        sort_by_keys(&mut pairs, |&(class, _)| u64::from(class), |&(_, earlier)| u64::from(earlier), &check)?;
        let mut centres: Vec<u32> = (0..count).collect();
        for pairs in pairs.chunks(CHECK_EVERY) {
            check()?;
            for &(class, earlier) in pairs {
                // All classes before it are settled, and its first neighbouring centre is visited first.
                let is_free = centres[class as usize] == class;
                if is_free && centres[earlier as usize] == earlier {
                    centres[class as usize] = earlier;
                }
            }
        }
        Ok(centres)
    }

    /// Returns the first class of the chain of every class; `count` is the number of classes.
    pub(crate) fn linked(&self, count: u32, resources: &Resources) -> Result<Vec<u32>, Error> {
        self.linked_by(MIN_PAIRS.max(LINKS_PER_FINGERPRINT * self.fingerprints.len()), count, resources)
    }

    /// Returns the chains after a look at this many pairs, at most.
    fn linked_by(&self, most: usize, count: u32, resources: &Resources) -> Result<Vec<u32>, Error> {
        let mut unions = UnionFind::of(count);
        let mut left = most;
        let joined = self.join(resources, |one, other| {
            unions.join(one, other);
            left = left.saturating_sub(1);
            if left > 0 { Ok(()) } else { Err(Stopped) }
        });
        if left > 0 {
            joined?;
        } else {
            let (near, centres) = self.crowded(count, resources)?;
            let check = resources.cancellation_check(Stage::Cluster, count as usize);
            let chains = Chains { near: &near, distance: self.distance, centres: &centres };
            chains.link(&mut unions, &check, &mut || ())?;
        }
        Ok(unions.firsts())
    }

    /// Calls `visit` with the classes of every pair within the distance.
    fn join(
        &self,
        resources: &Resources,
        mut visit: impl FnMut(u32, u32) -> Result<(), Stopped>,
    ) -> Result<(), Error> {
        let mut pairs: Pairs<'_, F> = hamdex::pairs(&self.fingerprints, self.distance)
            .memory(resources.index_bytes())
            .threads(rayon::current_num_threads());
        if let Some(report) = resources.on_progress.clone() {
            pairs = pairs.progress(move |progress| {
                report(Progress::new(Stage::Compare, progress.done, progress.total));
            });
        }
        let pairs = resources.cancellations.iter().cloned().fold(pairs, Pairs::cancellation);
        let joined = pairs.for_each_batch(|batch| {
            let mut pairs = batch.iter().map(|pair| (self.class_of(pair.a), self.class_of(pair.b)));
            Ok::<_, ReadError>(pairs.try_for_each(|(one, other)| visit(one, other))?)
        });
        joined.map_err(|error| match error.kind() {
            ReadErrorKind::Stopped => Error::Stopped,
            _ => Error::Index(error),
        })
    }

    fn class_of(&self, fingerprint: F) -> u32 {
        let start = first_bits(fingerprint) as usize;
        let range = self.starts[start] as usize..self.starts[start + 1] as usize;
        let place = range.start + self.fingerprints[range].partition_point(|&f| f < fingerprint);
        self.classes[place]
    }
}

fn first_bits<F: Fingerprint>(fingerprint: F) -> u32 {
    (fingerprint.to_u128() >> (F::BITS - START_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::fingerprints::crowds::{self, Crowd};
    use std::path::PathBuf;

    #[test]
    fn clusters_do_not_depend_on_how_many_pairs_are_looked_at() {
        let resources = Resources {
            memory: 1 << 26,
            taken: 0,
            directory: PathBuf::new(),
            on_progress: None,
            cancellations: Vec::new(),
        };
        for (crowd, distance) in Crowd::ALL.into_iter().flat_map(|crowd| [(crowd, 1), (crowd, 3), (crowd, 9)])
        {
            // Every third class has no fingerprint.
            let of_class = (0..).step_by(3).zip(crowds::shuffled(crowd, 400));
            let of_class = of_class.map(|(class, fingerprint)| (fingerprint, class)).collect();
            let join = FingerprintJoin::new(of_class, distance, &resources).unwrap();
            let stars = |most| join.stars_by(most, 1200, &resources).unwrap();
            let linked = |most| join.linked_by(most, 1200, &resources).unwrap();
            for most in [1, 50, 2000] {
                assert_eq!(stars(most), stars(usize::MAX), "{crowd:?} {distance}");
                assert_eq!(linked(most), linked(usize::MAX), "{crowd:?} {distance}");
            }
        }
    }
}
