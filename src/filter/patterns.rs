//! The prefixes of a probe, eight at a time.

use crate::arch::LANES;

/// Groups whose lines are prefetched while one is tested.
const AHEAD: usize = 8;

/// A prefix, and the number of bits in which it differs from the query's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) prefix: u64,
    pub(crate) errors: u32,
}

/// Up to eight prefixes that differ from one in a bit each: in consecutive bits, so that all are computed at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Group {
    prefix: u64,
    /// The highest of the bits; 0 for the prefix itself.
    highest: u64,
    count: u32,
    /// The errors of each, that bit included.
    errors: u32,
}

impl Group {
    /// Returns the prefixes; behind the last are others.
    #[inline(always)]
    pub(crate) fn prefixes(&self) -> [u64; LANES] {
        let mut prefixes = [self.prefix; LANES];
        for (lane, prefix) in prefixes.iter_mut().enumerate() {
            *prefix ^= self.highest >> lane;
        }
        prefixes
    }

    /// Returns a mask of the lanes that have a prefix of the group.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> u32 {
        (1 << self.count) - 1
    }

    /// Calls `visit` with the prefixes whose bit is set; the first has the lowest.
    #[inline(always)]
    pub(crate) fn visit(&self, mut marked: u32, visit: &mut impl FnMut(Pattern)) {
        while marked != 0 {
            let prefix = self.prefix ^ self.highest >> marked.trailing_zeros();
            visit(Pattern { prefix, errors: self.errors });
            marked &= marked - 1;
        }
    }
}

/// The prefixes within a number of errors of one, in groups, each once. The bits that are flipped descend, so
/// that prefixes of one line follow each other.
pub(crate) struct Groups {
    bits: u32,
    errors: u32,
    /// The prefix of which lower bits are flipped next, and its errors.
    prefix: u64,
    flipped: u32,
    /// Its flipped bits, descending.
    positions: [u8; 64],
    /// The bits below this one are yet to be flipped; `None` before the first group.
    below: Option<u32>,
}

impl Groups {
    /// The prefixes of `bits` bits that differ from `prefix` in at most `errors` bits.
    #[inline(always)]
    pub(crate) fn new(prefix: u64, bits: u32, errors: u32) -> Self {
        Self { bits, errors, prefix, flipped: 0, positions: [0; 64], below: None }
    }

    /// Returns the next group, of the prefix itself first.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Group> {
        let Some(mut below) = self.below else {
            self.below = Some(if self.errors > 0 { self.bits } else { 0 });
            return Some(Group { prefix: self.prefix, highest: 0, count: 1, errors: 0 });
        };
        while below == 0 {
            below = self.turn_to_next()?;
        }
        let count = below.min(LANES as u32);
        self.below = Some(below - count);
        Some(Group { prefix: self.prefix, highest: 1 << (below - 1), count, errors: self.flipped + 1 })
    }

    /// Takes the next prefix that has an error less than there may be; returns its lowest flipped bit.
    fn turn_to_next(&mut self) -> Option<u32> {
        let mut below = match self.flipped {
            0 => self.bits,
            flipped => u32::from(self.positions[flipped as usize - 1]),
        };
        // Another error as well, or the last one in a lower bit.
        if self.flipped + 1 >= self.errors || below == 0 {
            loop {
                self.flipped = self.flipped.checked_sub(1)?;
                below = u32::from(self.positions[self.flipped as usize]);
                self.prefix ^= 1 << below;
                if below > 0 {
                    break;
                }
            }
        }
        below -= 1;
        self.positions[self.flipped as usize] = below as u8;
        self.flipped += 1;
        self.prefix ^= 1 << below;
        Some(below)
    }
}

/// Delays groups, so that what is started when one is pushed has been done when it comes out.
#[derive(Default)]
pub(crate) struct Delay {
    ring: [Group; AHEAD],
    pushed: usize,
}

impl Delay {
    /// Takes a group; returns the one that was pushed [`AHEAD`] earlier.
    #[inline(always)]
    pub(crate) fn push(&mut self, group: Group) -> Option<Group> {
        let earlier = std::mem::replace(&mut self.ring[self.pushed % AHEAD], group);
        self.pushed += 1;
        (self.pushed > AHEAD).then_some(earlier)
    }

    /// Returns the groups that have not come out.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &Group> {
        (self.pushed.saturating_sub(AHEAD)..self.pushed).map(|at| &self.ring[at % AHEAD])
    }
}

/// Returns the number of prefixes of `bits` bits with at most `errors` errors.
pub(crate) fn count(bits: u32, errors: u32) -> f64 {
    let mut ways = 1.0;
    let mut sum = 1.0;
    for taken in 0..errors.min(bits) {
        ways *= f64::from(bits - taken) / f64::from(taken + 1);
        sum += ways;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_prefix_within_the_errors_comes_once() {
        for (bits, errors) in [(1, 0), (1, 1), (5, 2), (10, 3), (10, 10), (64, 0), (64, 1), (64, 2), (12, 13)]
        {
            let prefix = 0x5555_5555_5555_5555 >> (64 - bits);
            let (mut seen, mut calls) = (BTreeSet::new(), 0);
            let mut groups = Groups::new(prefix, bits, errors);
            while let Some(group) = groups.next() {
                let lanes = group.prefixes();
                group.visit(group.lanes(), &mut |pattern| {
                    assert_eq!((pattern.prefix ^ prefix).count_ones(), pattern.errors);
                    assert!(pattern.errors <= errors && pattern.prefix <= u64::MAX >> (64 - bits));
                    assert!(lanes.contains(&pattern.prefix));
                    seen.insert(pattern.prefix);
                    calls += 1;
                });
            }
            assert_eq!(seen.len(), calls);
            assert_eq!(calls as f64, count(bits, errors), "{bits} {errors}");
        }
    }

    #[test]
    fn a_delay_loses_and_repeats_nothing() {
        for length in [0, 1, 7, 8, 9, 200] {
            let mut delay = Delay::default();
            let mut out = Vec::new();
            for count in 0..length {
                out.extend(delay.push(Group { count, ..Group::default() }));
            }
            out.extend(delay.rest());
            assert!(out.iter().map(|group| group.count).eq(0..length));
        }
    }
}
