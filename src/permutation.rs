//! Permutations of bit positions, each given by one mask.
//!
//! All that a sorted table needs of the permutation π of the paper (§3) is *which* bits lead. So a
//! permutation is a mask: π(x) has the bits of x under the mask at the top, order kept, and the
//! other bits below them, order kept. A mask of leading ones is the identity.
//!
//! Two forms compute the same: two bit gathers if the processor has them (BMI2's `pext`), and
//! rotations elsewhere: the mask cuts the positions into runs that move together, and π(x) is the
//! union of these runs, each rotated by one distance.

use std::ops::BitOr;

use crate::arch::BitGather;
use hamdex_fingerprint::Fingerprint;

/// A permutation of the bit positions of a fingerprint, made from the mask of the leading ones.
///
/// ```
/// use hamdex::inspect::Permutation;
///
/// let low_byte_first = Permutation::<u64>::new(0xff);
/// assert_eq!(low_byte_first.apply(0x0123_4567_89ab_cdef), 0xef01_2345_6789_abcd);
/// assert_eq!(low_byte_first.undo(0xef01_2345_6789_abcd), 0x0123_4567_89ab_cdef);
/// ```
#[derive(Debug, Clone)]
pub struct Permutation<F> {
    mask: F,
    form: Form<F>,
}

#[derive(Debug, Clone)]
enum Form<F> {
    Identity,
    Gather(BitGather),
    Rotations(Box<[Rotation<F>]>),
}

/// Positions that move together: `from`, rotated left by `by`.
#[derive(Debug, Clone, Copy)]
struct Rotation<F> {
    from: F,
    by: u32,
}

impl<F: Fingerprint> Permutation<F> {
    /// Returns the permutation that lets the bits under `mask` lead.
    #[must_use]
    pub fn new(mask: F) -> Self {
        let form = if mask == F::prefix_mask(mask.count_ones()) {
            Form::Identity
        } else if let Some(gather) = BitGather::detect() {
            Form::Gather(gather)
        } else {
            Form::Rotations(rotations(mask))
        };
        Self { mask, form }
    }

    /// Returns the bits that lead.
    #[must_use]
    pub fn mask(&self) -> F {
        self.mask
    }

    /// π(x).
    #[inline]
    #[must_use]
    pub fn apply(&self, x: F) -> F {
        match &self.form {
            Form::Identity => x,
            Form::Gather(gather) => {
                let leading = gather_wide(*gather, x, self.mask);
                let rest = gather_wide(*gather, x, !self.mask);
                // Neither all nor none of the bits lead here: those masks are the identity.
                (leading << (F::BITS - self.mask.count_ones())) | rest
            }
            Form::Rotations(runs) => union(runs, |run| (x & run.from).rotate_left(run.by)),
        }
    }

    /// Returns the x whose π(x) is `y`.
    #[inline]
    #[must_use]
    pub fn undo(&self, y: F) -> F {
        match &self.form {
            Form::Identity => y,
            Form::Gather(gather) => {
                let leading = y >> (F::BITS - self.mask.count_ones());
                scatter_wide(*gather, leading, self.mask) | scatter_wide(*gather, y, !self.mask)
            }
            Form::Rotations(runs) => union(runs, |run| y.rotate_right(run.by) & run.from),
        }
    }
}

#[inline]
fn union<F: Fingerprint>(runs: &[Rotation<F>], part: impl Fn(&Rotation<F>) -> F) -> F {
    runs.iter().map(part).fold(F::ZERO, BitOr::bitor)
}

/// Cuts the positions into maximal runs under the mask and between, with how far each one rotates.
fn rotations<F: Fingerprint>(mask: F) -> Box<[Rotation<F>]> {
    let mut runs: Vec<Rotation<F>> = Vec::new();
    // Position of the next bit, from the most significant: bits under the mask first.
    let mut next_leading = 0;
    let mut next_rest = mask.count_ones();
    for position in 0..F::BITS {
        let bit = F::bit(position);
        let next = if mask & bit == F::ZERO { &mut next_rest } else { &mut next_leading };
        let by = (F::BITS + position - *next) % F::BITS;
        *next += 1;
        match runs.iter_mut().find(|run| run.by == by) {
            Some(run) => run.from = run.from | bit,
            None => runs.push(Rotation { from: bit, by }),
        }
    }
    runs.into()
}

fn low_and_high<F: Fingerprint>(x: F) -> (u64, u64) {
    let wide = x.to_u128();
    (wide as u64, (wide >> 64) as u64)
}

#[inline]
fn gather_wide<F: Fingerprint>(gather: BitGather, x: F, mask: F) -> F {
    let (low, high) = low_and_high(x);
    let (low_mask, high_mask) = low_and_high(mask);
    let gathered = u128::from(gather.gather(low, low_mask));
    if F::BITS == 64 {
        return F::truncate(gathered);
    }
    let above = u128::from(gather.gather(high, high_mask));
    F::truncate(gathered | (above << low_mask.count_ones()))
}

#[inline]
fn scatter_wide<F: Fingerprint>(gather: BitGather, x: F, mask: F) -> F {
    let (low, _) = low_and_high(x);
    let (low_mask, high_mask) = low_and_high(mask);
    let scattered = u128::from(gather.scatter(low, low_mask));
    if F::BITS == 64 {
        return F::truncate(scattered);
    }
    let above = (x.to_u128() >> low_mask.count_ones()) as u64;
    F::truncate(scattered | (u128::from(gather.scatter(above, high_mask)) << 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// π(x), a bit at a time, straight from its definition.
    fn by_definition<F: Fingerprint>(mask: F, x: F) -> F {
        let (leading, rest): (Vec<u32>, Vec<u32>) =
            (0..F::BITS).partition(|&position| mask & F::bit(position) != F::ZERO);
        let order = leading.into_iter().chain(rest);
        order
            .enumerate()
            .filter(|&(_, from)| x & F::bit(from) != F::ZERO)
            .fold(F::ZERO, |y, (to, _)| y | F::bit(u32::try_from(to).expect("a position")))
    }

    fn check<F: Fingerprint>(mask: F, x: F) {
        let expected = by_definition(mask, x);
        for permutation in
            [Permutation::new(mask), Permutation { mask, form: Form::Rotations(rotations(mask)) }]
        {
            assert_eq!(permutation.apply(x), expected, "{permutation:?}");
            assert_eq!(permutation.undo(expected), x, "{permutation:?}");
            assert_eq!(permutation.mask(), mask);
        }
    }

    proptest! {
        #[test]
        fn both_forms_follow_the_definition_at_64_bits(mask: u64, x: u64) {
            check(mask, x);
        }

        #[test]
        fn both_forms_follow_the_definition_at_128_bits(mask: u128, x: u128) {
            check(mask, x);
        }

        #[test]
        fn blocks_of_bits_take_few_rotations(start in 0u32..64, length in 1u32..64) {
            let mask = u64::prefix_mask(length).rotate_right(start);
            prop_assert!(rotations(mask).len() <= 4);
            check(mask, 0x0123_4567_89ab_cdef);
        }
    }

    #[test]
    fn extreme_masks() {
        for mask in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, u64::MAX >> 1, u64::MAX << 1] {
            for x in [0, 1, u64::MAX, 0xdead_beef_0bad_cafe] {
                check(mask, x);
                check(u128::from(mask) << 32, u128::from(x) << 17);
            }
        }
        for (mask, is_identity) in [(u64::MAX << 13, true), (0, true), (1, false)] {
            assert_eq!(matches!(Permutation::new(mask).form, Form::Identity), is_identity);
        }
    }
}
