//! The number of keys below a value, mostly without reading a key.
//!
//! The span of the keys is cut into even *parts*, [`PARTS_PER_KEY`] for each key. A *unit* of 64 parts has a
//! bit for each, set if a key lies in it, and the number of keys before it. Blocks hold about as many entries
//! each, so keys of evenly spread entries keep their distance, and hardly any two share a part. Then the bits
//! before a part count its keys, and only a value whose own part has a key has to be compared with it. A unit
//! with crowded keys is marked, and its keys are searched.

use crate::arch::prefetch;
use hamdex_fingerprint::Fingerprint;

/// Parts for each key: the more, the fewer values share theirs with a key.
const PARTS_PER_KEY: u64 = 8;

/// Parts of a unit.
const UNIT_PARTS: usize = 64;

/// The bits of some consecutive parts.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
struct Unit {
    /// The parts that have a key, the first one lowest.
    occupied: u64,
    /// The keys before the first part.
    before: u32,
    /// Whether a part has several keys.
    is_crowded: bool,
}

/// A directory of keys: their approximate positions.
#[derive(Debug)]
pub(crate) struct Directory<F> {
    /// One more for the end.
    units: Vec<Unit>,
    /// The first key and the last.
    base: F,
    top: F,
    /// Shift by which the span of the keys fills the width.
    lift: u32,
    /// Parts in 2^64, the highest bits of an offset.
    scale: u64,
}

impl<F: Fingerprint> Directory<F> {
    /// Builds the directory of ordered keys; `None` if they do not ascend strictly. There are `count` of them,
    /// at most `u32::MAX`; `ends` are the first and the last.
    pub(crate) fn new(keys: impl Iterator<Item = F>, count: usize, ends: Option<(F, F)>) -> Option<Self> {
        let (base, top) = ends.unwrap_or((F::ZERO, F::ZERO));
        if base > top {
            return None;
        }
        let span = top.minus(base);
        let lift = span.leading_zeros().min(F::BITS - 1);
        let parts = count as u64 * PARTS_PER_KEY;
        let scale = (u128::from(parts) << 64) / (u128::from(leading_word(span << lift)) + 1);
        // As the span is lifted, that is less than twice the parts.
        let mut this = Self { units: Vec::new(), base, top, lift, scale: scale as u64 };
        let unit = |before: usize| Unit { occupied: 0, before: before as u32, is_crowded: false };
        let units = this.place_of(top).part / UNIT_PARTS + 1;
        let mut directory = Vec::with_capacity(units + 1);
        directory.push(unit(0));
        let mut previous = None;
        for (number, key) in keys.enumerate() {
            // Beyond the last one is no part, and no room for it.
            if previous >= Some(key) || key > top {
                return None;
            }
            previous = Some(key);
            let part = this.place_of(key).part;
            while directory.len() <= part / UNIT_PARTS {
                directory.push(unit(number));
            }
            let unit = &mut directory[part / UNIT_PARTS];
            let bit = 1 << (part % UNIT_PARTS);
            unit.is_crowded |= unit.occupied & bit != 0;
            unit.occupied |= bit;
        }
        directory.push(unit(count));
        this.units = directory;
        Some(this)
    }

    /// Returns the place of a value that is neither below the first key nor above the last.
    #[inline(always)]
    fn place_of(&self, value: F) -> Place {
        let offset = leading_word(value.minus(self.base) << self.lift);
        let scaled = u128::from(offset) * u128::from(self.scale);
        Place { part: (scaled >> 64) as usize, within: scaled as u64 }
    }

    /// Returns a lower and an upper bound of the number of keys below a value.
    #[inline(always)]
    pub(crate) fn bounds(&self, value: F) -> (usize, usize) {
        if value <= self.base {
            return (0, 0);
        }
        let end = &self.units[self.units.len() - 1];
        if value > self.top {
            return (end.before as usize, end.before as usize);
        }
        let part = self.place_of(value).part;
        let unit = &self.units[part / UNIT_PARTS];
        if unit.is_crowded {
            return (unit.before as usize, self.units[part / UNIT_PARTS + 1].before as usize);
        }
        let here = unit.occupied >> (part % UNIT_PARTS);
        let before = unit.occupied & !(u64::MAX << (part % UNIT_PARTS));
        let before = unit.before as usize + before.count_ones() as usize;
        (before, before + (here & 1) as usize)
    }

    /// Returns the interpolated position of a value between the keys around it, from 0 to 1, for evenly spread
    /// values: for guesses only.
    #[inline(always)]
    pub(crate) fn fraction(&self, value: F) -> f32 {
        if value <= self.base || value > self.top {
            return 0.5;
        }
        let Place { part, within } = self.place_of(value);
        let Unit { occupied, .. } = self.units[part / UNIT_PARTS];
        let at = (part % UNIT_PARTS) as u32;
        let ahead = occupied >> at;
        let behind = occupied.unbounded_shl(u64::BITS - at);
        // In parts; a key lies in the middle of its own, for all that is known.
        let place = (within >> 40) as f32 * (1.0 / (1 << 24) as f32) - 0.5;
        let mut to_next = ahead.trailing_zeros() as f32 - place;
        let mut from_last = (behind.leading_zeros() + 1) as f32 + place;
        // If the unit does not have the other key, it is probably one average distance away.
        if behind == 0 {
            from_last = PARTS_PER_KEY as f32 - to_next;
        }
        if ahead == 0 {
            to_next = PARTS_PER_KEY as f32 - from_last;
        }
        (from_last / (from_last + to_next)).clamp(0.0, 1.0)
    }

    /// Prefetches the directory entry of a value.
    #[inline(always)]
    pub(crate) fn prefetch(&self, value: F) {
        if value > self.base && value <= self.top {
            prefetch(&self.units, self.place_of(value).part / UNIT_PARTS);
        }
    }

    /// Returns the number of leading bits of a value that determine its unit.
    #[inline(always)]
    pub(crate) fn bits(&self) -> u32 {
        // Two units side by side lie in a cache line, or next to each other.
        F::BITS.min(u64::BITS - self.units.len().leading_zeros())
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.units)
    }
}

/// A part, and how far into it, as part of 2^64.
struct Place {
    part: usize,
    within: u64,
}

/// Returns the highest 64 bits.
#[inline(always)]
fn leading_word<F: Fingerprint>(value: F) -> u64 {
    (value >> (F::BITS - u64::BITS)).to_u128() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<F: Fingerprint>(keys: &[F]) -> Option<Directory<F>> {
        Directory::new(keys.iter().copied(), keys.len(), keys.first().copied().zip(keys.last().copied()))
    }

    fn check<F: Fingerprint>(mut keys: Vec<F>, values: &[F]) {
        keys.sort_unstable();
        keys.dedup();
        let directory = of(&keys).unwrap();
        assert!(directory.units.len() <= keys.len() / 8 + 2, "{} for {}", directory.units.len(), keys.len());
        for &value in values.iter().chain(&keys).chain(&[F::ZERO, F::ONES]) {
            let (least, most) = directory.bounds(value);
            let expected = keys.partition_point(|&key| key < value);
            assert!((least..=most).contains(&expected), "{value:?} in {keys:?}: {least} to {most}");
            assert!(most <= keys.len());
            assert!((0.0..=1.0).contains(&directory.fraction(value)));
        }
    }

    proptest! {
        #[test]
        fn what_is_said_is_so(
            keys: Vec<u64>,
            cluster: u64,
            offsets in prop::collection::vec(0u64..5000, 0..200),
            values: Vec<u64>,
        ) {
            check(keys.clone(), &values);
            check(offsets.iter().map(|o| cluster.saturating_add(*o)).collect(), &values);
            let widened = |v: &u64| u128::from(*v) << 64 | u128::from(v.reverse_bits());
            let wide: Vec<u128> = values.iter().map(widened).collect();
            check(keys.iter().map(widened).collect(), &wide);
            check(offsets.iter().map(|&o| u128::from(cluster) + u128::from(o)).collect(), &wide);
        }
    }

    #[test]
    fn few_and_extreme_keys() {
        check::<u64>(vec![], &[5]);
        check(vec![0u64], &[1]);
        check(vec![u64::MAX], &[1]);
        check(vec![0, u64::MAX], &[1, u64::MAX - 1]);
        check(vec![7u64, 8], &[6, 7, 8, 9]);
        check(vec![0, u128::MAX], &[1, u128::MAX - 1]);
        assert!(of(&[3u64, 2]).is_none() && of(&[1u64, 3, 2, 4]).is_none() && of(&[1u64, 5, 3]).is_none());
    }

    #[test]
    fn of_keys_at_even_distances_nearly_every_value_is_known() {
        let keys: Vec<u64> = (1..=10_000u64).map(|i| i * 1_000_000 + i * 7919 % 70_000).collect();
        let directory = of(&keys).unwrap();
        let values = (0..100_000u64).map(|i| 1_100_000 + i * 99_991);
        let known = values.clone().filter(|&value| {
            let (least, most) = directory.bounds(value);
            least == most
        });
        assert!(known.count() > 85_000);
        for value in values {
            let after = keys.partition_point(|&key| key < value).clamp(1, keys.len() - 1);
            let [low, high] = [keys[after - 1], keys[after]];
            let fraction = (value - low) as f32 / (high - low) as f32;
            let guess = directory.fraction(value);
            assert!((fraction - guess).abs() < 0.2 || !(0.2..0.8).contains(&fraction), "{fraction} {guess}");
        }
    }
}
