//! Immutable runs of sorted pairs, and such runs with removal marks.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hamdex::{Fingerprint, Stopped, prefer_huge_pages};

use crate::memtable::tables::{Buckets, FirstBits, Tables, for_each_near};
use crate::segment::removed_places::RemovedPlaces;
use crate::write::Pair;

/// Sorted pairs.
#[derive(Debug)]
pub(crate) struct Run<F> {
    /// The distinct fingerprints, ascending.
    values: Box<[F]>,
    /// The start of the pairs of each fingerprint, and the end. Empty if each fingerprint has one pair.
    starts: Box<[u32]>,
    /// The ids of all pairs, in order.
    ids: Box<[u64]>,
    tables: Tables<F>,
    /// The buckets of the first bits of the values, if the tables do without them.
    first_bits: Option<FirstBits<F>>,
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
        pause: &mut dyn FnMut() -> Result<(), B>,
    ) -> Result<Self, B> {
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
        let (tables, first_bits) = Tables::try_new(&values, distance, pause)?;
        Ok(Self {
            starts: starts.into(),
            ids: pairs.iter().map(|&(_, id)| id).collect(),
            tables,
            first_bits,
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
        let first_bits = self.first_bits.as_ref().map_or(0, |(_, starts)| size_of_val(&**starts));
        let by_id = self.by_id.get().map_or(0, |places| size_of_val(&**places));
        size_of_val(&*self.values)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.ids)
            + self.tables.bytes()
            + first_bits
            + by_id
    }

    /// Returns the buckets that a search within `distance` reads; empty ones if it scans everything.
    #[inline(always)]
    pub(super) fn find_buckets(&self, query: F, distance: u32) -> Buckets {
        if self.tables.suffice(distance) { self.tables.find(query, distance) } else { Buckets::default() }
    }

    /// Prefetches the values of buckets that [`Self::find_buckets`] has found.
    #[inline(always)]
    pub(super) fn prefetch(&self, buckets: &Buckets) {
        self.tables.prefetch(&self.values, buckets);
    }

    /// Calls `visit` with each fingerprint within `distance` of the query, once, in no particular order. The buckets
    /// are the result of [`Self::find_buckets`].
    #[inline(always)]
    pub(super) fn for_each_in(
        &self,
        buckets: &Buckets,
        query: F,
        distance: u32,
        visit: impl FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        if self.tables.suffice(distance) {
            self.tables.for_each_in(&self.values, buckets, query, distance, visit)
        } else {
            for_each_near(&self.values, query, distance, visit)
        }
    }

    /// Returns the places of the pairs of a fingerprint; none if it is absent.
    pub(crate) fn places(&self, value: F) -> Range<u64> {
        let first_bits = self.first_bits.as_ref().map(|(group, starts)| (group, &**starts));
        let Some((group, starts)) = first_bits.or_else(|| self.tables.natural()) else { return 0..0 };
        let bucket = group.bucket(value);
        let (start, end) = (starts[bucket] as usize, starts[bucket + 1] as usize);
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

/// A run and the places of its removed pairs.
#[derive(Debug, Clone)]
pub(crate) struct LiveRun<F> {
    pub(crate) run: Arc<Run<F>>,
    pub(crate) removed: RemovedPlaces,
    /// The number of the insertion of its newest pair.
    pub(super) last_insertion: u64,
}

impl<F: Fingerprint> LiveRun<F> {
    pub(super) fn of(pairs: &[Pair<F>], distance: u32, last_insertion: u64) -> Self {
        let Ok(live) = Self::try_of::<Infallible>(pairs, distance, last_insertion, &mut || Ok(()));
        live
    }

    /// Builds as [`Self::of`]; `pause` is called at intervals, and may break.
    pub(super) fn try_of<B>(
        pairs: &[Pair<F>],
        distance: u32,
        last_insertion: u64,
        pause: &mut dyn FnMut() -> Result<(), B>,
    ) -> Result<Self, B> {
        let run = Arc::new(Run::try_new(pairs, distance, pause)?);
        Ok(Self { run, removed: RemovedPlaces::default(), last_insertion })
    }

    /// Returns the number of pairs that are left.
    pub(super) fn len(&self) -> u64 {
        self.run.len() as u64 - self.removed.len()
    }

    /// Appends the pairs that are left, in order.
    pub(super) fn append_all(&self, pairs: &mut Vec<Pair<F>>) {
        self.append(0..self.run.values().len(), pairs);
    }

    /// Appends the pairs that are left of a range of its distinct fingerprints, in order.
    pub(super) fn append(&self, values: Range<usize>, pairs: &mut Vec<Pair<F>>) {
        if self.removed.is_empty() {
            self.run.append(values, pairs);
        } else {
            let left = self.run.pairs_of(values).filter(|&(place, _)| !self.removed.contains(place));
            pairs.extend(left.map(|(_, pair)| pair));
        }
    }

    /// Returns the pairs that are left and whose fingerprints are at least `from`, in order.
    pub(crate) fn pairs_from(&self, from: F) -> impl Iterator<Item = Pair<F>> + '_ {
        let left = self.run.pairs_from(from).filter(|&(place, _)| !self.removed.contains(place));
        left.map(|(_, pair)| pair)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<F: Fingerprint>(mut pairs: Vec<Pair<F>>, queries: &[F], built: u32) {
        pairs.sort_unstable();
        pairs.dedup();
        let Ok(run) = Run::try_new::<Infallible>(&pairs, built, &mut || Ok(()));
        assert_eq!(run.len(), pairs.len());
        let placed: Vec<_> = (0..).zip(pairs.iter().copied()).collect();
        for &query in queries {
            for distance in [0, 1, built / 2, built, built + 1, F::BITS] {
                let mut found = Vec::new();
                let buckets = run.find_buckets(query, distance);
                let outcome = run.for_each_in(&buckets, query, distance, |value| {
                    found.push(value);
                    Ok(())
                });
                assert!(outcome.is_ok());
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

    fn run_of<F: Fingerprint>(values: impl Iterator<Item = F>) -> Run<F> {
        let mut pairs: Vec<Pair<F>> = values.map(|value| (value, 7)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let Ok(run) = Run::try_new::<Infallible>(&pairs, 3, &mut || Ok(()));
        run
    }

    fn spread(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// A centre with at most so many bits flipped.
    fn flipped(number: u64, flips: u32) -> u64 {
        (0..flips).fold(0x0123_4567_89ab_cdef, |value, at| value ^ 1 << (spread(number) >> (6 * at) & 63))
    }

    /// Fingerprints that share bits, or lie around one or some.
    fn crowds(count: u64) -> Vec<(&'static str, Vec<u64>)> {
        let of = |value: &dyn Fn(u64) -> u64| (0..count).map(value).collect();
        vec![
            ("16 shared bits", of(&|number| spread(number) >> 16)),
            ("32 shared bits", of(&|number| spread(number) >> 32 | 0xabcd_ef01 << 32)),
            ("48 shared bits", of(&|number| spread(number) >> 48)),
            ("shared last bits", of(&|number| spread(number) << 32)),
            ("shared bits in between", of(&|number| spread(number) & 0xff00_ff00_ff00_ff00)),
            ("half of them share 16 bits", of(&|number| spread(number) >> (number % 2 * 16))),
            ("clusters", of(&|number| spread(number % 32) ^ flipped(number, 9))),
            ("a cluster of 8 bits", of(&|number| flipped(number, 8))),
            // More would be near to each other.
            ("a cluster of 5 bits", (0..count / 20).map(|number| flipped(number, 5)).collect()),
            ("numbers", of(&|number| number)),
        ]
    }

    fn assert_found<F: Fingerprint>(run: &Run<F>, query: F, what: &str) {
        for distance in 0..=4 {
            let mut found = Vec::new();
            let buckets = run.find_buckets(query, distance);
            let _ = run.for_each_in(&buckets, query, distance, |value| {
                found.push(value);
                Ok(())
            });
            found.sort_unstable();
            let near = run.values().iter().copied().filter(|value| value.distance(query) <= distance);
            assert!(found.into_iter().eq(near), "{what}: {query:?} within {distance}");
        }
        let at = run.values().binary_search(&query);
        assert_eq!(run.places(query).next(), at.ok().map(|place| place as u64), "{what}");
    }

    #[test]
    fn a_run_of_a_crowd_finds_what_brute_force_finds() {
        for (what, values) in crowds(30_000) {
            let run = run_of(values.iter().copied());
            let wide = run_of(values.iter().map(|&value| u128::from(value) << 64 | u128::from(!value)));
            for &value in values.iter().step_by(1499) {
                for query in [value, value ^ 1, value ^ 0b1_0001 << 50, !value] {
                    assert_found(&run, query, what);
                    assert_found(&wide, u128::from(query) << 64 | u128::from(!value), what);
                }
            }
        }
    }

    #[test]
    fn a_search_in_a_crowd_compares_few_of_it() {
        let compared = |values: &[u64]| {
            let run = run_of(values.iter().copied());
            let queries: Vec<u64> = values.iter().copied().step_by(values.len() / 100).collect();
            let near = |query: u64| run.values().iter().filter(|value| value.distance(query) <= 3).count();
            let all: usize = queries.iter().map(|&query| run.tables.compared_by(query, 3)).sum();
            let near: usize = queries.iter().map(|&query| near(query)).sum();
            (all / queries.len(), near / queries.len(), run.bytes() / run.len())
        };
        let (even, _, bytes) = compared(&(0..100_000).map(spread).collect::<Vec<_>>());
        println!("evenly spread: {even} compared, {bytes} bytes per pair");
        assert!(even < 64 && bytes < 50, "{even} values, {bytes} bytes per pair");
        for (what, values) in crowds(100_000) {
            let (few, near, bytes) = compared(&values);
            println!("{what}: {few} compared, {near} near, {bytes} bytes per pair");
            // A comparison takes about a nanosecond, an insertion some microseconds.
            assert!(
                few < 4000 + 32 * near && bytes < 128,
                "{what}: {few} values, {near} near, {bytes} bytes"
            );
        }
    }

    #[test]
    fn few_and_extreme_values() {
        check::<u64>(vec![], &[0, 1, u64::MAX], 3);
        check(vec![(0u64, 5), (u64::MAX, 5), (u64::MAX, 6)], &[0, 1, u64::MAX], 3);
        check((0..5000u64).map(|id| (7u64, id)).collect(), &[7, 8], 3);
    }
}
