//! The loops of a sieve, each compiled for the best instructions there are.

use std::any::Any;

use crate::arch::{Instructions, Kernel, LANES};
use crate::batch::scan::sieve::halves::{Filter, Halves};
use hamdex_fingerprint::Fingerprint;

/// Values, or queries, tested before the kept ones are moved.
const TESTED_TOGETHER: usize = 512;

/// Leading bits that many values have in common.
#[derive(Clone, Copy)]
pub(super) struct Prefix<F> {
    /// One of the values.
    pub(super) value: F,
    pub(super) bits: u32,
}

impl<F: Fingerprint> Prefix<F> {
    /// Of ascending values, at least one.
    pub(super) fn of(values: &[F]) -> Self {
        let (value, last) = (values[0], values[values.len() - 1]);
        Self { value, bits: value.first_difference(last) }
    }

    #[inline(always)]
    fn mask(&self) -> F {
        F::prefix_mask(self.bits)
    }

    /// Errors of a query in these bits.
    #[inline(always)]
    pub(super) fn errors(&self, query: F) -> u32 {
        ((query ^ self.value) & self.mask()).count_ones()
    }
}

/// Adds to a list the queries with few enough errors in a prefix.
pub(super) struct Narrow<'a, F> {
    pub(super) queries: &'a [F],
    pub(super) prefix: Prefix<F>,
    pub(super) distance: u32,
    pub(super) into: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Narrow<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, instructions: impl Instructions) {
        let Self { queries, prefix, distance, into } = self;
        let mask = prefix.mask();
        let mut room = [F::ZERO; TESTED_TOGETHER];
        for queries in queries.chunks(TESTED_TOGETHER) {
            let mut kept = 0;
            let (groups, rest) = queries.as_chunks::<LANES>();
            for group in groups {
                let near = near(instructions, group, mask, prefix.value, distance);
                // Without a branch: it would be unpredictable.
                for (lane, &query) in group.iter().enumerate() {
                    room[kept % TESTED_TOGETHER] = query;
                    kept += (near >> lane & 1) as usize;
                }
            }
            for &query in rest {
                room[kept % TESTED_TOGETHER] = query;
                kept += usize::from(prefix.errors(query) <= distance);
            }
            into.extend_from_slice(&room[..kept]);
        }
    }
}

/// Returns a bit mask of the values, of eight, with at most `errors` errors under a mask.
#[inline(always)]
fn near<F: Fingerprint>(
    instructions: impl Instructions,
    group: &[F; LANES],
    mask: F,
    value: F,
    distance: u32,
) -> u32 {
    // The compiler knows which of the two it is.
    if let Some(words) = (group as &dyn Any).downcast_ref::<[u64; LANES]>() {
        let (mask, value) = (mask.to_u128() as u64, value.to_u128() as u64);
        let mut masked = *words;
        for word in &mut masked {
            *word &= mask;
        }
        return instructions.near_values(&masked, value & mask, distance);
    }
    let mut near = 0;
    for (lane, &other) in group.iter().enumerate() {
        near |= u32::from(((other ^ value) & mask).count_ones() <= distance) << lane;
    }
    near
}

/// Adds to two filters the keys after a prefix of the queries with few enough errors in it.
pub(super) struct Fill<'a, F> {
    pub(super) queries: &'a [F],
    pub(super) prefix: Prefix<F>,
    pub(super) distance: u32,
    pub(super) filters: &'a mut Filters,
}

/// Keys of the queries in the upper and the lower half after a prefix.
#[derive(Default)]
pub(super) struct Filters {
    pub(super) upper: Filter,
    pub(super) lower: Filter,
}

impl<F: Fingerprint> Kernel for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Instructions) {
        let Self { queries, prefix, distance, filters: Filters { upper, lower } } = self;
        let halves = Halves::behind::<F>(prefix.bits);
        for &query in queries {
            let errors = distance - prefix.errors(query);
            halves.upper_keys(query, errors, &mut |key| upper.add(key));
            halves.lower_keys(query, errors, &mut |key| lower.add(key));
        }
    }
}

/// Adds to a list the values that may be near a query.
pub(super) struct Sift<'a, F> {
    pub(super) values: &'a [F],
    pub(super) halves: Halves,
    pub(super) filters: &'a Filters,
    pub(super) kept: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Sift<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Instructions) {
        let Self { values, halves, filters: Filters { upper, lower }, kept } = self;
        let mut places = [0u16; TESTED_TOGETHER];
        for values in values.chunks(TESTED_TOGETHER) {
            // Without a branch, so that memory works on many of them at a time.
            let mut count = 0;
            for (place, &value) in values.iter().enumerate() {
                places[count] = place as u16;
                let is_met = upper.may_have(halves.upper(value)) | lower.may_have(halves.lower(value));
                count += usize::from(is_met);
            }
            kept.extend(places[..count].iter().map(|&place| values[usize::from(place)]));
        }
    }
}
