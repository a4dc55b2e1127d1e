//! Near-duplicates by the distance of fingerprints.
//!
//! - [`join`]: all pairs within the distance, by the self-join of the engine
//! - [`pigeonhole`]: centres within the distance, for corpora with too many pairs
//! - [`chains`]: chains in such corpora

mod chains;
pub(super) mod join;
mod pigeonhole;

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
