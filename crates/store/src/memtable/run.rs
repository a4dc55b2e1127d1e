//! Immutable runs of sorted pairs, with buckets by groups of bits.

use std::iter;
use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use hamdex::{Fingerprint, prefer_huge_pages, prefetch_value};

use crate::memtable::groups::{Group, MAX_GROUPS, is_first};
use crate::write::batch::Pair;

/// Values between two calls of `pause`.
pub(super) const BETWEEN_PAUSES: usize = 1 << 15;

/// Values that are compared before any of them is visited.
const VALUES_AT_ONCE: usize = 8;

/// For each group that a search reads, the range of values in the bucket of the query.
pub(super) type Buckets = [(u32, u32); MAX_GROUPS];

/// Sorted pairs.
#[derive(Debug)]
pub(crate) struct Run<F> {
    /// The distinct fingerprints, ascending.
    values: Box<[F]>,
    /// The start of the pairs of each fingerprint, and the end. Empty if each fingerprint has one pair.
    starts: Box<[u32]>,
    /// The ids of all pairs, in order.
    ids: Box<[u64]>,
    groups: Box<[Group]>,
    /// For each group, the starts of its buckets, and the end.
    buckets: Box<[Box<[u32]>]>,
    /// For each group but the first, the values in the order of its buckets. The first group has the order of `values`.
    bucketed: Box<[Box<[F]>]>,
    /// The places by id, once a pair is looked up by its id.
    by_id: OnceLock<Box<[u32]>>,
    /// Whether a background merge has it.
    is_held: AtomicBool,
}

impl<F> Run<F> {
    /// Sets whether a background merge has it, so that writers do not merge it as well.
    pub(super) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }
}

impl<F: Fingerprint> Run<F> {
    /// Builds a run of strictly ascending pairs, at most `u32::MAX`, for searches up to `distance`. `pause` is called
    /// at intervals, and may break.
    pub(crate) fn try_new<B>(
        pairs: &[Pair<F>],
        distance: u32,
        pause: &mut dyn FnMut() -> ControlFlow<B>,
    ) -> ControlFlow<B, Self> {
        let mut values: Vec<F> = Vec::with_capacity(pairs.len());
        prefer_huge_pages(&mut values);
        let mut starts: Vec<u32> = Vec::new();
        for (place, &(value, _)) in pairs.iter().enumerate() {
            if values.last() == Some(&value) {
                // The first fingerprint with several pairs; the ones before it have one each.
                if starts.is_empty() {
                    starts.extend(0..values.len() as u32);
                }
            } else {
                if !starts.is_empty() {
                    starts.push(place as u32);
                }
                values.push(value);
            }
        }
        if !starts.is_empty() {
            starts.push(pairs.len() as u32);
        }
        let groups = Group::all::<F>(distance, values.len());
        let (mut buckets, mut bucketed) =
            (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        for (number, &group) in groups.iter().enumerate() {
            pause()?;
            let starts = starts_of_buckets(group, &values);
            if number > 0 {
                bucketed.push(in_buckets(group, &starts, &values, pause)?);
            }
            buckets.push(starts);
        }
        ControlFlow::Continue(Self {
            starts: starts.into(),
            ids: pairs.iter().map(|&(_, id)| id).collect(),
            bucketed: bucketed.into(),
            buckets: buckets.into(),
            groups: groups.into(),
            values: values.into(),
            by_id: OnceLock::new(),
            is_held: AtomicBool::new(false),
        })
    }

    /// Returns the number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the distinct fingerprints, ascending.
    pub(crate) fn values(&self) -> &[F] {
        &self.values
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let buckets: usize = self.buckets.iter().map(|starts| size_of_val(&**starts)).sum();
        let bucketed: usize = self.bucketed.iter().map(|values| size_of_val(&**values)).sum();
        let by_id = self.by_id.get().map_or(0, |places| size_of_val(&**places));
        size_of_val(&*self.values)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.ids)
            + buckets
            + bucketed
            + by_id
    }

    /// Returns the buckets that a search within `distance` reads; empty ones if it scans everything.
    #[inline(always)]
    pub(super) fn find_buckets(&self, query: F, distance: u32) -> Buckets {
        let mut buckets = Buckets::default();
        if self.groups.len() > distance as usize {
            let groups = self.groups.iter().zip(&self.buckets).take(distance as usize + 1);
            for ((group, starts), found) in groups.zip(&mut buckets) {
                let bucket = group.bucket(query);
                *found = (starts[bucket], starts[bucket + 1]);
            }
        }
        buckets
    }

    /// Prefetches the values of buckets that [`Self::find_buckets`] has found.
    #[inline(always)]
    pub(super) fn prefetch(&self, buckets: &Buckets) {
        let values = iter::once(&self.values).chain(&self.bucketed);
        for (values, &(start, end)) in values.zip(buckets) {
            if start < end {
                prefetch_value(values, start as usize);
                prefetch_value(values, end as usize - 1);
            }
        }
    }

    /// Calls `visit` with each fingerprint within `distance` of the query, once, in no particular order. The buckets
    /// are the result of [`Self::find_buckets`].
    #[inline(always)]
    pub(super) fn for_each_in(
        &self,
        buckets: &Buckets,
        query: F,
        distance: u32,
        mut visit: impl FnMut(F) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // The distance d needs d + 1 groups; with fewer, everything is scanned.
        if self.groups.len() <= distance as usize {
            return for_each_near(&self.values, query, distance, visit);
        }
        let values = iter::once(&self.values).chain(&self.bucketed);
        for (number, (values, &(start, end))) in values.zip(buckets).take(distance as usize + 1).enumerate() {
            let (values, earlier) = (&values[start as usize..end as usize], &self.groups[..number]);
            for_each_near(values, query, distance, |value| {
                if is_first(earlier, value ^ query) { visit(value) } else { ControlFlow::Continue(()) }
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the places of the pairs of a fingerprint; none if it is absent.
    pub(crate) fn places(&self, value: F) -> Range<u64> {
        let bucket = self.groups[0].bucket(value);
        let (start, end) = (self.buckets[0][bucket] as usize, self.buckets[0][bucket + 1] as usize);
        match self.values[start..end].binary_search(&value) {
            Ok(at) if self.starts.is_empty() => (start + at) as u64..(start + at) as u64 + 1,
            Ok(at) => u64::from(self.starts[start + at])..u64::from(self.starts[start + at + 1]),
            Err(_) => 0..0,
        }
    }

    /// Returns the id of the pair at a place.
    pub(crate) fn id(&self, place: u64) -> u64 {
        self.ids[place as usize]
    }

    /// Returns the places of the pairs with an id, in no particular order. The first call sorts the places of the run.
    pub(crate) fn places_of_id(&self, id: u64) -> impl Iterator<Item = u64> + '_ {
        let by_id = self.by_id.get_or_init(|| {
            let mut places: Vec<u32> = (0..self.ids.len() as u32).collect();
            places.sort_unstable_by_key(|&place| self.ids[place as usize]);
            places.into()
        });
        let first = by_id.partition_point(|&place| self.ids[place as usize] < id);
        by_id[first..].iter().map(|&place| u64::from(place)).take_while(move |&place| self.id(place) == id)
    }

    /// Returns the place of a pair, if it is present.
    pub(crate) fn find(&self, (value, id): Pair<F>) -> Option<u64> {
        let places = self.places(value);
        let ids = &self.ids[places.start as usize..places.end as usize];
        ids.binary_search(&id).ok().map(|at| places.start + at as u64)
    }

    /// Returns the pair at a place.
    pub(crate) fn pair(&self, place: u64) -> Pair<F> {
        let at = match &*self.starts {
            [] => place as usize,
            starts => starts.partition_point(|&start| u64::from(start) <= place) - 1,
        };
        (self.values[at], self.ids[place as usize])
    }

    /// Returns the pairs whose fingerprints are at least `from`, with their places, in order.
    pub(crate) fn pairs_from(&self, from: F) -> impl Iterator<Item = (u64, Pair<F>)> + '_ {
        let first = self.values.partition_point(|&value| value < from);
        self.pairs_of(first..self.values.len())
    }

    /// Appends all pairs of a range of the distinct fingerprints, in order.
    pub(crate) fn append(&self, values: Range<usize>, pairs: &mut Vec<Pair<F>>) {
        if self.starts.is_empty() {
            let ids = &self.ids[values.clone()];
            pairs.extend(self.values[values].iter().copied().zip(ids.iter().copied()));
        } else {
            pairs.extend(self.pairs_of(values).map(|(_, pair)| pair));
        }
    }

    /// Returns all pairs of a range of the distinct fingerprints, with their places, in order.
    pub(crate) fn pairs_of(&self, values: Range<usize>) -> impl Iterator<Item = (u64, Pair<F>)> + '_ {
        values.flat_map(move |at| {
            let places = match self.starts.get(at..at + 2) {
                Some(ends) => ends[0] as usize..ends[1] as usize,
                None => at..at + 1,
            };
            places.map(move |place| (place as u64, (self.values[at], self.ids[place])))
        })
    }
}

/// Calls `visit` with each value within `distance` of the query, in order.
///
/// The comparisons are plain loops. The compiler may leave a closure out of line, and then compiles it without wider
/// instructions.
#[inline(always)]
fn for_each_near<F: Fingerprint>(
    values: &[F],
    query: F,
    distance: u32,
    mut visit: impl FnMut(F) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for values in values.chunks(VALUES_AT_ONCE) {
        // Without a branch per value; hardly any is near.
        let mut is_any_near = false;
        for &value in values {
            is_any_near |= value.distance(query) <= distance;
        }
        if is_any_near {
            for &value in values {
                if value.distance(query) <= distance {
                    visit(value)?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

fn starts_of_buckets<F: Fingerprint>(group: Group, values: &[F]) -> Box<[u32]> {
    let mut starts = vec![0; group.buckets() + 1];
    for &value in values {
        starts[group.bucket(value) + 1] += 1;
    }
    for bucket in 0..group.buckets() {
        starts[bucket + 1] += starts[bucket];
    }
    starts.into()
}

fn in_buckets<F: Fingerprint, B>(
    group: Group,
    starts: &[u32],
    values: &[F],
    pause: &mut dyn FnMut() -> ControlFlow<B>,
) -> ControlFlow<B, Box<[F]>> {
    let mut next = starts.to_vec();
    let mut bucketed = vec![F::ZERO; values.len()];
    prefer_huge_pages(&mut bucketed);
    for values in values.chunks(BETWEEN_PAUSES) {
        pause()?;
        for &value in values {
            let next = &mut next[group.bucket(value)];
            bucketed[*next as usize] = value;
            *next += 1;
        }
    }
    ControlFlow::Continue(bucketed.into())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn check<F: Fingerprint>(mut pairs: Vec<Pair<F>>, queries: &[F], built: u32) {
        pairs.sort_unstable();
        pairs.dedup();
        let ControlFlow::Continue(run) =
            Run::try_new::<Infallible>(&pairs, built, &mut || ControlFlow::Continue(()));
        assert_eq!(run.len(), pairs.len());
        let placed: Vec<_> = (0..).zip(pairs.iter().copied()).collect();
        for &query in queries {
            for distance in [0, 1, built / 2, built, built + 1, F::BITS] {
                let mut found = Vec::new();
                let buckets = run.find_buckets(query, distance);
                let outcome = run.for_each_in(&buckets, query, distance, |value| {
                    found.push(value);
                    ControlFlow::Continue(())
                });
                assert!(outcome.is_continue());
                found.sort_unstable();
                let mut expected: Vec<F> =
                    pairs.iter().map(|pair| pair.0).filter(|f| f.distance(query) <= distance).collect();
                expected.dedup();
                assert_eq!(found, expected, "{query:?} within {distance}, built for {built}");
            }
            let places = run.places(query);
            let ids: Vec<u64> = places.map(|place| run.id(place)).collect();
            let expected: Vec<u64> = pairs.iter().filter(|pair| pair.0 == query).map(|pair| pair.1).collect();
            assert_eq!(ids, expected);
            let rest: Vec<_> = placed.iter().copied().filter(|(_, pair)| pair.0 >= query).collect();
            assert_eq!(run.pairs_from(query).collect::<Vec<_>>(), rest);
        }
        for &(place, pair) in &placed {
            assert_eq!((run.find(pair), run.pair(place)), (Some(place), pair));
            assert_eq!(run.find((pair.0, u64::MAX)), None);
        }
    }

    proptest! {
        #[test]
        fn a_run_finds_what_brute_force_finds(
            uniform in prop::collection::vec((any::<u64>(), 0u64..4), 0..60),
            centre: u64,
            flips in prop::collection::vec((0u32..64, 0u32..64, 0u64..3), 0..300),
            queries in prop::collection::vec((0u32..64, 0u32..64), 0..8),
            built in 0u32..10,
        ) {
            let near = |a: u32, b: u32| centre ^ 1 << a ^ 1 << b;
            let mut pairs = uniform.clone();
            pairs.extend(flips.iter().map(|&(a, b, id)| (near(a, b), id)));
            let mut asked: Vec<u64> = queries.iter().map(|&(a, b)| near(a, b)).collect();
            asked.extend([0, u64::MAX, centre]);
            asked.extend(pairs.first().map(|pair| pair.0));
            check(pairs.clone(), &asked, built);
            let widen = |v: u64| u128::from(v) << 64 | u128::from(v.reverse_bits());
            let pairs = pairs.into_iter().map(|(value, id)| (widen(value), id)).collect();
            check(pairs, &asked.iter().map(|&value| widen(value)).collect::<Vec<_>>(), built);
        }
    }

    #[test]
    fn few_and_extreme_values() {
        check::<u64>(vec![], &[0, 1, u64::MAX], 3);
        check(vec![(0u64, 5), (u64::MAX, 5), (u64::MAX, 6)], &[0, 1, u64::MAX], 3);
        check((0..5000u64).map(|id| (7u64, id)).collect(), &[7, 8], 3);
    }
}
