//! A table of queries in memory: which of them share a prefix with a fingerprint?
//!
//! A bitmap of prefixes turns most fingerprints away; a directory leads the others to a few queries, to be compared.

use std::mem;

use crate::arch::{self, Instructions, Kernel, prefetch};
use crate::batch::Stop;
use crate::batch::gather::Full;
use crate::bits::leading;
use crate::design::TableDesign;
use crate::permutation::Permutation;
use crate::progress::{Counter, Stopped};
use crate::sorting;
use hamdex_fingerprint::Fingerprint;

/// Bits of the bitmap per query, as a power of two: 1/16 false positives.
const MARKS_PER_QUERY_LOG2: u32 = 4;

/// Number of queries with the same leading bits from which on the prefix is binary-searched among them.
const LONG: usize = 16;

/// Fingerprints looked up together.
const BATCH: usize = 1024;

/// Comparisons between reports of the work done: each fingerprint of a cluster may be compared with all
/// queries.
const COMPARED_AT_ONCE: usize = 1 << 20;

/// The queries in the order of one table.
pub(super) struct QueryTable<F> {
    permutation: Permutation<F>,
    prefix: F,
    /// All ways to place the errors admitted inside the prefix.
    flips: Vec<F>,
    /// The queries, permuted, ascending, and their places.
    values: Vec<F>,
    places: Vec<u32>,
    /// Start of the queries with each prefix of that length, and the end.
    starts: Vec<u32>,
    start_bits: u32,
    /// Bitmap of the prefixes of that length that occur.
    marks: Vec<u64>,
    mark_bits: u32,
}

/// A fingerprint that shares leading bits with queries.
#[derive(Clone, Copy, Default)]
struct Met<F> {
    /// Its number among the fingerprints looked up together.
    at: u16,
    /// The wanted prefix of the queries.
    wanted: F,
    /// The queries with these leading bits.
    start: u32,
    end: u32,
}

/// Bits of the bitmap, for prefixes that are not shorter.
pub(super) fn mark_bits(queries: usize) -> u32 {
    queries.max(1).ilog2() + 1 + MARKS_PER_QUERY_LOG2
}

/// Returns all ways to set at most `errors` of the first `bits` bits.
pub(super) fn flips<F: Fingerprint>(bits: u32, errors: u32) -> Vec<F> {
    let mut all = vec![F::ZERO];
    let mut start = 0;
    for _ in 0..errors {
        let end = all.len();
        for at in start..end {
            let flip = all[at];
            // Only beyond the last bit set, so that each comes up once.
            let next = if flip == F::ZERO { 0 } else { F::BITS - flip.trailing_zeros() };
            all.extend((next..bits).map(|position| flip | F::bit(position)));
        }
        start = end;
    }
    all
}

impl<F: Fingerprint> QueryTable<F> {
    /// Bytes in use for each query, about: value and place, twice while they are put in order; up to two
    /// starts; marks.
    pub(in crate::batch) const fn bytes_per_query() -> usize {
        2 * (size_of::<F>() + size_of::<u32>()) + 2 * size_of::<u32>() + (2 << MARKS_PER_QUERY_LOG2) / 8
    }

    pub(super) fn new(queries: &[F], reach: &TableDesign<F>, done: &Counter) -> Result<Self, Stopped> {
        let permutation = Permutation::new(reach.mask);
        let log2 = queries.len().max(1).ilog2();
        let start_bits = (log2 + 1).min(reach.prefix_bits());
        let mark_bits = mark_bits(queries.len()).min(reach.prefix_bits());
        let mut pairs: Vec<(F, u32)> =
            (0..).zip(queries).map(|(place, &query)| (permutation.apply(query), place)).collect();
        sorting::sort_by_keys(&mut pairs, |pair| pair.0, |pair| u64::from(pair.1), &|| done.check())?;
        let mut marks = vec![0; (1usize << mark_bits).div_ceil(64)];
        let mut starts = vec![0; (1 << start_bits) + 1];
        for &(value, _) in &pairs {
            let mark = leading(value, mark_bits);
            marks[mark / 64] |= 1 << (mark % 64);
            starts[leading(value, start_bits) + 1] += 1;
        }
        for start in 1..starts.len() {
            starts[start] += starts[start - 1];
        }
        Ok(Self {
            permutation,
            prefix: F::prefix_mask(reach.prefix_bits()),
            flips: flips(reach.prefix_bits(), reach.radius),
            values: pairs.iter().map(|&(value, _)| value).collect(),
            places: pairs.iter().map(|&(_, place)| place).collect(),
            starts,
            start_bits,
            marks,
            mark_bits,
        })
    }

    /// Calls `visit` with the place of each query that meets one of `fingerprints` in this table within
    /// `distance`, with the fingerprint, and with the difference of the two. It fails if there is no room for
    /// more matches. Calls `spend` regularly with the work since the last call.
    pub(super) fn each_near(
        &self,
        fingerprints: &[F],
        distance: u32,
        visit: impl FnMut(u32, F, F) -> Result<(), Full>,
        spend: impl FnMut(Spent) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        arch::run(EachNear { lookup: self, fingerprints, distance, visit, spend })
    }

    #[inline(always)]
    fn occurs(&self, value: F) -> bool {
        let mark = leading(value, self.mark_bits);
        self.marks[mark / 64] >> (mark % 64) & 1 == 1
    }

    /// Calls `visit` with the place of each query among those met that has the wanted prefix and lies
    /// within `distance` of `permuted`; with how the two differ. Adds how many it has compared.
    #[inline(always)]
    fn compare(
        &self,
        met: &Met<F>,
        permuted: F,
        distance: u32,
        compared: &mut usize,
        visit: &mut impl FnMut(u32, F) -> Result<(), Full>,
    ) -> Result<(), Full> {
        let &Met { wanted, start, end, .. } = met;
        let (mut start, mut end) = (start as usize, end as usize);
        if end - start > LONG {
            let run = &self.values[start..end];
            end = start + run.partition_point(|&value| value & self.prefix <= wanted);
            start += run.partition_point(|&value| value < wanted);
        }
        *compared += end - start;
        for at in start..end {
            let value = self.values[at];
            let difference = value ^ permuted;
            if value & self.prefix == wanted && difference.count_ones() <= distance {
                visit(self.places[at], difference)?;
            }
        }
        Ok(())
    }
}

/// Work done by look-ups.
#[derive(Default)]
pub(super) struct Spent {
    /// Looks at whether a prefix may occur.
    pub(super) looked: usize,
    /// Number of them whose prefix may occur.
    pub(super) marked: usize,
    /// With how many queries these were compared.
    pub(super) compared: usize,
}

/// A look-up of many fingerprints in one table.
struct EachNear<'a, F, V, S> {
    lookup: &'a QueryTable<F>,
    fingerprints: &'a [F],
    distance: u32,
    visit: V,
    spend: S,
}

impl<F, V, S> Kernel for EachNear<'_, F, V, S>
where
    F: Fingerprint,
    V: FnMut(u32, F, F) -> Result<(), Full>,
    S: FnMut(Spent) -> Result<(), Stop>,
{
    type Output = Result<(), Stop>;

    #[inline(always)]
    fn run(self, _: impl Instructions) -> Result<(), Stop> {
        let Self { lookup, fingerprints, distance, mut visit, mut spend } = self;
        let mut permuted = [F::ZERO; BATCH];
        let mut occurring = [0u16; BATCH];
        let mut met = [Met::default(); BATCH];
        for fingerprints in fingerprints.chunks(BATCH) {
            for (permuted, &fingerprint) in permuted.iter_mut().zip(fingerprints) {
                *permuted = lookup.permutation.apply(fingerprint);
            }
            let mut spent = Spent::default();
            for &flip in &lookup.flips {
                // Kept without a branch, so that memory works on many of them at a time.
                let mut kept = 0;
                for (at, &permuted) in permuted[..fingerprints.len()].iter().enumerate() {
                    occurring[kept] = at as u16;
                    kept += usize::from(lookup.occurs(permuted ^ flip));
                }
                // Likewise the position of the queries of each, which are prefetched then.
                for (met, &at) in met.iter_mut().zip(&occurring[..kept]) {
                    let wanted = (permuted[usize::from(at)] ^ flip) & lookup.prefix;
                    let bucket = leading(wanted, lookup.start_bits);
                    *met = Met { at, wanted, start: lookup.starts[bucket], end: lookup.starts[bucket + 1] };
                }
                for met in &met[..kept] {
                    prefetch(&lookup.values, met.start as usize);
                }
                spent.looked += fingerprints.len();
                spent.marked += kept;
                for met in &met[..kept] {
                    let at = usize::from(met.at);
                    let mut visit = |place, difference| {
                        visit(place, fingerprints[at], lookup.permutation.undo(difference))
                    };
                    let compared = &mut spent.compared;
                    lookup.compare(met, permuted[at], distance, compared, &mut visit)?;
                    if spent.compared >= COMPARED_AT_ONCE {
                        spend(mem::take(&mut spent))?;
                    }
                }
            }
            spend(spent)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::progress::{Phase, Report};

    #[test]
    fn flips_are_all_there_each_once() {
        for (bits, errors, count) in [(5, 0, 1), (5, 1, 6), (5, 2, 16), (5, 5, 32), (64, 2, 2081)] {
            let mut all = flips::<u64>(bits, errors);
            assert_eq!(all.len(), count);
            assert!(
                all.iter().all(|flip| flip.count_ones() <= errors && *flip & !u64::prefix_mask(bits) == 0)
            );
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }

    proptest! {
        #[test]
        fn each_query_that_is_met_is_met_once(
            centre: u64,
            query_flips in prop::collection::vec((0u32..64, 0u32..64), 1..200),
            fingerprint_flips in prop::collection::vec((0u32..64, 0u32..64), 1..20),
            mask: u64,
            radius in 0u32..3,
            distance in 0u32..9,
        ) {
            let flipped = |flips: Vec<(u32, u32)>| -> Vec<u64> {
                flips.into_iter().map(|(a, b)| centre ^ 1 << a ^ 1 << b).collect()
            };
            let (queries, fingerprints) = (flipped(query_flips), flipped(fingerprint_flips));
            let mask = mask & 0xffff_0000_0000_00ff;
            let reach = TableDesign { mask, radius: radius.min(mask.count_ones()) };
            let mut expected = Vec::new();
            for &fingerprint in &fingerprints {
                for (place, &query) in (0..).zip(&queries) {
                    let difference = fingerprint ^ query;
                    if reach.admits(difference) && difference.count_ones() <= distance {
                        expected.push((place, fingerprint, difference));
                    }
                }
            }
            let mut found = Vec::new();
            let mut compared = 0;
            let visit = |p, f, d| {
                found.push((p, f, d));
                Ok(())
            };
            let spend = |spent: Spent| {
                compared += spent.compared;
                Ok(())
            };
            let done = Counter::new(Report::default(), Phase::Batch, None);
            let lookup = QueryTable::new(&queries, &reach, &done).unwrap();
            prop_assert!(lookup.each_near(&fingerprints, distance, visit, spend).is_ok());
            prop_assert!(compared >= found.len());
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
