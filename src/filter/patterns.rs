//! The prefixes of a probe.

/// Prefixes whose lines are on their way while one is tested.
const AHEAD: usize = 64;

/// A prefix, and the number of bits in which it differs from the query's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pattern {
    pub(crate) prefix: u64,
    pub(crate) errors: u32,
}

/// Calls `visit` with each prefix of `bits` bits that differs from `prefix` in at most `errors` bits, each once: flips of
/// high bits first, so that prefixes of one line follow each other.
#[inline(always)]
pub(crate) fn for_each(prefix: u64, bits: u32, errors: u32, visit: &mut impl FnMut(Pattern)) {
    visit(Pattern { prefix, errors: 0 });
    if errors > 0 {
        flip(Pattern { prefix, errors: 0 }, bits, errors, visit);
    }
}

/// Flips up to `left` of the lowest `below` bits, at least one.
fn flip(of: Pattern, below: u32, left: u32, visit: &mut impl FnMut(Pattern)) {
    for bit in (0..below).rev() {
        let flipped = Pattern { prefix: of.prefix ^ 1 << bit, errors: of.errors + 1 };
        visit(flipped);
        if left > 1 {
            flip(flipped, bit, left - 1, visit);
        }
    }
}

/// Delays patterns, so that what is started when one is pushed has been done when it comes out.
pub(crate) struct Delay {
    ring: [Pattern; AHEAD],
    pushed: usize,
}

impl Delay {
    pub(crate) fn new() -> Self {
        Self { ring: [Pattern::default(); AHEAD], pushed: 0 }
    }

    /// Takes a pattern; returns the one that was pushed [`AHEAD`] earlier.
    #[inline(always)]
    pub(crate) fn push(&mut self, pattern: Pattern) -> Option<Pattern> {
        let earlier = std::mem::replace(&mut self.ring[self.pushed % AHEAD], pattern);
        self.pushed += 1;
        (self.pushed > AHEAD).then_some(earlier)
    }

    /// Returns the patterns that have not come out.
    pub(crate) fn rest(&self) -> impl Iterator<Item = Pattern> {
        (self.pushed.saturating_sub(AHEAD)..self.pushed).map(|at| self.ring[at % AHEAD])
    }
}

/// Returns the number of prefixes of so many bits with at most so many errors.
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
        for (bits, errors) in [(1, 0), (1, 1), (5, 2), (10, 3), (10, 10), (64, 1), (12, 12)] {
            let prefix = 0x5555_5555_5555_5555 >> (64 - bits);
            let (mut seen, mut calls) = (BTreeSet::new(), 0);
            for_each(prefix, bits, errors, &mut |pattern| {
                assert_eq!((pattern.prefix ^ prefix).count_ones(), pattern.errors);
                assert!(pattern.errors <= errors && pattern.prefix <= u64::MAX >> (64 - bits));
                seen.insert(pattern.prefix);
                calls += 1;
            });
            assert_eq!(seen.len(), calls);
            assert_eq!(calls as f64, count(bits, errors), "{bits} {errors}");
        }
    }

    #[test]
    fn a_delay_loses_and_repeats_nothing() {
        for length in [0, 1, 63, 64, 65, 200] {
            let mut delay = Delay::new();
            let mut out = Vec::new();
            for prefix in 0..length {
                out.extend(delay.push(Pattern { prefix, errors: 0 }));
            }
            out.extend(delay.rest());
            assert!(out.iter().map(|pattern| pattern.prefix).eq(0..length));
        }
    }
}
